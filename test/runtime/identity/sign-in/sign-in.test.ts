import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createBrowser } from "../../../support/scripted-browser.ts";
import { APP, AUTH, WIKI, benchConfig, startSessionBench, type SessionBench } from "../../../support/session-bench.ts";

let bench: SessionBench;
beforeEach(async () => {
  bench = await startSessionBench();
});
afterEach(() => bench.close());

const SESSION_COOKIE = "__Host-gateway_session";

describe("sign-in across hosts", () => {
  it("brings a browser to the provider and back to where it was, signed in", async () => {
    const page = await bench.browser().signIn(`${APP}/deep/page?x=1&y=%20z`, "alice@example.com");
    expect(page.status).toBe(200);
    expect(page.url).toBe(`${APP}/deep/page?x=1&y=%20z`);
    expect(JSON.parse(page.text)).toMatchObject({
      path: "/deep/page?x=1&y=%20z",
      user: { id: "u-alice", email: "alice@example.com", name: "Alice Example", groups: ["admins", "engineering"] },
    });
  });

  it("uses the provider once: the next host gets its own cookie from the session at the authenticate host", async () => {
    const browser = bench.browser();
    const first = JSON.parse((await browser.signIn(`${APP}/`, "bob@example.com")).text) as { sid: string };
    const asked = { ...bench.idp.calls };
    const second = await browser.open(`${WIKI}/start`);
    expect(JSON.parse(second.text)).toMatchObject({ sid: first.sid, path: "/start" });
    expect(bench.idp.calls).toEqual(asked);
    const values = [APP, WIKI, AUTH].map((origin) => browser.jar.get(new URL(origin).hostname, SESSION_COOKIE)?.value);
    expect(new Set(values).size).toBe(3);
    expect(values).not.toContain(undefined);
  });

  it("sets host-only, HttpOnly, Secure, __Host- cookies without tokens or the session id", async () => {
    const browser = bench.browser();
    const away = await browser.open(`${APP}/`);
    const page = await browser.click(away, "alice@example.com");
    const { sid } = JSON.parse(page.text) as { sid: string };
    const lines = [...away.hops, ...page.hops]
      .filter(({ url }) => url.startsWith("https:"))
      .flatMap(({ setCookies }) => setCookies);
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      expect(line).toMatch(/^__Host-[\w-]+=[\w-]*; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/);
      expect(line).not.toContain(sid);
      const value = /=([^;]*)/.exec(line)?.[1] ?? "";
      expect(Buffer.from(value, "base64url").toString("latin1")).not.toMatch(/eyJ[\w-]+\.eyJ|u-alice|alice@/);
    }
  });

  it("lets several tabs of a browser sign in at the same time", async () => {
    const browser = bench.browser();
    const tabs = await Promise.all(
      ["/a", "/b", "/c"].map((path) => browser.open(APP + path, { follow: bench.idp.issuer })),
    );
    for (const [index, tab] of tabs.entries()) {
      const choice = await browser.open(tab.hops.at(-1)?.location ?? "");
      const page = choice.url.startsWith(APP) ? choice : await browser.click(choice, "alice@example.com");
      expect(page.url).toBe(APP + ["/a", "/b", "/c"][index]);
    }
    // Nothing is left behind but the two sessions.
    const names = browser.jar.all().map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("__Host-"))).toEqual([SESSION_COOKIE, SESSION_COOKIE]);
  });

  it("continues by a page of its own if the cookie is strict", async () => {
    bench.configure(benchConfig(bench.idp.issuer, "cookie_same_site: strict"));
    const page = await bench.browser().signIn(`${APP}/x`, "alice@example.com");
    expect(page.status).toBe(200);
    expect(page.url).toBe(`${APP}/x`);
    expect(page.hops.some(({ url, status }) => url.startsWith(`${APP}/.gateway/return`) && status === 200)).toBe(true);
  });

  it("falls back on the route's own host when there is no authenticate service", async () => {
    bench.configure(benchConfig(bench.idp.issuer).replace(/authenticate_service_url.*\n/, ""));
    const page = await bench.browser().signIn(`${APP}/here`, "alice@example.com");
    expect(page.url).toBe(`${APP}/here`);
    expect(page.hops.every(({ url }) => !url.startsWith(AUTH))).toBe(true);
  });

  it("reads claims missing in the ID token from userinfo", async () => {
    await bench.close();
    bench = await startSessionBench({ idp: { claimsInIdToken: false } });
    const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
    expect(JSON.parse(page.text)).toMatchObject({
      user: { email: "alice@example.com", groups: ["admins", "engineering"] },
    });
    expect(bench.idp.calls.userinfo).toBe(1);
  });

  it("takes the groups from the configured claim", async () => {
    bench.configure(benchConfig(bench.idp.issuer, "idp_groups_claim: name"));
    const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
    expect(JSON.parse(page.text)).toMatchObject({ user: { groups: ["Alice Example"] } });
  });

  it("uses plain cookie names only on plain-http loopback, and shares the session there across ports", async () => {
    const second = await bench.replica();
    const origins = [bench.firstPort, second.port].map((port) => `http://localhost:${port}`);
    const [one = "", two = ""] = origins;
    await bench.idp.allowRedirects("gateway", [`${one}/.gateway/callback`]);
    bench.configure(
      benchConfig(bench.idp.issuer)
        .replace(AUTH, one)
        .replaceAll(APP, two)
        .replaceAll(WIKI, `http://127.0.0.1:${second.port}`),
    );
    const browser = createBrowser();
    const page = await browser.signIn(`${two}/x`, "alice@example.com");
    expect(page.url).toBe(`${two}/x`);
    expect(page.status).toBe(200);
    expect(browser.jar.get("localhost", "gateway_session")).toMatchObject({ secure: false, httpOnly: true });
    expect(browser.jar.all().filter(({ name }) => name.startsWith("__Host-"))).toEqual([]);
  });

  it("rejects a sign-in over plain http except on loopback", async () => {
    // A route that requires sign-in would be rejected at load; this one also has public access.
    const yaml = benchConfig(bench.idp.issuer).replaceAll(APP, "http://app.example.com");
    bench.configure(yaml.replaceAll("authenticated_user: true", "source_ip: 10.0.0.0/8"));
    const browser = createBrowser({ listeners: { "http://app.example.com": bench.firstPort } });
    const page = await browser.open("http://app.example.com/");
    expect(page.status).toBe(403);
    expect(browser.jar.all()).toEqual([]);
  });
});

