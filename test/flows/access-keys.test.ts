/** Access keys of a route, over a whole gateway with real sign-in. */
import { request } from "node:http";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { createBrowser, type Browser } from "../support/scripted-browser.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

let upstream: EchoUpstream;
let world: SignInGateway;
const browsers = new Map<string, Browser>();

beforeAll(async () => {
  upstream = await startEchoUpstream();
  const route = (name: string, more: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: "${upstream.origin}", ${more} }\n`;
  world = await startSignInGateway({
    yaml: `jwt_claims_headers: { X-Mail: email, X-Groups: groups }
routes:
${route("public", "allow_public_unauthenticated_access: true")}${route("anybody", "allow_any_authenticated_user: true")}${route("users", "allowed_users: [bob@example.com, u-carol]")}${route("domains", "allowed_domains: [example.com], show_error_details: true")}${route("claims", "allowed_idp_claims: { groups: [admins] }, policy: [{ deny: { or: [{ http_path: /claims/secret }] } }], show_error_details: true")}${route("preflight", "allowed_domains: [example.com], cors_allow_preflight: true")}${route("silent", "allowed_users: [u-bob]")}`,
  });
  for (const user of ["alice@example.com", "bob@example.com", "carol@other.example"]) {
    const browser = createBrowser();
    await browser.signIn(`${world.gateway.origin}/.gateway/`, user);
    browsers.set(user.slice(0, user.indexOf("@")), browser);
  }
});
afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

const open = (who: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
  (browsers.get(who) ?? createBrowser()).open(world.gateway.origin + path, { follow: false, headers });

/** OPTIONS as browsers send it before a request of another origin: without credentials. */
function options(path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(world.gateway.origin + path, { method: "OPTIONS", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

describe("access keys", () => {
  test.each<readonly [path: string, alice: number, bob: number, carol: number, nobody: number]>([
    ["/public", 200, 200, 200, 200],
    ["/anybody", 200, 200, 200, 302],
    ["/users", 403, 200, 200, 302],
    ["/domains", 200, 200, 403, 302],
    ["/claims", 200, 403, 403, 302],
    ["/claims/secret", 403, 403, 403, 302],
  ])("%s", async (path, ...expected) => {
    const who = ["alice", "bob", "carol", "nobody"];
    const found = await Promise.all(who.map(async (each) => (await open(each, path)).status));

    expect(found).toEqual(expected);
  });

  test("cors_allow_preflight lets a preflight reach the upstream without sign-in, and no other OPTIONS", async () => {
    const preflight = { origin: "https://other.example", "access-control-request-method": "PUT" };
    const before = upstream.seen.length;

    expect(await options("/preflight/x", preflight)).toBe(200);
    expect(upstream.seen.at(-1)).toMatchObject({ method: "OPTIONS", target: "/preflight/x" });
    expect(upstream.seen.at(-1)?.headers["access-control-request-method"]).toBe("PUT");
    expect(await options("/preflight/x", { origin: "https://other.example" })).toBe(401);
    expect(await options("/preflight/x", { "access-control-request-method": "PUT" })).toBe(401);
    expect(await options("/domains/x", preflight)).toBe(401);
    expect(upstream.seen.length).toBe(before + 1);
  });

  test("claim headers come from the gateway, also on public routes: client values are removed", async () => {
    const forged = { "x-mail": "ceo@example.com", x_mail: "ceo@example.com", "x-groups": "admins" };

    expect((await open("nobody", "/public", forged)).status).toBe(200);
    expect(upstream.seen.at(-1)?.headers).toMatchObject({ "x-mail": "", "x-groups": "" });
    expect(JSON.stringify(upstream.seen.at(-1)?.headers)).not.toContain("ceo@");
    expect((await open("bob", "/public", forged)).status).toBe(200);
    expect(upstream.seen.at(-1)?.headers).toMatchObject({ "x-mail": "bob@example.com", "x-groups": "sales" });
  });
});

describe("show_error_details", () => {
  test("shows the deciding rule and the user's own values, but not the required ones", async () => {
    const page = await open("carol", "/domains", { accept: "text/html" });

    expect(page.status).toBe(403);
    expect(page.text).toContain("domain-unauthorized");
    expect(page.text).toMatch(/domain (&quot;|&#34;|")other\.example\1 → false/);
    expect(page.text).not.toMatch(/(&quot;|&#34;|")example\.com/);
  });

  test("names the deny rule where one matched, as JSON for programs", async () => {
    const page = await open("alice", "/claims/secret", { accept: "application/json" });

    expect(JSON.parse(page.text)).toMatchObject({
      error: "access.denied",
      details: {
        Reasons: "http-path-unauthorized",
        "Deny rule 1": 'any of: http_path "/claims/secret" → true',
      },
    });
  });

  test("is off by default: an error page shows no rules", async () => {
    const page = await open("alice", "/silent", { accept: "text/html" });

    expect(page.status).toBe(403);
    expect(page.text).not.toMatch(/unauthorized|Allow rule|u-bob/);
  });
});
