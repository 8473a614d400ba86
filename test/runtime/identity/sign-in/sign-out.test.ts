import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { POLL_MS } from "../../../support/limits.ts";
import { within2s } from "../../../support/promised.ts";
import type { IdentityRecord } from "../../../../runtime/identity/identity-records.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
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

describe("sign-out", () => {
  it("ends the session on every host and replica within two seconds", async () => {
    const other = await bench.replica();
    const browser = bench.browser({ [WIKI]: other });
    await browser.signIn(`${APP}/`, "alice@example.com");
    expect((await browser.open(`${WIKI}/`)).status).toBe(200);
    const stolen = browser.jar.all().filter(({ name }) => name === "__Host-gateway_session");

    const confirm = await browser.open(`${APP}/.gateway/sign_out`);
    expect(confirm.text).toContain("alice@example.com");
    expect((await browser.open(`${WIKI}/`)).status).toBe(200);
    const done = await browser.submit(confirm, { button: "Sign out", follow: false });
    expect(done.status).toBe(200);

    await vi.waitFor(
      within2s(async () => {
        for (const origin of [APP, WIKI, AUTH]) {
          // Copied cookies are also invalid.
          for (const cookie of stolen)
            browser.jar.set(`${cookie.name}=${cookie.value}; Path=/; Secure`, new URL(`https://${cookie.hostname}`));
          expect((await browser.open(`${origin}/.gateway/user`, { mode: "cors" })).status).toBe(401);
        }
      }),
      { timeout: POLL_MS },
    );
    expect((await browser.open(`${WIKI}/`, { follow: false })).status).toBe(302);
  });

  it("clears the cookie and continues to the provider, which redirects back", async () => {
    const browser = bench.browser();
    await browser.signIn(`${AUTH}/.gateway/`, "alice@example.com");
    const asked = await browser.submit(await browser.open(`${AUTH}/.gateway/`), { button: "Sign out" });
    expect(new URL(asked.url).origin).toBe(bench.idp.issuer);
    expect(browser.jar.get("auth.example.com", "__Host-gateway_session")).toBeUndefined();
    const back = await browser.submit(asked, { button: "Sign out" });
    expect(back.url.split("?")[0]).toBe(`${AUTH}/.gateway/signed_out`);
    expect(back.text).toContain("signed out");
    expect(bench.idp.calls.endSession).toBeGreaterThan(0);
    const again = await browser.open(`${APP}/`);
    expect(again.text).toContain("Who are you?");
    expect(bench.signOuts).toEqual(["page ok"]);
  });

  it("sends the provider the newest ID token, from the last refresh", async () => {
    const tokenOf = async (): Promise<string> => {
      const record = await bench.store.store.get<IdentityRecord>("identity:u-alice");
      const sealer = createKeys([BENCH_SECRET]).sealer("provider-tokens");
      return sealer.open(record?.value.idToken ?? "", "id u-alice")?.toString() ?? "";
    };
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const first = await tokenOf();
    await bench.session.identities.refresh("u-alice");
    const newest = await tokenOf();
    expect(newest).not.toBe(first);
    const page = await browser.submit(await browser.open(`${APP}/.gateway/sign_out`), { follow: false });
    const next = new URL(String(page.headers["refresh"]).replace("0;url=", ""));
    expect(next.searchParams.get("id_token_hint") === newest).toBe(true);
  });

  it("is counted if it fails, and not counted if it was not requested", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const page = await browser.open(`${APP}/.gateway/sign_out`);
    await browser.open(`${APP}/.gateway/sign_out`, { method: "POST", from: "https://evil.example/", body: "" });
    bench.store.broken = true;
    expect((await browser.submit(page, { follow: false })).status).toBe(503);
    bench.store.broken = false;
    expect((await browser.submit(page, { follow: false })).status).toBe(200);
    // A look at the page is none.
    await browser.open(`${APP}/.gateway/sign_out`);
    expect(bench.signOuts).toEqual(["page refused", "page unavailable", "page ok"]);
  });

  it("works while the provider is unavailable, and redirects to signout_redirect_url if set", async () => {
    bench.configure(benchConfig("http://127.0.0.1:9", "signout_redirect_url: https://www.example.com/bye"));
    const browser = bench.browser();
    bench.configure(benchConfig(bench.idp.issuer, "signout_redirect_url: https://www.example.com/bye"));
    await browser.signIn(`${APP}/`, "alice@example.com");
    bench.configure(benchConfig("http://127.0.0.1:9", "signout_redirect_url: https://www.example.com/bye"));
    const page = await browser.submit(await browser.open(`${APP}/.gateway/sign_out`), { follow: false });
    expect(page.headers["refresh"]).toBe("0;url=https://www.example.com/bye");
    expect((await browser.open(`${APP}/`, { follow: false })).status).toBe(302);
    expect(bench.signOuts).toEqual(["page local"]);
  });

  it("shows a message if no user is signed in", async () => {
    const page = await bench.browser().open(`${APP}/.gateway/sign_out`);
    expect(page.status).toBe(200);
    expect(page.text).toContain("Signed out");
  });

  it("offers to sign in again, which leads to a page that exists", async () => {
    const browser = bench.browser();
    for (const [origin, home] of [
      [AUTH, `${AUTH}/.gateway/`],
      [APP, `${APP}/`],
    ] as const) {
      const away = await browser.click(await browser.open(`${origin}/.gateway/signed_out`), "Sign in again");
      const page = away.url === home ? away : await browser.click(away, "alice@example.com");
      expect([page.url, page.status]).toEqual([home, 200]);
    }
  });

  it("is not done by a link, a foreign form, a form without token, or another session's token", async () => {
    const browser = bench.browser();
    const other = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    await other.signIn(`${APP}/`, "alice@example.com");
    const body = async (from: typeof browser): Promise<string> => {
      const page = await from.open(`${APP}/.gateway/sign_out`);
      return `csrf=${/name="csrf" value="([^"]+)"/.exec(page.text)?.[1]}`;
    };
    const own = await body(browser);
    const url = `${APP}/.gateway/sign_out`;
    const post = { method: "POST", from: `${APP}/x` };
    const attempts = [
      { body: own, method: "POST", from: "https://evil.example/" },
      { ...post, body: own, headers: { origin: "null" } },
      { ...post, body: own, headers: { origin: "https://evil.example" } },
      { ...post, body: own, headers: { origin: WIKI } },
      { ...post, body: own, headers: { "sec-fetch-site": "same-site" } },
      { ...post, body: "" },
      { ...post, body: "csrf=" },
      { ...post, body: await body(other) },
      { ...post, body: `${own}&${own}` },
      { ...post, body: own, headers: { "content-type": "text/plain" } },
    ];
    for (const [index, attempt] of attempts.entries()) {
      const page = await browser.open(url, attempt);
      expect([index, page.status, page.headers["set-cookie"]]).toEqual([index, 403, undefined]);
      expect((await browser.open(`${APP}/`, { follow: false })).status).toBe(200);
    }
    await browser.open(url, { from: "https://evil.example/" });
    expect((await browser.open(`${APP}/`, { follow: false })).status).toBe(200);
  });
});

