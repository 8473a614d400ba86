/** Attacks on sign-in: each case is a request that an attacker can send. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createKeys } from "../../../../runtime/shared/keys.ts";
import { createTickets } from "../../../../runtime/identity/sign-in/ticket.ts";
import type { Browser, Page } from "../../../support/scripted-browser.ts";
import {
  APP,
  AUTH,
  BENCH_SECRET,
  WIKI,
  benchConfig,
  startSessionBench,
  type SessionBench,
} from "../../../support/session-bench.ts";

let bench: SessionBench;
beforeEach(async () => {
  bench = await startSessionBench();
});
afterEach(() => bench.close());

const APP_HOST = "app.example.com";
const SESSION_COOKIE = "__Host-gateway_session";

/** Where the page would send the browser next. */
const next = (page: Page): string => page.hops.at(-1)?.location ?? "";

/** Signs in up to the redirect that carries the one-time code to the route's host. */
async function upToReturn(browser: Browser, user = "alice@example.com"): Promise<string> {
  const choice = await browser.open(`${APP}/`);
  const page = await browser.click(choice, user, { follow: `${APP}/.gateway/return` });
  expect(next(page)).toContain("/.gateway/return?code=");
  return next(page);
}

/** All cookies except proofs of sign-ins. */
function forgetSessions({ jar }: Browser): void {
  for (const { name, hostname, secure } of jar.all()) {
    if (/_(?:sign_in|provider)_/.test(name)) continue;
    jar.set(`${name}=; Max-Age=0; Path=/`, new URL(`http://${hostname}`));
    if (secure) jar.set(`${name}=; Max-Age=0; Path=/; Secure`, new URL(`https://${hostname}`));
  }
}

/** No user is signed in: at best the browser starts again, and the provider asks. */
function expectNothing(browser: Browser, page: Page): void {
  expect(isSignedIn(browser)).toBe(false);
  expect(browser.jar.get("auth.example.com", SESSION_COOKIE)).toBeUndefined();
  expect(new URL(page.url).origin).toBe(bench.idp.issuer);
}

const isSignedIn = (browser: Browser): boolean => browser.jar.get(APP_HOST, SESSION_COOKIE) !== undefined;

describe("the one-time code", () => {
  it("works once", async () => {
    const browser = bench.browser();
    const address = await upToReturn(browser);
    expect((await browser.open(address)).status).toBe(200);
    forgetSessions(browser);
    expectNothing(browser, await browser.open(address));
  });

  it("is invalid in another browser (login CSRF), and afterwards in its own", async () => {
    const attacker = bench.browser();
    const address = await upToReturn(attacker, "bob@example.com");
    const victim = bench.browser();
    await victim.open(`${APP}/`, { follow: false });
    expectNothing(victim, await victim.open(address, { from: "https://evil.example/" }));
    forgetSessions(attacker);
    expectNothing(attacker, await attacker.open(address));
  });

  it("of another sign-in is invalid, whatever return ticket comes with it", async () => {
    const attacker = bench.browser();
    const stolen = new URL(await upToReturn(attacker, "bob@example.com"));
    const victim = bench.browser();
    const own = new URL(await upToReturn(victim));
    own.searchParams.set("code", stolen.searchParams.get("code") ?? "");
    const page = await victim.open(own.href);
    // The victim is already signed in at the authenticate host and keeps their identity.
    expect(JSON.parse(page.text)).toMatchObject({ user: { id: "u-alice" } });
  });

  it("is invalid with the return ticket of a sign-in on another host, and so is that ticket", async () => {
    const address = new URL(await upToReturn(bench.browser()));
    const to = address.searchParams.get("to") ?? "";
    for (const query of [`to=${to}`, `code=x&to=${to}`, `to=${to.slice(1)}`, `to=${to}&to=${to}`]) {
      const page = await bench.browser().open(`${WIKI}/.gateway/return?${query}`);
      expect([query, page.status, page.hops.length]).toEqual([query, 400, 1]);
    }
  });

  it("is invalid on another host", async () => {
    const browser = bench.browser();
    const address = await upToReturn(browser);
    const page = await browser.open(address.replace(APP, WIKI));
    expect(page.status).toBe(400);
    expect(browser.jar.get("wiki.example.com", SESSION_COOKIE)).toBeUndefined();
  });

  it("ends after 60 seconds", async () => {
    const browser = bench.browser();
    const address = await upToReturn(browser);
    bench.clock.advance(60_000);
    forgetSessions(browser);
    expectNothing(browser, await browser.open(address));
  });

  it("is invalid after the session was revoked", async () => {
    const browser = bench.browser();
    const address = await upToReturn(browser);
    await bench.session.revocations.revoke("user:u-alice");
    expect((await browser.open(address)).status).toBe(400);
  });

  it.each(["", "?code=", "?code=wrong", "?code=a&code=b", "?code=%ff", "?code=%00"])("%j is refused", async (query) => {
    const page = await bench.browser().open(`${APP}/.gateway/return${query}`);
    expect(page.status).toBe(400);
    expect(page.hops[0]?.setCookies).toEqual([]);
  });

  it("is stored as a hash only", async () => {
    const address = await upToReturn(bench.browser());
    const code = new URL(address).searchParams.get("code") ?? "";
    expect(code.length).toBeGreaterThan(40);
    expect(await bench.store.store.get(`sign-in-code:${code}`)).toBeUndefined();
  });
});

