/**
 * Workload identity through a whole gateway: a job exchanges its platform's token and calls an MCP server, opens ordinary
 * routes with the token itself, and the end of the trust is the end of the access.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createSend, type Answer } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { JWT_BEARER } from "../support/id-jag.ts";
import { openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { startPlatform, type Platform } from "../support/platform.ts";
import { runCommand } from "../support/run-command.ts";

let platform: Platform;
let mcpServer: RunningMcpServer;
let live: LiveUpstream;
let echo: EchoUpstream;
let gateway: TestGateway;
let origin = "";
let directory = "";

const USER = "repo:acme/app:ref:refs/heads/main";

beforeAll(async () => {
  [platform, mcpServer, live, echo] = await Promise.all([
    startPlatform(),
    startMcpServer(),
    startLiveUpstream(),
    startEchoUpstream(),
  ]);
  directory = await mkdtemp(join(tmpdir(), "gateway-workload-"));
  const boot = { storage_url: `sqlite:${join(directory, "gateway.db")}` };
  gateway = await startGateway({ yaml: settings(), boot });
  ({ origin } = gateway);
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all([platform?.close(), mcpServer?.close(), live?.close(), echo?.close()]);
  await rm(directory, { recursive: true, force: true });
});

const RULES = `
      main: { claims: { repository_id: ["42"], ref: [refs/heads/main] }, resources: ["{origin}/tools/mcp", "{origin}/live", "{origin}/api"], groups: [ci] }
      any: { claims: { repository_id: ["42"] }, resources: ["{origin}/live"] }`;

function entry(rules = RULES, uses = "uses: [workload]"): string {
  return `identity_issuers:
  ci:
    issuer: "${platform.issuer}"
    ${uses}
    workload_rules: ${rules}`;
}

function settings(issuers = entry(), format = "bearer_token_format: jwt"): string {
  return `
runtime_flags: { mcp: true }
authorize_log_fields: [user, email, issuer, issuer-rules, auth-method, grant-id, route]
${issuers}
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [{ groups: { has: ci } }] }, deny: { and: [{ mcp_tool: { starts_with: delete_ } }] } }
  - name: live
    from: "{origin}"
    prefix: /live
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: api
    from: "{origin}"
    prefix: /api
    to: ${echo.origin}
    ${format}
    pass_identity_headers: true
    set_request_headers: { x-token: "[\${gateway.access_token}\${gateway.id_token}]" }
    policy: { allow: { and: [{ groups: { has: ci } }] } }
  - name: pages
    from: "{origin}"
    prefix: /pages
    to: ${live.origin}
    ${format}
    policy: { allow: { and: [authenticated_user: true] } }
`;
}

const send = createSend();

async function exchange(route: string, token: string): Promise<Answer> {
  const form = { grant_type: JWT_BEARER, assertion: token, resource: `${origin}/${route}` };
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams(form).toString();
  return send({ method: "POST", url: `${origin}/.gateway/mcp/token`, headers, body });
}

const job = (claims?: Readonly<Record<string, unknown>>): Promise<string> => platform.token(origin, claims);
const tokenOf = (answer: Answer): string => String(answer.json()["access_token"]);

function ping(route: string, token: string): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  return send({ method: "POST", url: `${origin}/${route}`, headers, body });
}

const get = (path: string, token: string): Promise<Answer> =>
  send({ method: "GET", url: origin + path, headers: { authorization: `Bearer ${token}` } });

describe("a job without secrets", () => {
  test("calls an MCP server within policy; records name it, its issuer and the rule; nothing of its token is logged", async () => {
    const token = tokenOf(await exchange("tools/mcp", await job()));
    const client = new Client({ name: "pipeline", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/tools/mcp`), { requestInit }));
    try {
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
      await expect(client.callTool({ name: "delete_note", arguments: {} })).rejects.toThrow();
    } finally {
      await client.close();
    }
    const records = await gateway.records();
    expect(records.at(-1)).toMatchObject({
      user: `workload:ci/${USER}`,
      email: "",
      issuer: "ci",
      "issuer-rules": "main",
      "auth-method": "workload",
      "grant-id": expect.any(String),
    });
    const logged = gateway.log() + (await gateway.recordText());
    for (const text of [...platform.issued, token])
      for (const part of text.split(".")) expect(logged).not.toContain(part);
    expect(logged).not.toContain("dana-the-actor");
  });

  test("is listed and revoked by the administrator", async () => {
    const token = tokenOf(await exchange("live", await job({ ref: "refs/heads/x", sub: "listed" })));
    expect((await ping("live", token)).status).toBe(200);
    const run = (...args: readonly string[]) => runCommand("grants", ...args, "--config", gateway.configFile);
    const listed = await run("list", "--user", "workload:ci/listed", "--json");
    const [grant] = JSON.parse(listed.out) as readonly Readonly<Record<string, unknown>>[];
    expect(grant).toMatchObject({ issuer: "ci", user: "workload:ci/listed", server: `${origin}/live` });
    expect((await run("revoke", String(grant?.["id"]))).code).toBe(0);
    await expect.poll(within2s(async () => (await ping("live", token)).status)).toBe(401);
  });

  test("is no caller of an MCP server by the platform's token itself, nor of ordinary routes by the exchanged one", async () => {
    expect((await ping("live", await job())).status).toBe(401);
    const token = tokenOf(await exchange("live", await job()));
    expect((await get("/api/x", token)).status).toBe(401);
    expect((await get("/pages/x", token)).status).toBe(401);
  });
});

describe("ordinary routes", () => {
  test("are opened by the platform's token as often as it is sent, which the upstream never sees", async () => {
    const token = await job();
    for (let count = 0; count < 3; count += 1) {
      const answer = await get("/api/x?y", token);
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("/api/x?y")]);
    }
    const seen = echo.seen.at(-1);
    expect(seen?.headers).not.toHaveProperty("authorization");
    expect(seen?.headers["x-token"]).toBe("[]");
    const [, payload = ""] = String(seen?.headers["x-gateway-jwt-assertion"]).split(".");
    const assertion = JSON.parse(Buffer.from(payload, "base64url").toString()) as Readonly<Record<string, unknown>>;
    expect(assertion).toMatchObject({ sub: `workload:ci/${USER}`, email: "", groups: ["ci"] });
    expect(JSON.stringify(assertion)).not.toContain("dana-the-actor");
    expect((await gateway.records()).at(-1)).toMatchObject({
      user: `workload:ci/${USER}`,
      "issuer-rules": "main",
      "auth-method": "workload",
    });
  });

  test.each<[string, () => Promise<string>]>([
    ["for another audience", () => platform.token("https://elsewhere.example")],
    ["for the token endpoint alone", () => platform.token(`${origin}/.gateway/mcp/token`)],
    ["of another project", () => job({ repository_id: "43" })],
    ["whose rules open other routes", () => job({ ref: "refs/heads/x" })],
    ["that ended", () => job({ iat: 1_000_000_000, exp: 1_000_000_300 })],
    ["that is an ID token", () => job({ nonce: "x" })],
    ["of another issuer", () => job({ iss: "https://elsewhere.example" })],
    ["that is none", () => Promise.resolve("a.b.c")],
  ])("are closed to a token %s", async (_, make) => {
    const before = echo.seen.length;
    const answer = await get("/api/x", await make());
    expect([answer.status, answer.json()["error"]]).toEqual([401, "token.refused"]);
    expect(answer.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
    expect(echo.seen).toHaveLength(before);
  });

  test("that no rule opens are closed, whatever their policy says", async () => {
    expect((await get("/pages/x", await job())).status).toBe(401);
  });

  test("of another format take no platform's token", async () => {
    await gateway.reconfigure(settings(entry(), ""));
    const answer = await get("/api/x", await job());
    expect(answer.status).not.toBe(200);
    await gateway.reconfigure(settings());
  });
});

describe("the end of the trust", () => {
  test.each<[string, () => string]>([
    ["the rule is removed", () => entry(RULES.replace("main:", "other:").replaceAll('["42"]', '["7"]'))],
    ["the rule asks for more", () => entry(RULES.replaceAll('["42"]', '["42"], environment: [prod]'))],
    [
      "the use is removed",
      () =>
        `identity_issuers: { ci: { issuer: "${platform.issuer}", uses: [id_jag] }, x: { issuer: "https://x.example", uses: [workload], workload_rules: { a: { claims: { sub: [x] }, resources: ["https://x.example"] } } } }`,
    ],
    [
      "the issuer is removed",
      () =>
        `identity_issuers: { x: { issuer: "https://x.example", uses: [workload], workload_rules: { a: { claims: { sub: [x] }, resources: ["https://x.example"] } } } }`,
    ],
  ])("comes immediately when %s: for requests, open streams and ordinary routes", async (_, changed) => {
    const token = tokenOf(await exchange("live", await job()));
    const stream = await openAnswer(gateway.port, `${origin}/live`, { authorization: `Bearer ${token}` });
    expect(stream.status).toBe(200);
    const own = await job();
    expect((await get("/api/x", own)).status).toBe(200);
    await gateway.reconfigure(settings(changed()));
    await stream.ended;
    const answer = await ping("live", token);
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, expect.stringContaining("revoked")]);
    expect((await get("/api/x", own)).status).toBe(401);
    expect((await exchange("live", await job())).status).toBe(400);
    await gateway.reconfigure(settings());
  });

  test("comes with a block of the workload, for both of its tokens", async () => {
    const user = "workload:ci/blocked";
    const claims = { sub: "blocked" };
    const token = tokenOf(await exchange("live", await job(claims)));
    const own = await job(claims);
    expect([(await ping("live", token)).status, (await get("/api/x", own)).status]).toEqual([200, 200]);
    const blocked = await runCommand("block", "user", user, "--config", gateway.configFile);
    expect(blocked.code).toBe(0);
    await expect.poll(within2s(async () => (await get("/api/x", own)).status)).toBe(403);
    await expect.poll(within2s(async () => (await ping("live", token)).status)).not.toBe(200);
    expect((await exchange("live", await job(claims))).json()["error"]).toBe("access_denied");
  });
});