describe("the user's page and JSON", () => {
  it("are on the authenticate host, to which other hosts redirect", async () => {
    const browser = bench.browser();
    const page = await browser.signIn(`${APP}/.gateway/`, "alice@example.com");
    expect(page.url).toBe(`${AUTH}/.gateway/`);
    expect(page.text).toContain("Alice Example");
    expect(page.text).toContain("admins, engineering");
  });

  it("contain claims and never a token", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const answer = await browser.open(`${APP}/.gateway/user`, { mode: "cors" });
    expect(JSON.parse(answer.text)).toMatchObject({
      user: "u-alice",
      email: "alice@example.com",
      groups: ["admins", "engineering"],
    });
    const tokens = await bench.session.authenticator.providerTokens(await principalOf(bench, browser));
    expect(tokens.accessToken.length).toBeGreaterThan(20);
    for (const address of [`${APP}/.gateway/user`, `${AUTH}/.gateway/`, `${AUTH}/.gateway/sign_out`]) {
      const page = await browser.open(address);
      expect(page.status).toBe(200);
      expect(page.text).not.toContain(tokens.accessToken);
      expect(page.text).not.toContain(tokens.idToken);
      expect(page.headers["cache-control"]).toBe("no-store");
    }
  });

  it("respond with 401 to a program without sign-in", async () => {
    const answer = await bench.browser().open(`${APP}/.gateway/user`, { mode: "cors" });
    expect(answer.status).toBe(401);
  });

  it("escape the provider's claims", async () => {
    bench.idp.update("alice@example.com", { name: "<script>alert(1)</script>" });
    const page = await bench.browser().signIn(`${AUTH}/.gateway/`, "u-alice");
    expect(page.text).not.toContain("<script>");
    expect(page.text).toContain("&#60;script&#62;");
  });
});

/** The principal behind a browser's cookie on the app's host. */
async function principalOf(from: SessionBench, browser: ReturnType<SessionBench["browser"]>) {
  const cookie = browser.jar.header(new URL(APP), { crossSite: false, topLevelGet: true }) ?? "";
  const exchange = { host: "app.example.com", headerValues: (name: string) => (name === "cookie" ? [cookie] : []) };
  const found = await from.session.authenticator.cookie(exchange as never);
  if (!found.ok) throw new Error(found.reason);
  return found.principal;
}