describe("the ticket", () => {
  const ticketOf = async (browser: Browser): Promise<URL> =>
    new URL(next(await browser.open(`${APP}/`, { follow: AUTH })));

  it("is refused when changed, cut, empty or foreign", async () => {
    const browser = bench.browser();
    const address = await ticketOf(browser);
    const ticket = address.searchParams.get("ticket") ?? "";
    const foreign = createTickets({ keys: createKeys([Buffer.alloc(32, 9)]), clock: bench.clock });
    const forged = foreign.seal({ signInId: "x", host: APP_HOST, returnTo: "/", expiresAt: 9_999_999_999 });
    const earlier = { signInId: "x", host: APP_HOST, expiresAt: 9_999_999_999 };
    const ofEarlierVersion = createKeys([BENCH_SECRET])
      .sealer("sign-in-ticket")
      .seal(JSON.stringify(earlier), "ticket");
    const changed = ticket.slice(0, -2) + (ticket.endsWith("AA") ? "BB" : "AA");
    for (const bad of [changed, ticket.slice(0, -8), "", "x", forged, ofEarlierVersion, `${ticket}=`]) {
      const page = await browser.open(`${AUTH}/.gateway/sign_in?ticket=${bad}`);
      expect(page.status).toBe(400);
      expect(page.hops).toHaveLength(1);
    }
  });

  it("ends after ten minutes: a new one is made", async () => {
    const browser = bench.browser();
    const address = await ticketOf(browser);
    bench.clock.advance(600_000);
    const page = await browser.open(address.href);
    expect(page.hops[0]?.setCookies).toEqual([]);
    expect(page.hops[0]?.location?.startsWith(`${APP}/.gateway/return?to=`)).toBe(true);
    expectNothing(browser, page);
  });

  it("goes nowhere but to configured hosts, even when well sealed", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const tickets = createTickets({ keys: createKeys([BENCH_SECRET]), clock: bench.clock });
    const expiresAt = 9_999_999_999;
    for (const host of [
      "evil.example",
      "app.example.com.evil.example",
      "app.example.com:444",
      "",
      "app.example.com/",
    ]) {
      const ticket = tickets.seal({ signInId: "x", host, returnTo: "/", expiresAt });
      const page = await browser.open(`${AUTH}/.gateway/sign_in?ticket=${ticket}`);
      expect([host, page.status, page.hops.length]).toEqual([host, 400, 1]);
    }
  });

  it("is refused on a host that does not authenticate", async () => {
    const browser = bench.browser();
    const address = await ticketOf(browser);
    expect((await browser.open(address.href.replace(AUTH, APP))).status).toBe(404);
  });

  it("is refused when its host left the configuration meanwhile, before and after the provider", async () => {
    const browser = bench.browser();
    const address = await ticketOf(browser);
    const choice = await browser.open(`${APP}/`);
    bench.configure(benchConfig(bench.idp.issuer).replaceAll(APP, "https://renamed.example.com"));
    expect((await browser.open(address.href)).status).toBe(400);
    const page = await browser.click(choice, "alice@example.com");
    expect(page.status).toBe(400);
    expect(page.hops.every(({ url }) => !url.startsWith(APP))).toBe(true);
  });
});

