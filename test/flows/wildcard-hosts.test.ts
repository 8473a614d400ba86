/** A whole gateway with routes on hosts below a domain: sign-in, upstream requests and the identity header. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { createBrowser } from "../support/scripted-browser.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

let upstream: EchoUpstream;
let world: SignInGateway;
beforeAll(async () => {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({ pagesHost: "auth.localhost", yaml: "routes: []" });
  const { port } = world.gateway;
  await world.reconfigure(`
routes:
  - name: tenants
    from: http://*.tenants.localhost:${port}
    to: ${upstream.origin}
    regex: ^/api/v[0-9]+/.*$
    regex_rewrite_pattern: ^/api/v([0-9]+)/
    regex_rewrite_substitution: /\\1/
    preserve_host_header: true
    policy: { allow: { and: [{ domain: example.com }] } }
  - name: home
    from: http://*.tenants.localhost:${port}
    path: /
    redirect: { path_redirect: /api/v1/home, response_code: 302 }
    policy: { allow: { and: [{ domain: example.com }] } }
`);
});
afterAll(async () => {
  await world.close();
  await upstream.close();
});

const at = (tenant: string, path: string): string => `http://${tenant}.tenants.localhost:${world.gateway.port}${path}`;

test("a user signs in on one of the hosts, and the upstream gets user and host", async () => {
  const browser = createBrowser();
  const page = await browser.signIn(at("one", "/"), "alice@example.com");
  // Policy of the redirect, sign-in, redirect, rewrite.
  expect([page.status, page.url]).toEqual([200, at("one", "/api/v1/home")]);
  const seen = upstream.seen.at(-1);
  expect([seen?.target, seen?.headers.host]).toEqual(["/1/home", `one.tenants.localhost:${world.gateway.port}`]);
  const token = String(seen?.headers["x-gateway-assertion"]);
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
  expect(claims).toMatchObject({
    iss: "one.tenants.localhost",
    aud: "one.tenants.localhost",
    email: "alice@example.com",
  });

  // The next host needs no password, and has its own session and identity header.
  const next = await browser.open(at("two", "/api/v2/x"));
  expect([next.status, next.url]).toEqual([200, at("two", "/api/v2/x")]);
  const other = String(upstream.seen.at(-1)?.headers["x-gateway-assertion"]);
  expect(JSON.parse(Buffer.from(other.split(".")[1] ?? "", "base64url").toString())).toMatchObject({
    aud: "two.tenants.localhost",
  });
});

test("a denied user sees nothing of them, not even the redirect target", async () => {
  const before = upstream.seen.length;
  const browser = createBrowser();
  const page = await browser.signIn(at("one", "/"), "carol@other.example");
  expect([page.status, page.url]).toEqual([403, at("one", "/")]);
  expect((await browser.open(at("one", "/other"))).status).toBe(404);
  expect(upstream.seen.length).toBe(before);
});
