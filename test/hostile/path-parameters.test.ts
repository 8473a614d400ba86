/**
 * Path parameters: "/admin;x" is another address to the gateway's rules and "/admin" to servers that cut parameters off.
 * Whole gateway, real sockets.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { explainRequest } from "../../runtime/tools/explain.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { createExternalTokens, EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let upstream: EchoUpstream;
let gateway: TestGateway;
let clock: TestClock;
let directory: string;
let machine: string;

const policies = {
  deny: "policy: [{ allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: /deny/admin }] } }]",
  css: 'policy: [{ allow: { or: [{ http_path: { ends_with: ".css" } }] } }]',
  ends: "policy: [{ allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: { ends_with: /secret } }] } }]",
  public:
    "policy: [{ allow: { or: [{ http_path: { starts_with: /public/v1 } }] }, deny: { or: [{ http_path: /public/v1/secret }] } }]",
  escaped: "policy: [{ allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: /escaped/a%3Bsecret }] } }]",
  free: "allow_public_unauthenticated_access: true",
};

beforeAll(async () => {
  clock = createTestClock(Date.now());
  upstream = await startEchoUpstream();
  directory = await mkdtemp(join(tmpdir(), "gateway-parameters-"));
  const storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  const routes = Object.entries(policies).map(
    ([name, more]) => `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: "${upstream.origin}", ${more} }\n`,
  );
  gateway = await startGateway({
    clock,
    boot: { storage_url: storageUrl },
    yaml: `runtime_flags: { mcp: true }
routes:
${routes.join("")}  - { name: kept, from: "{origin}", prefix: /kept, to: "${upstream.origin}", ${policies.free} }
  - { name: closed, from: "{origin}", path: /kept/a%3Bb, to: "${upstream.origin}" }
  - { name: mcp, from: "{origin}", prefix: /mcp, to: "${upstream.origin}", mcp: { server: {} }, policy: [{ allow: { and: [{ user: "service-account:ci" }] }, deny: { or: [{ http_path: /mcp/metrics }] } }] }
`,
  });
  const store = await openRecords(storageUrl, { clock, log: silentLog() });
  const expiresAt = Math.floor(clock.now() / 1000) + 3600;
  const made = await createServiceAccount(
    { store, clock },
    { name: "ci", email: "", groups: [], expiresAt, audience: EVERY_SERVER },
  );
  if (!made.ok) throw new Error(made.reason);
  const externalTokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock });
  machine = mintServiceAccountToken(externalTokens, made, EVERY_SERVER, expiresAt);
  await store.close();
});
afterAll(async () => {
  await gateway?.close();
  await rm(directory, { recursive: true, force: true });
  await upstream?.close();
});

const ask = (path: string): Promise<Response> => fetch(gateway.origin + path, { redirect: "manual" });

describe("rules on paths are not walked around", () => {
  test.each([
    ["a parameter at the end", "/deny/admin;x"],
    ["an encoded one", "/deny/admin%3Bx"],
    ["an encoded one in lower case", "/deny/admin%3bx"],
    ["an empty one", "/deny/admin;"],
    ["two of them", "/deny/admin;a=1;jsessionid=2"],
    ["an ending that only the parameter has", "/css/secret;x.css"],
    ["an encoded ending", "/css/secret%3Bx.css"],
    ["a segment in a parameter", "/ends/v1;a/secret;b"],
    ["a parameter of a segment before", "/public/v1;a/secret"],
    ["a parameter behind an escape that servers keep", "/escaped/a%3Bsecret;x"],
  ])("%s: %s", async (_, path) => {
    const before = upstream.seen.length;
    const answer = await ask(path);
    const body = await answer.text();
    expect([answer.status, body.includes("access.ambiguous-path")]).toEqual([400, true]);
    expect(upstream.seen).toHaveLength(before);
    expect((await gateway.records()).at(-1)).toMatchObject({
      allow: false,
      "allow-why-false": ["http-path-ambiguous"],
    });
  });

  test("no request reaches an MCP server by such a path", async () => {
    const before = upstream.seen.length;
    const answer = await fetch(`${gateway.origin}/mcp/metrics;x`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${machine}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "t" } }),
    });
    // 404 where the route knows no such address, 400 where it does.
    expect([400, 404]).toContain(answer.status);
    expect(upstream.seen).toHaveLength(before);
  });
});

test("a route is not walked around by a parameter behind an escape that servers keep", async () => {
  const before = upstream.seen.length;
  const answer = await ask("/kept/a%3Bb;x");
  expect([answer.status, (await answer.text()).includes("request.ambiguous-path")]).toEqual([400, true]);
  expect(upstream.seen).toHaveLength(before);
});

describe("paths with parameters pass as they are", () => {
  test.each([
    ["where both readings are allowed", "/deny/items;id=3"],
    ["where no rule speaks of paths", "/free/admin;x"],
    ["where all three are allowed", "/deny/items%3Ba;id=3"],
    ["where the ending stands before the parameter", "/css/a.css;v=2.css"],
  ])("%s: %s", async (_, path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(200);
    expect(upstream.seen.at(-1)?.target).toBe(path);
  });

  test("and are refused as ever where both readings are denied", async () => {
    const answer = await ask("/css/secret;x");
    expect(answer.status).not.toBe(400);
    expect(answer.status).not.toBe(200);
  });
});

test("gateway explain shows the other reading", () => {
  const text = `routes:
  - { name: app, from: "https://app.example.com", to: "http://127.0.0.1:9", ${policies.deny} }`;
  const asked = { user: "u", email: "", groups: "", method: "GET" };
  const sources = [{ file: "gateway.yaml", text, boot: true }] as unknown as Parameters<typeof explainRequest>[0];
  const explained = explainRequest(sources, { ...asked, route: "app", path: "/deny/admin%3bx" });
  expect(explained.answer).toBe("denied");
  expect(explained.text).toContain("http-path-ambiguous");
  expect(explained.text).toContain('read the path as "/deny/admin"');
});
