/**
 * Agent runs through a whole gateway: a workload asks, the named user approves in a browser, the workload works for them,
 * and the run ends. Attackers are other pods, other users, and writers of the store.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import {
  type Answer,
  type Browser,
  createBrowser,
  createSend,
  findForm,
  findLink,
  type Page,
} from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { type Platform, startPlatform } from "../support/platform.ts";
import { within2s } from "../support/promised.ts";
import { runCommand } from "../support/run-command.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";
const ALICE = "alice@example.com";
const BOB = "bob@example.com";
const SUBJECT = "system:serviceaccount:agents:reporter";

let platform: Platform;
let mcpServer: RunningMcpServer;
let live: LiveUpstream;
let echo: EchoUpstream;
let world: SignInGateway;
let origin = "";
let directory = "";

beforeAll(async () => {
  [platform, mcpServer, live, echo, directory] = await Promise.all([
    startPlatform(),
    startMcpServer(),
    startLiveUpstream(),
    startEchoUpstream(),
    mkdtemp(join(tmpdir(), "gateway-runs-")),
  ]);
  world = await startSignInGateway({
    pagesHost: "127.0.0.1",
    yaml: settings(),
    boot: { audit: true, storage_url: `sqlite:${join(directory, "gateway.db")}` },
  });
  ({ origin } = world.gateway);
});

afterAll(async () => {
  await world?.close();
  await Promise.all([platform?.close(), mcpServer?.close(), live?.close(), echo?.close()]);
  await rm(directory, { recursive: true, force: true });
});

function settings({ runs = `identified_by: [pod], max_duration: 2h` } = {}): string {
  const rule = (resources: string, more: string): string =>
    `{ claims: { sub: ["${SUBJECT}"] }, resources: [${resources}], ${more} }`;
  return `
authorize_log_fields: [user, actor, run, client-id, auth-method, grant-id, route, replay]
identity_issuers:
  pods:
    issuer: "${platform.issuer}"
    uses: [workload]
    workload_rules:
      reporter: ${rule(`"{origin}/tools/mcp", "{origin}/live", "{origin}/echo"`, `agent_runs: { ${runs} }`)}
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp, tool_scopes: { add_note: [notes] } } }
    policy:
      allow: { and: [{ domain: { is: example.com } }] }
      deny: { and: [{ actor: { starts_with: "workload:pods/" } }, { mcp_tool: { is: delete_repo } }] }
  - name: live
    from: "{origin}"
    prefix: /live
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [{ actor_claim/pod: { has: pod-live } }] } }
  - name: echo
    from: "{origin}"
    prefix: /echo
    to: ${echo.origin}
    pass_identity_headers: true
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: closed
    from: "{origin}"
    prefix: /closed
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] } }
`;
}

const send = createSend();
const podToken = (pod: string, claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  platform.token(origin, { sub: SUBJECT, pod, ...claims });

interface Asked {
  readonly method?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly token?: string;
}

async function runs(pod: string, { method = "POST", body = {}, token }: Asked = {}): Promise<Answer> {
  const asked = { purpose: `Report of ${pod}`, servers: [`${origin}/tools/mcp`], expires_in: 3600, approver: ALICE };
  return send({
    method,
    url: `${origin}/.gateway/mcp/runs`,
    headers: {
      authorization: `Bearer ${token ?? (await podToken(pod))}`,
      ...(method === "POST" && { "content-type": "application/json" }),
    },
    ...(method === "POST" && { body: JSON.stringify({ ...asked, ...body }) }),
  });
}

async function exchange(pod: string, form: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const all = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: await podToken(pod),
    subject_token_type: JWT_TYPE,
    resource: `${origin}/tools/mcp`,
    ...form,
  };
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send({
    method: "POST",
    url: `${origin}/.gateway/mcp/token`,
    headers,
    body: new URLSearchParams(all).toString(),
  });
}

const pageOf = (answer: Answer): string => String(answer.json()["approval_url"]);
const tokenOf = (answer: Answer): string => String(answer.json()["access_token"]);

async function open(browser: Browser, url: string, user = ALICE): Promise<Page> {
  const page = await browser.open(url);
  const choice = findLink(page, user);
  return choice === undefined ? page : browser.open(choice);
}

function formOf(page: Page) {
  const form = findForm(page, "/.gateway/run");
  if (!form) throw new Error(`no form on the page:\n${page.status} ${page.text}`);
  return form;
}

async function decide(url: string, decision = "approve", user = ALICE, browser = createBrowser()): Promise<Page> {
  const page = await open(browser, url, user);
  return browser.submit(page, formOf(page), { decision });
}

/** An approved run of a pod. */
async function approved(pod: string, body: Asked["body"] = {}): Promise<void> {
  const asked = await runs(pod, { body });
  expect(asked.status).toBe(201);
  expect((await decide(pageOf(asked))).status).toBe(200);
}

