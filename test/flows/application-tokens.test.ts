/** MCP client routes: the application gets a token of its visitor, lists the servers, and calls them. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { visit } from "../../examples/demo/person.ts";
import { createBrowser } from "../support/browser.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

let world: SignInGateway;
let upstream: EchoUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    yaml: `
mcp_allowed_as_metadata_domains: [127.0.0.1]
routes:
  - { name: assistant, from: "{origin}", prefix: /assistant, to: "${upstream.origin}", mcp: { client: {} }, policy: { allow: { and: [authenticated_user: true] } } }
  - { name: github, from: "{origin}", prefix: /github, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }, { deny: { or: [{ mcp_tool: delete_repo }] } }] }
  - { name: sales, from: "{origin}", prefix: /sales, to: "${upstream.origin}", mcp: { server: {} }, policy: { allow: { and: [{ groups: { has: sales } }] } } }
  - { name: server-only, from: "{origin-ip}", to: "${upstream.origin}", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
`,
  });
  ({ gateway } = world);
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

/** Visits the application as this user. @returns the token that the application got */
async function tokenOf(user: string): Promise<string> {
  const page = await visit(createBrowser(), `${gateway.origin}/assistant/home`, { user });
  expect(page.status).toBe(200);
  const { headers } = JSON.parse(page.text) as { headers: Record<string, string> };
  return (headers["authorization"] ?? "").replace(/^Bearer /, "");
}

const list = (token: string, origin = gateway.origin) =>
  fetch(`${origin}/.gateway/mcp/routes`, { headers: { authorization: `Bearer ${token}`, accept: "application/json" } });

test("the application gets a bearer token of the user who visits it", async () => {
  expect(await tokenOf("alice@example.com")).toMatch(/^gwt_\S+$/);
});

test("lists the servers that the user could use, and no others", async () => {
  const alice: unknown = await (await list(await tokenOf("alice@example.com"))).json();
  expect(alice).toEqual({
    servers: [
      { name: "github", url: `${gateway.origin}/github/mcp`, connected: true },
      { name: "server-only", url: gateway.origin.replace("localhost", "127.0.0.1"), connected: true },
    ],
  });
  const bob = (await (await list(await tokenOf("bob@example.com"))).json()) as { servers: { name: string }[] };
  expect(bob.servers.map(({ name }) => name)).toEqual(["github", "sales", "server-only"]);
});

test("an empty list is a list", async () => {
  const carol = await list(await tokenOf("carol@other.example"));
  expect(((await carol.json()) as { servers: { name: string }[] }).servers.map(({ name }) => name)).toEqual([
    "server-only",
  ]);
});

test("works at the MCP servers on the user's behalf", async () => {
  const token = await tokenOf("alice@example.com");
  const answer = await fetch(`${gateway.origin}/github/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_repos" } }),
  });
  expect(await answer.json()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  const seen = upstream.seen.at(-1);
  expect(seen?.headers["authorization"]).toBeUndefined();
  expect(seen?.headers["x-gateway-assertion"]).toMatch(/^eyJ/);
  const denied = await fetch(`${gateway.origin}/sales`, { headers: { authorization: `Bearer ${token}` } });
  expect(denied.status).toBe(403);
});

test("is only there on hosts of client routes", async () => {
  const token = await tokenOf("alice@example.com");
  expect((await list(token, gateway.origin.replace("localhost", "127.0.0.1"))).status).toBe(404);
});

test("answers 401 without a credential, with a broken one, and to another scheme", async () => {
  const url = `${gateway.origin}/.gateway/mcp/routes`;
  expect((await fetch(url)).status).toBe(401);
  expect((await list("gwt_broken")).status).toBe(401);
  expect((await fetch(url, { headers: { authorization: "Basic YTpi" } })).status).toBe(401);
});