describe("the provider's callback", () => {
  const upToCallback = async (browser: Browser): Promise<string> => {
    const choice = await browser.open(`${APP}/`);
    return next(await browser.click(choice, "alice@example.com", { follow: `${AUTH}/.gateway/callback` }));
  };

  it("works only in the browser that was sent to the provider", async () => {
    const address = await upToCallback(bench.browser());
    const victim = bench.browser();
    const page = await victim.open(address, { from: "https://evil.example/" });
    expectNothing(victim, page);
    expect(page.hops[0]?.setCookies).toEqual([]);
    expect(bench.idp.calls.code).toBe(0);
  });

  it("works once, and a refused one is not tried again", async () => {
    const browser = bench.browser();
    const address = await upToCallback(browser);
    expect((await browser.open(address)).status).toBe(200);
    // The second time the browser is only led to where it wanted.
    expect((await browser.open(address)).url).toBe(`${APP}/`);
    expect(bench.idp.calls.code).toBe(1);
  });

  it("refuses another code, state or issuer", async () => {
    for (const [name, value] of [
      ["code", "wrong"],
      ["state", "wrong"],
      ["iss", "https://evil.example"],
    ] as const) {
      const browser = bench.browser();
      const address = new URL(await upToCallback(browser));
      address.searchParams.set(name, value);
      const page = await browser.open(address.href);
      expect([name, page.status]).toEqual([name, name === "state" ? 400 : 403]);
      expect(browser.jar.get("auth.example.com", SESSION_COOKIE)).toBeUndefined();
    }
  });

  it("refuses a code of another sign-in: nonce and PKCE belong together", async () => {
    const [one, two] = [bench.browser(), bench.browser()];
    const stolen = new URL(await upToCallback(one)).searchParams.get("code") ?? "";
    const address = new URL(await upToCallback(two));
    address.searchParams.set("code", stolen);
    expect((await two.open(address.href)).status).toBe(403);
  });

  it("ends after ten minutes", async () => {
    const browser = bench.browser();
    const address = await upToCallback(browser);
    bench.clock.advance(600_000);
    forgetSessions(browser);
    expectNothing(browser, await browser.open(address));
    expect(bench.idp.calls.code).toBe(0);
  });

  it("shows an error when the user cancels, without echoing browser input", async () => {
    const browser = bench.browser();
    const page = await browser.click(await browser.open(`${APP}/`), "nobody");
    expect(page.status).toBe(403);
    expect(page.text).not.toContain("access_denied");
  });

  it("is no way in for a disabled user", async () => {
    const browser = bench.browser();
    const choice = await browser.open(`${APP}/`);
    bench.idp.disable("alice@example.com");
    expect(choice.text).toContain("alice@example.com");
    const page = await browser.click(choice, "alice@example.com");
    expect(page.url).toContain(bench.idp.issuer);
    expect(isSignedIn(browser)).toBe(false);
  });
});

describe("open redirects", () => {
  it.each([
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "https://evil.example/",
    "javascript:alert(1)",
    "evil.example",
    "/ok\r\nlocation: https://evil.example/",
    "/%",
  ])("return_to=%j stays on the host", async (target) => {
    const browser = bench.browser();
    const page = await browser.signIn(
      `${APP}/.gateway/sign_in?return_to=${encodeURIComponent(target)}`,
      "alice@example.com",
    );
    expect(page.hops.every(({ url }) => [APP, AUTH, bench.idp.issuer].includes(new URL(url).origin))).toBe(true);
    expect(page.url.startsWith(`${APP}/`)).toBe(true);
  });

  it("return_to leads to a path of this host", async () => {
    const page = await bench.browser().signIn(`${APP}/.gateway/sign_in?return_to=/a%3Fb=c`, "alice@example.com");
    expect(page.url).toBe(`${APP}/a?b=c`);
  });

  it("a path that begins with // or a backslash in the query does not become an address", async () => {
    const page = await bench.browser().open(`${APP}/x?next=\\\\evil.example`, { follow: AUTH });
    expect(page.status).toBe(302);
    const record = await bench.store.store.list("user:u-alice");
    expect(record).toEqual([]);
  });

  it("hosts that are not configured are refused before anything else", async () => {
    const page = await bench.browser().open(`${APP}/`, { headers: { host: "evil.example" } });
    expect(page.status).toBe(401);
    expect(page.hops[0]?.setCookies).toEqual([]);
  });
});
