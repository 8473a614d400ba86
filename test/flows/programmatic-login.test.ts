/** Programmatic login: a program gets a token with which it acts for a person on one host. Whole gateway, real provider. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { allowedLoginRedirect } from "../../runtime/identity/sign-in/programmatic-login.ts";
import { parseDomainPattern } from "../../runtime/settings/domains.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { createBrowser, type Browser, type Page } from "../support/scripted-browser.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { OWN_TOKEN, withChangedEnd } from "../support/tamper.ts";

const ALICE = "alice@example.com";
const BACK = "http://127.0.0.1:9/back?state=s1";

let upstream: EchoUpstream;
let world: SignInGateway;

beforeAll(async () => {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    pagesHost: "auth.localhost",
    yaml: `routes:
  - { name: web, from: "{origin}", prefix: /web, to: "${upstream.origin}", allowed_domains: [example.com] }
  - { name: mcp, from: "{origin}", prefix: /mcp, to: "${upstream.origin}", allowed_domains: [example.com], mcp: { server: {} } }
  - { name: other, from: "{origin-ip}", to: "${upstream.origin}", allowed_domains: [example.com] }
`,
  });
});
afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

const LOGIN = "/.gateway/api/v1/login";

const begin = (redirectUri: string | undefined, init?: RequestInit): Promise<Response> => {
  const query = redirectUri === undefined ? "" : `?gateway_redirect_uri=${encodeURIComponent(redirectUri)}`;
  return fetch(world.gateway.origin + LOGIN + query, init);
};

/** The program's response, as text. */
async function addressFor(redirectUri = BACK): Promise<string> {
  const answer = await begin(redirectUri);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("text/plain");
  return answer.text();
}

async function askPerson(browser: Browser, address: string): Promise<Page> {
  const page = await browser.signIn(address, ALICE);
  expect(page.text).toContain("May a program act for you?");
  return page;
}

/** Where the page of the answer leads. */
function target(page: Page): URL {
  return new URL(/url=(.*)$/.exec(String(page.headers["refresh"]))?.[1] ?? "");
}

async function tokenFor(browser: Browser): Promise<string> {
  const page = await askPerson(browser, await addressFor());
  const back = target(await browser.submit(page, { button: "Allow", follow: false }));
  return back.searchParams.get("gateway_jwt") ?? "";
}

const ask = (url: string, token: string): Promise<Response> =>
  fetch(url, { redirect: "manual", headers: { authorization: `Bearer ${token}` } });

describe("programmatic login", () => {
  test("issues a token after consent, with which the program acts for the user until sign-out", async () => {
    const browser = createBrowser();
    const page = await askPerson(browser, await addressFor());
    expect(new URL(page.url).hostname).toBe("auth.localhost");
    expect(page.text).toContain("a program on this computer, at <code>127.0.0.1:9</code>");
    expect(page.text).toMatch(/when you sign out, and <time [^>]*>[-0-9]{10} [0-9:]{5} UTC<\/time> at the latest/);
    expect(page.text).toContain("Did you just start this program?");

    const back = target(await browser.submit(page, { button: "Allow", follow: false }));
    expect(back.origin + back.pathname).toBe("http://127.0.0.1:9/back");
    expect(back.searchParams.get("state")).toBe("s1");
    const token = back.searchParams.get("gateway_jwt") ?? "";
    expect(token).toMatch(/^gwt_/);

    const answer = await ask(`${world.gateway.origin}/web/x`, token);
    expect(answer.status).toBe(200);
    expect(JSON.stringify(upstream.seen.at(-1)?.headers)).not.toMatch(OWN_TOKEN);
    expect((await world.gateway.records()).at(-1)).toMatchObject({ allow: true, user: "u-alice" });

    const signOut = await browser.open(`http://auth.localhost:${world.gateway.port}/.gateway/sign_out`);
    await browser.submit(signOut, { button: "Sign out", follow: false });
    expect((await ask(`${world.gateway.origin}/web/x`, token)).status).toBe(401);
  });

  test("its token opens no other host and no MCP server", async () => {
    const token = await tokenFor(createBrowser());

    expect((await ask(`http://127.0.0.1:${world.gateway.port}/`, token)).status).toBe(401);
    expect((await ask(`${world.gateway.origin}/mcp`, token)).status).toBe(401);
    expect((await ask(`${world.gateway.origin}/.gateway/mcp/routes`, token)).status).not.toBe(200);
    expect((await ask(`${world.gateway.origin}/web/x`, token)).status).toBe(200);
  });

  test("a no goes back without a token", async () => {
    const browser = createBrowser();
    const page = await askPerson(browser, await addressFor());
    const back = target(await browser.submit(page, { button: "Cancel", follow: false }));

    expect([back.searchParams.get("error"), back.searchParams.get("gateway_jwt")]).toEqual(["access_denied", null]);
  });

  test("answers the reference's statuses: 404 without an address, 400 with a bad one, 405 for another method", async () => {
    expect((await begin(undefined)).status).toBe(404);
    expect((await begin("https://evil.example/")).status).toBe(400);
    expect((await begin(BACK, { method: "POST" })).status).toBe(405);
  });
});

