/** The requirements on MCP routes, policy and records, tested through the whole gateway. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import type { TestGateway } from "../support/gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { OWN_TOKEN } from "../support/tamper.ts";

let world: SignInGateway;
let upstream: EchoUpstream;
let gateway: TestGateway;
let token: string;
let seenBefore = 0;
let recordsBefore = 0;

beforeAll(async () => {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    yaml: `
authorize_log_fields: [request-id, user, email, mcp-method, mcp-tool, mcp-tool-parameters, route]
routes:
  - name: denylist
    from: "{origin}"
    prefix: /denylist
    to: ${upstream.origin}/base
    mcp: { server: { path: /mcp } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
      - deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }
  - name: allowlist
    from: "{origin}"
    prefix: /allowlist
    to: ${upstream.origin}
    mcp: { server: {} }
    policy:
      - allow: { and: [authenticated_user: true] }
      - deny: { or: [{ mcp_tool: { not_in: [search, read] } }] }
  - name: allow-only
    from: "{origin}"
    prefix: /allow-only
    to: ${upstream.origin}
    mcp: { server: {} }
    policy: [{ allow: { and: [{ mcp_tool: search }] } }]
`,
  });
  ({ gateway } = world);
  // Requested without a resource: valid for all MCP servers of the host.
  const client = await signInClient({
    resource: `${gateway.origin}/denylist/mcp`,
    user: "alice@example.com",
    parameters: { resource: undefined },
  });
  const answer = await client.oauth.sendToken({
    grant_type: "refresh_token",
    refresh_token: client.tokens.refresh_token ?? "",
    client_id: client.registration.client_id,
  });
  token = String(answer.json()["access_token"]);
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

beforeEach(async () => {
  seenBefore = upstream.seen.length;
  recordsBefore = (await gateway.records()).length;
});

async function send(path: string, message: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${gateway.origin}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(message),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const request = (method: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id: 7,
  method,
  ...(params === undefined ? {} : { params }),
});
const call = (name: string) => request("tools/call", { name, arguments: { q: "x" } });
const newRecords = async () => (await gateway.records()).slice(recordsBefore);
const newlySeen = () => upstream.seen.slice(seenBefore);

test("a message at the base, or at the path itself, goes to the upstream URL plus path", async () => {
  await send("/denylist/mcp", request("tools/list"));
  await send("/denylist", request("tools/list"));
  await send("/denylist/mcp?page=2&x=%20", request("tools/list"));
  expect(newlySeen().map(({ target }) => target)).toEqual(["/base/mcp", "/base/mcp", "/base/mcp?page=2&x=%20"]);
});

test("each check leaves one record, with the words of the requirements", async () => {
  await send("/denylist/mcp", call("list_repos"));
  await send("/denylist/mcp", call("delete_repo"));
  await send("/allowlist", request("tools/list"));
  await send("/denylist/mcp", request("resources/list"));
  const records = await newRecords();
  expect(records).toHaveLength(4);
  for (const record of records) {
    expect(record).toMatchObject({
      level: "info",
      service: "authorize",
      message: "authorize check",
      email: "alice@example.com",
      user: "u-alice",
    });
    expect(Date.parse(String(record["time"]))).toBeGreaterThan(0);
    expect(record["request-id"]).toMatch(/\S{8}/);
  }
  const [permitted, blocked, list, resources] = records;
  expect(permitted).toMatchObject({
    allow: true,
    "mcp-method": "tools/call",
    "mcp-tool": "list_repos",
    "mcp-tool-parameters": { q: "x" },
  });
  expect(permitted?.["allow-why-true"]).toEqual(["domain-ok", "mcp-tool-ok"]);
  expect(blocked).toMatchObject({ allow: false, "mcp-tool": "delete_repo" });
  expect(blocked?.["allow-why-false"]).toContain("mcp-tool-unauthorized");
  expect(list).toMatchObject({ allow: true, "mcp-method": "tools/list", "allow-why-true": ["authenticated-user"] });
  expect(list).not.toHaveProperty("mcp-tool");
  expect(resources).toMatchObject({ allow: true, "mcp-method": "resources/list" });
});

test("a denied tool call is answered with the caller's id and reaches no upstream", async () => {
  const { status, body } = await send("/denylist/mcp", call("delete_repo"));
  expect(status).toBe(200);
  expect(body).toMatchObject({ jsonrpc: "2.0", id: 7, error: { data: { request_id: expect.any(String) as string } } });
  expect(newlySeen()).toEqual([]);
});

test("an allowlist is a denial with not_in", async () => {
  expect((await send("/allowlist", call("search"))).body).toMatchObject({ result: {} });
  expect((await send("/allowlist", call("write"))).body).toHaveProperty("error");
  expect((await send("/allowlist", request("initialize", {}))).body).toMatchObject({ result: {} });
  expect(newlySeen()).toHaveLength(2);
});

test("with mcp_tool under allow alone, other methods are denied and recorded as no tool call", async () => {
  expect((await send("/allow-only", call("search"))).body).toMatchObject({ result: {} });
  const { status } = await send("/allow-only", request("tools/list"));
  expect(status).toBe(403);
  const [, denied] = await newRecords();
  expect(denied).toMatchObject({
    allow: false,
    "mcp-method": "tools/list",
    "allow-why-false": ["mcp-not-a-tool-call"],
  });
  expect(newlySeen()).toHaveLength(1);
});

test("no token, cookie or secret is in any output of the process", async () => {
  const text = gateway.log() + (await gateway.recordText());
  expect(text).not.toContain(token);
  expect(text).not.toMatch(OWN_TOKEN);
  expect(text).not.toContain("Bearer ");
  expect(text).not.toContain('secret"');
});