function call(token: string, tool: string, route = "tools/mcp"): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
  };
  const params = { name: tool, arguments: { text: "from a run" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return send({ method: "POST", url: `${origin}/${route}`, headers, body });
}

describe("an agent run", () => {
  test("is requested, approved by the named user, used for that user, renewed and ended by the workload", async () => {
    const asked = await runs("pod-1", { body: { scope: "notes" } });
    expect([asked.status, asked.json()]).toEqual([
      201,
      {
        state: "pending",
        servers: [`${origin}/tools/mcp`],
        scope: "mcp notes",
        approver: ALICE,
        ends_at: expect.stringMatching(/Z$/) as string,
        expires_at: expect.stringMatching(/Z$/) as string,
        approval_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\.gateway\/run\?request=/) as string,
      },
    ]);
    // Nothing is open before the decision, and the same request has the same state.
    expect((await exchange("pod-1")).json()["error"]).toBe("invalid_grant");
    const again = await runs("pod-1", { body: { scope: "notes" } });
    expect([again.status, pageOf(again)]).toEqual([200, pageOf(asked)]);
    expect((await runs("pod-1", { body: { purpose: "Another" } })).status).toBe(409);

    const browser = createBrowser();
    const page = await open(browser, pageOf(asked));
    expect(page.status).toBe(200);
    for (const text of [
      `workload:pods/${SUBJECT}`,
      platform.issuer,
      "pod-1",
      "Report of pod-1",
      `${origin}/tools/mcp`,
      "add_note",
      ALICE,
    ])
      expect(page.text).toContain(text);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect((await browser.submit(page, formOf(page), { decision: "approve" })).text).toContain("Approved");

    const got = await exchange("pod-1");
    expect([got.status, got.json()]).toMatchObject([
      200,
      {
        token_type: "Bearer",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        scope: "mcp notes",
      },
    ]);
    // Never longer than the platform's token.
    expect(Number(got.json()["expires_in"])).toBeLessThanOrEqual(300);
    expect(got.json()).not.toHaveProperty("refresh_token");
    expect((await call(tokenOf(got), "add_note")).text).toContain('"content"');
    expect((await call(tokenOf(got), "delete_repo")).text).toContain("-31403");
    const record = (await world.gateway.records()).findLast(({ actor }) => actor !== undefined);
    expect(record).toMatchObject({
      user: "u-alice",
      actor: `workload:pods/${SUBJECT}`,
      "client-id": `workload:pods/${SUBJECT}`,
      "auth-method": "agent-run",
      replay: { user: { actor: { claims: { pod: "pod-1", sub: SUBJECT } } } },
    });
    expect(record?.["run"]).toBe(new URL(pageOf(asked)).searchParams.get("request"));

    // Renewing is another exchange, and keeps the identity that sessions and approvals are bound to.
    const renewed = tokenOf(await exchange("pod-1", { scope: "mcp" }));
    expect((await call(renewed, "add_note")).status).toBe(403);
    expect((await runs("pod-1", { method: "GET" })).json()).toMatchObject({ state: "active" });
    expect((await runs("pod-1", { method: "DELETE" })).status).toBe(204);
    await expect.poll(within2s(async () => (await call(renewed, "add_note")).status)).toBe(401);
    expect((await exchange("pod-1")).json()["error"]).toBe("invalid_grant");
    expect((await runs("pod-1", { method: "GET" })).status).toBe(404);
    for (const text of [world.gateway.log(), await world.gateway.recordText()])
      for (const token of platform.issued) expect(text).not.toContain(token);
  });

  test("opens what its claims open, and its server learns who acts", async () => {
    await approved("pod-live", { servers: [`${origin}/echo`, `${origin}/live`] });
    await call(tokenOf(await exchange("pod-live", { resource: `${origin}/echo` })), "any", "echo");
    const [, payload = ""] = String(echo.seen.at(-1)?.headers["x-gateway-jwt-assertion"]).split(".");
    const assertion = JSON.parse(Buffer.from(payload, "base64url").toString()) as Readonly<Record<string, unknown>>;
    expect(assertion).toMatchObject({ sub: "u-alice", act: { sub: `workload:pods/${SUBJECT}` } });
    const token = tokenOf(await exchange("pod-live", { resource: `${origin}/live` }));
    const stream = await openAnswer(world.gateway.port, `${origin}/live`, { authorization: `Bearer ${token}` });
    expect(stream.status).toBe(200);
    // The end of the run ends open streams.
    await runs("pod-live", { method: "DELETE" });
    await stream.ended;
  });
});
