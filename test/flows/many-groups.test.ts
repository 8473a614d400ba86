/** A user of a company with many groups reaches an upstream that takes the usual 16 KiB of headers. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createBrowser } from "../support/scripted-browser.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());
const user = (name: string, groups: readonly string[]) => ({
  id: name,
  name,
  email: `${name}@example.com`,
  groups,
});
const USERS = [user("two-hundred", ids(200)), user("thousand", ids(1000)), user("two", ids(2))];

let seen: IncomingHttpHeaders = {};
const upstream = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
  seen = request.headers;
  response.end("ok");
});
let world: SignInGateway;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  world = await startSignInGateway({
    provider: { users: USERS },
    yaml: `
idp_scopes: [openid, profile, email, groups]
routes:
  - from: "{origin}"
    to: http://127.0.0.1:${port}
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`,
  });
}, 60_000);
afterAll(async () => {
  await world?.close();
  upstream.close();
});

/** The upstream's request, with 3 KiB of its own cookies. */
async function visit(email: string): Promise<{ readonly claims: Record<string, unknown>; readonly again: unknown }> {
  const browser = createBrowser();
  browser.jar.set(`theirs=${"x".repeat(3000)}; Path=/`, new URL(world.gateway.origin));
  const page = await browser.signIn(`${world.gateway.origin}/`, email);
  expect([page.status, page.text]).toEqual([200, "ok"]);
  const [, payload = ""] = String(seen["x-gateway-assertion"]).split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  return { claims, again: seen["x-gateway-jwt-assertion"] };
}

test("200 groups of Entra are sent, once", async () => {
  const { claims, again } = await visit("two-hundred@example.com");
  expect(claims["groups"]).toHaveLength(200);
  expect(claims).not.toHaveProperty("groups_omitted");
  expect(again).toBeUndefined();
});

test("1,000 groups are omitted, and the header says so", async () => {
  const { claims } = await visit("thousand@example.com");
  expect(claims).not.toHaveProperty("groups");
  expect(claims["groups_omitted"]).toBe(true);
});

test("few are sent under both names", async () => {
  const { claims, again } = await visit("two@example.com");
  expect(claims["groups"]).toHaveLength(2);
  expect(again).toBe(seen["x-gateway-assertion"]);
});
