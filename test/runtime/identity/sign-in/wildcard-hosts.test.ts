/** Sign-in on hosts that only a wildcard route names: each is a site of its own. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { findSite } from "../../../../runtime/identity/sites.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { AUTH, benchConfig, startSessionBench, type SessionBench } from "../../../support/session-bench.ts";
import { createBrowser, type Browser } from "../../../support/scripted-browser.ts";

const ONE = "https://one.tenants.example.com";
const TWO = "https://two.eu.tenants.example.com";
const EVIL = "https://evil.test";
const SESSION_COOKIE = "__Host-gateway_session";
const WILDCARD = `
  - { name: tenants, from: "https://*.tenants.example.com", to: "http://127.0.0.1:9", policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
`;

let bench: SessionBench;
beforeEach(async () => {
  bench = await startSessionBench();
  bench.configure(benchConfig(bench.idp.issuer) + WILDCARD);
});
afterEach(() => bench.close());

const browser = (): Browser =>
  createBrowser({
    listeners: Object.fromEntries([ONE, TWO, AUTH, EVIL].map((origin) => [origin, bench.firstPort])),
  });

describe("sign-in on a host below a wildcard", () => {
  it("brings the browser back to the host it came from, with a cookie of that host alone", async () => {
    const one = browser();
    const page = await one.signIn(`${ONE}/deep/page?x=1`, "alice@example.com");
    expect([page.status, page.url]).toEqual([200, `${ONE}/deep/page?x=1`]);
    expect(one.jar.get(new URL(ONE).hostname, SESSION_COOKIE)).toBeDefined();
    expect(one.jar.get(new URL(TWO).hostname, SESSION_COOKIE)).toBeUndefined();
  });

  it("uses the provider once for all of them, and sets a separate cookie on each", async () => {
    const one = browser();
    await one.signIn(`${ONE}/`, "alice@example.com");
    const asked = { ...bench.idp.calls };
    const page = await one.open(`${TWO}/start`);
    expect([page.status, page.url]).toEqual([200, `${TWO}/start`]);
    expect(bench.idp.calls).toEqual(asked);
    const [first, second] = [ONE, TWO].map((origin) => one.jar.get(new URL(origin).hostname, SESSION_COOKIE)?.value);
    expect(first).not.toBe(second);
  });

  it("takes no cookie of a sibling", async () => {
    const one = browser();
    await one.signIn(`${ONE}/`, "alice@example.com");
    const value = one.jar.get(new URL(ONE).hostname, SESSION_COOKIE)?.value ?? "";
    const page = await browser().open(`${TWO}/x`, { headers: { cookie: `${SESSION_COOKIE}=${value}` }, follow: false });
    expect(page.status).toBe(302);
  });

  it("takes no code that was made for a sibling", async () => {
    const one = browser();
    const away = await one.open(`${ONE}/`);
    const back = await one.click(away, "alice@example.com", { follow: `${ONE}/.gateway/return` });
    const code = new URL(back.hops.at(-1)?.location ?? "").searchParams.get("code") ?? "";
    const page = await one.open(`${TWO}/.gateway/return?code=${code}`);
    expect(page.status).toBe(400);
    expect(one.jar.get(new URL(TWO).hostname, SESSION_COOKIE)).toBeUndefined();
  });

  it("never redirects to a host outside the wildcard, or back after the wildcard was removed", async () => {
    const page = await browser().open(`${EVIL}/`, { follow: false });
    expect(page.headers.location).toBeUndefined();
    const one = browser();
    const away = await one.open(`${ONE}/`);
    bench.configure(benchConfig(bench.idp.issuer));
    const refused = await one.click(away, "alice@example.com");
    expect(refused.status).toBe(400);
    expect(refused.hops.some(({ location = "" }) => location.startsWith(`${ONE}/.gateway/return`))).toBe(false);
  });
});

describe("findSite()", () => {
  const snapshot = snapshotFrom(`
    authenticate_service_url: https://auth.example.com
    routes:
      - { from: "https://*.example.com", to: "http://127.0.0.1:9" }
      - { from: "https://*.example.com:8443", to: "http://127.0.0.1:9" }
      - { from: "https://app.example.com", to: "http://127.0.0.1:9" }
  `);

  it.each([
    ["a.example.com", "https://a.example.com"],
    ["a.b.example.com", "https://a.b.example.com"],
    ["a.example.com:8443", "https://a.example.com:8443"],
    ["app.example.com", "https://app.example.com"],
  ])("%s is a site of its own", (host, origin) => {
    expect(findSite(snapshot, host)).toMatchObject({ origin, host, authenticateOrigin: "https://auth.example.com" });
    expect(findSite(snapshot, host)).toBe(findSite(snapshot, host));
    expect(findSite(snapshot, host)?.authenticates).toBe(false);
  });

  it.each(["example.com", "xexample.com", "a.example.com:9443", "a.example.com.evil.test", "*.example.com"])(
    "%s is none",
    (host) => {
      expect(findSite(snapshot, host)).toBeUndefined();
    },
  );

  it("keeps no more hosts than a bounded number", () => {
    for (let index = 0; index < 5000; index += 1) findSite(snapshot, `h${index}.example.com`);
    expect(findSite(snapshot, "h1.example.com")?.origin).toBe("https://h1.example.com");
  });
});