describe("programmatic login issues no token", () => {
  const approve = "/.gateway/api/v1/approve";
  const pages = (): string => `http://auth.localhost:${world.gateway.port}`;

  test("without consent: a link opened by a signed-in user only shows the question", async () => {
    const browser = createBrowser();
    await tokenFor(browser);
    const page = await browser.open(await addressFor());

    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(OWN_TOKEN);
    expect(page.headers["refresh"]).toBeUndefined();
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  test("to a form of a foreign page, nor with another request's form token", async () => {
    const browser = createBrowser();
    const page = await askPerson(browser, await addressFor());
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const request = new URL(await addressFor("http://localhost:1234/other")).searchParams.get("request") ?? "";
    const body = (values: Record<string, string>) => new URLSearchParams({ decision: "approve", ...values }).toString();
    const post = (values: Record<string, string>, from: string) =>
      browser.open(pages() + approve, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: body(values),
        from,
        follow: false,
      });
    const own = new URL(page.url).searchParams.get("request") ?? "";

    for (const answer of [
      await post({ request: own, csrf }, "http://evil.localhost:1/page"),
      await post({ request, csrf }, page.url),
      await post({ request: own, csrf: "" }, page.url),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.text).not.toMatch(OWN_TOKEN);
    }
    expect((await post({ request: own, csrf }, page.url)).status).toBe(200);
  });

  test("to a changed, foreign or invented request", async () => {
    const browser = createBrowser();
    await tokenFor(browser);
    const request = new URL(await addressFor()).searchParams.get("request") ?? "";
    for (const bad of ["", "x", withChangedEnd(request)]) {
      expect((await browser.open(`${pages()}${approve}?request=${bad}`)).status).toBe(400);
    }
    // On a route's host there is no such page: an upstream's script could answer it there.
    expect((await browser.open(`${world.gateway.origin}${approve}?request=${request}`)).status).toBe(404);
  });

  test.each([
    "https://evil.example/",
    "http://evil.example/",
    "//evil.example/",
    "/relative",
    "javascript:alert(1)",
    "http://localhost.evil.example/",
    "http://127.0.0.1.evil.example/",
    "http://localhost@evil.example/",
    "http://user@localhost/",
    String.raw`http://localhost\@evil.example/`,
    "http://localhost/#fragment",
    "http://localhost/?gateway_jwt=mine",
    "http://localhost/\n",
    "com.example.app:/callback",
    `http://localhost/${"a".repeat(2000)}`,
  ])("to the address %s", (address) => {
    expect(allowedLoginRedirect(address, { programmaticRedirectDomains: undefined })).toBeUndefined();
  });

  test("to unlisted hosts, or without https", () => {
    const settings = { programmaticRedirectDomains: ["tools.example.com", "*.cli.example"].map(parseDomainPattern) };
    const good = (address: string): boolean => allowedLoginRedirect(address, settings) !== undefined;

    expect(good("https://tools.example.com/cb")).toBe(true);
    expect(good("https://a.cli.example/cb")).toBe(true);
    expect(good("http://tools.example.com/cb")).toBe(false);
    expect(good("https://cli.example/cb")).toBe(false);
    expect(good("https://nottools.example.com/cb")).toBe(false);
    // Loopback is the default, not an addition.
    expect(good("http://127.0.0.1/cb")).toBe(false);
  });
});