describe("SignIn.redirect()", () => {
  it.each([
    ["POST", { method: "POST", body: "a=b" }],
    ["a script's fetch", { mode: "cors" as const }],
    ["XMLHttpRequest", { headers: { "x-requested-with": "XMLHttpRequest" } }],
    ["a program", { headers: { accept: "*/*", "sec-fetch-mode": "" } }],
  ])("answers %s with 401, not with a redirect", async (_what, request) => {
    const page = await bench.browser().open(`${APP}/api`, request);
    expect(page.status).toBe(401);
    expect(page.headers["www-authenticate"]).toBe("Bearer");
    expect(page.hops).toHaveLength(1);
    expect(page.hops[0]?.setCookies).toEqual([]);
  });

  it("redirects a HEAD navigation", async () => {
    const page = await bench.browser().open(`${APP}/`, { method: "HEAD", follow: false });
    expect(page.status).toBe(302);
  });

  it("clears an invalid session cookie", async () => {
    const browser = bench.browser();
    browser.jar.set(`${SESSION_COOKIE}=stale; Path=/; Secure`, new URL(APP));
    const page = await browser.open(`${APP}/`, { follow: false });
    expect(page.status).toBe(302);
    expect(page.hops[0]?.setCookies.some((line) => line.startsWith(`${SESSION_COOKIE}=; Path=/; Max-Age=0`))).toBe(
      true,
    );
  });

  it("answers 503 when no identity provider is configured", async () => {
    bench.configure(benchConfig(bench.idp.issuer).replace(/idp_.*\n/g, ""));
    expect((await bench.browser().open(`${APP}/`)).status).toBe(503);
  });
});
