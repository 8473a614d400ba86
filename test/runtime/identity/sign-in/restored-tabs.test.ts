/** A browser that restores its tabs begins a sign-in in each of them. All end where they wanted to go. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Browser, Page } from "../../../support/scripted-browser.ts";
import { APP, AUTH, benchConfig, startSessionBench, type SessionBench } from "../../../support/session-bench.ts";

let bench: SessionBench;
beforeEach(async () => {
  bench = await startSessionBench();
});
afterEach(() => bench.close());

/** nginx's limit for one header line. */
const MAX_COOKIE_HEADER = 8192;

/** Records the length of the browser's `Cookie` header. */
function longestCookie(browser: Browser): () => number {
  let longest = 0;
  const header = browser.jar.header.bind(browser.jar);
  browser.jar.header = (...context) => {
    const sent = header(...context);
    longest = Math.max(longest, sent?.length ?? 0);
    return sent;
  };
  return () => longest;
}

/** Where the page would send the browser next. */
const next = (page: Page): string => page.hops.at(-1)?.location ?? "";

const places = (count: number, length: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `/tab/${index}?q=${"x".repeat(length)}`);

/** Each tab up to the provider's page. */
async function beginAll(browser: Browser, paths: readonly string[], isTogether: boolean): Promise<readonly string[]> {
  const begin = async (path: string): Promise<string> =>
    next(await browser.open(APP + path, { follow: bench.idp.issuer }));
  if (isTogether) return Promise.all(paths.map(begin));
  const begun: string[] = [];
  for (const path of paths) begun.push(await begin(path));
  return begun;
}

/** The user visits all tabs and signs in wherever the provider still asks. */
async function finishAll(browser: Browser, begun: readonly string[]): Promise<readonly string[]> {
  const ends: string[] = [];
  for (const address of begun) {
    let page = await browser.open(address);
    if (page.url.startsWith(bench.idp.issuer)) page = await browser.click(page, "alice@example.com");
    expect(page.status).toBe(200);
    ends.push(page.url.slice(APP.length));
  }
  return ends;
}

const withoutAuthenticateHost = (): void =>
  bench.configure(benchConfig(bench.idp.issuer).replace(/authenticate_service_url.*\n/, ""));

describe("40 restored tabs", () => {
  describe.each([
    ["with a host for sign-in", () => {}],
    ["on one host", withoutAuthenticateHost],
  ] as const)("%s", (_hosts, configure) => {
    it.each([
      ["at the same time", true, 10],
      ["one after another, with long addresses", false, 2000],
    ] as const)("%s all end where they wanted to go", async (_how, isTogether, length) => {
      configure();
      const browser = bench.browser();
      const longest = longestCookie(browser);
      const paths = places(40, length);
      const begun = await beginAll(browser, paths, isTogether);
      expect(await finishAll(browser, begun)).toEqual(paths);
      expect(longest()).toBeLessThan(MAX_COOKIE_HEADER);
    });
  });

  it("drop the oldest sign-ins once there are too many, never the newest", async () => {
    withoutAuthenticateHost();
    const browser = bench.browser();
    const paths = places(60, 10);
    const begun = await beginAll(browser, paths, false);
    const asked = bench.idp.calls.code;
    expect(await finishAll(browser, begun.slice(-10))).toEqual(paths.slice(-10));
    // Each was finished with its own answer of the provider; of the oldest nothing is taken, and they begin again.
    expect(bench.idp.calls.code).toBe(asked + 10);
    expect(await finishAll(browser, begun.slice(0, 2))).toEqual(paths.slice(0, 2));
    expect(bench.idp.calls.code).toBe(asked + 10);
  });
});

describe("a sign-in that cannot be finished", () => {
  it("without its proof continues to the requested page, without user interaction", async () => {
    const browser = bench.browser();
    const [first, second] = await beginAll(browser, ["/first", "/second?x=1"], false);
    for (const { name, hostname } of browser.jar.all())
      browser.jar.set(`${name}=; Max-Age=0; Path=/; Secure`, new URL(`https://${hostname}`));
    expect(await finishAll(browser, [first ?? ""])).toEqual(["/first"]);
    const asked = bench.idp.calls.code;
    expect(await finishAll(browser, [second ?? ""])).toEqual(["/second?x=1"]);
    expect(bench.idp.calls.code).toBe(asked);
  });

  it("is finished the next morning", async () => {
    const browser = bench.browser();
    const begun = await beginAll(browser, ["/a", "/b?c=d"], false);
    bench.clock.advance(12 * 3_600_000);
    expect(await finishAll(browser, begun)).toEqual(["/a", "/b?c=d"]);
  });

  it("at our own page ends at the same place the next morning", async () => {
    const browser = bench.browser();
    const ticket = next(await browser.open(`${APP}/here`, { follow: AUTH }));
    bench.clock.advance(12 * 3_600_000);
    const page = await browser.click(await browser.open(ticket), "alice@example.com");
    expect(page.url).toBe(`${APP}/here`);
  });

  it("which the provider rejects because another tab is signed in continues to the requested page", async () => {
    const browser = bench.browser();
    const [first, second] = await beginAll(browser, ["/first", "/second"], false);
    await finishAll(browser, [first ?? ""]);
    const { searchParams } = new URL(second ?? "");
    const state = searchParams.get("state") ?? "";
    const answer = new URLSearchParams({ state, error: "temporarily_unavailable", iss: bench.idp.issuer });
    const page = await browser.open(`${AUTH}/.gateway/callback?${answer.toString()}`);
    expect([page.status, page.url]).toEqual([200, `${APP}/second`]);
  });

  it("ends with a page that leads to its place where the browser keeps no cookies", async () => {
    const browser = bench.browser();
    const set = browser.jar.set.bind(browser.jar);
    browser.jar.set = (line, url) => void (url.protocol === "http:" && set(line, url));
    let page = await browser.open(`${APP}/wanted`);
    for (let round = 0; page.url.startsWith(bench.idp.issuer) && round < 10; round += 1)
      page = await browser.click(page, "alice@example.com");
    expect(page.status).toBe(400);
    expect(page.text).toContain('href="/wanted"');
    // Bounded: the provider asks at most three times.
    expect(bench.idp.calls.code).toBe(0);
  });

  it("which the provider rejects has a link to the requested page, not to the account page", async () => {
    const browser = bench.browser();
    const page = await browser.click(await browser.open(`${APP}/wanted?x=1`), "nobody");
    expect(page.status).toBe(403);
    expect(page.text).toContain(`href="${APP}/wanted?x=1"`);
  });
});
