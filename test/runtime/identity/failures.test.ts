/** Outages of store and provider, changed settings, and data that must never be written. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { startIdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import type { IdentityRecord } from "../../../runtime/identity/identity-records.ts";
import type { Page } from "../../support/scripted-browser.ts";
import {
  APP,
  AUTH,
  BENCH_SECRET,
  CLIENT_SECRET,
  WIKI,
  benchConfig,
  startSessionBench,
  type SessionBench,
} from "../../support/session-bench.ts";

let bench: SessionBench;
beforeEach(async () => {
  bench = await startSessionBench();
});
afterEach(() => bench.close());

const next = (page: Page): string => page.hops.at(-1)?.location ?? "";

describe("while the store is unavailable", () => {
  it("verified sessions continue, new sign-ins reach the provider, and sign-outs get 503", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const confirm = await browser.open(`${APP}/.gateway/sign_out`);

    const fresh = bench.browser();
    const ticket = next(await fresh.open(`${APP}/`, { follow: AUTH }));
    const choice = await fresh.open(ticket);
    const callback = next(await fresh.click(choice, "u-bob", { follow: `${AUTH}/.gateway/callback` }));

    // Another one is a step further.
    const other = bench.browser();
    const otherChoice = await other.open(next(await other.open(`${APP}/`, { follow: AUTH })));
    const back = next(await other.click(otherChoice, "u-bob", { follow: `${APP}/.gateway/return` }));

    bench.store.broken = true;
    expect((await browser.open(`${APP}/`)).status).toBe(200);
    for (const address of [`${APP}/`, ticket]) {
      const page = await bench.browser().open(address);
      expect([page.status, new URL(page.url).origin]).toEqual([200, bench.idp.issuer]);
    }
    for (const [visitor, address] of [
      [fresh, callback],
      [other, back],
    ] as const) {
      const page = await visitor.open(address);
      expect([page.status, page.headers["retry-after"], page.hops.length]).toEqual([503, "5", 1]);
      expect(page.hops[0]?.setCookies).toEqual([]);
    }
    expect((await browser.open(`${WIKI}/`)).status).toBe(503);
    expect((await browser.submit(confirm)).status).toBe(503);
    // In the process of the sign-out it is effective even without the store.
    expect((await browser.open(`${APP}/`)).status).toBe(503);

    bench.store.broken = false;
    expect(bench.idp.calls.code).toBe(2);
    const page = await fresh.open(callback);
    expect(page.url).toBe(`${APP}/`);
  });
});

describe("while the provider is unavailable", () => {
  it("new sign-ins get 503 and work again as soon as it is back, without a restart", async () => {
    bench.idp.pause();
    const browser = bench.browser();
    const page = await browser.open(`${APP}/`);
    expect([page.status, new URL(page.url).origin]).toEqual([503, AUTH]);
    expect(page.text).toContain("again in a moment");
    bench.idp.resume();
    expect((await browser.signIn(`${APP}/`, "alice@example.com")).status).toBe(200);
  });

  it("a callback gets 503, and the user can start again", async () => {
    const browser = bench.browser();
    const choice = await browser.open(`${APP}/`);
    const callback = next(await browser.click(choice, "u-alice", { follow: `${AUTH}/.gateway/callback` }));
    bench.idp.pause();
    expect((await browser.open(callback)).status).toBe(503);
    bench.idp.resume();
    expect((await browser.signIn(`${APP}/`, "alice@example.com")).status).toBe(200);
  });

  it("plain http to it is refused outside development", async () => {
    bench.configure(benchConfig(bench.idp.issuer));
    const strict = await bench.replica({ development: false });
    const page = await bench.browser({ [AUTH]: strict }).open(`${APP}/`);
    expect(page.status).toBe(503);
    expect(bench.idp.calls.discovery).toBe(0);
    expect(bench.logged()).toContain("only requests to HTTPS are allowed");
  });
});

describe("settings that change on reload", () => {
  it("take effect at the next sign-in: another provider, another client", async () => {
    const other = await startIdentityProvider({
      users: [{ id: "u-zoe", email: "zoe@example.org", name: "Zoe", groups: [] }],
      clients: [{ client_id: "second", redirect_uris: [`${AUTH}/.gateway/callback`] }],
    });
    await bench.browser().signIn(`${APP}/`, "alice@example.com");
    const config = benchConfig(other.issuer).replace("idp_client_id: gateway", "idp_client_id: second");
    bench.configure(config.replace(/idp_client_secret.*\n/, ""));
    const page = await bench.browser().signIn(`${APP}/`, "zoe@example.org");
    expect(JSON.parse(page.text)).toMatchObject({ user: { id: "u-zoe" } });
    await other.close();
  });

  it("a cookie with another name is ignored", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    bench.configure(benchConfig(bench.idp.issuer, "cookie_name: other"));
    expect((await browser.open(`${APP}/`, { follow: false })).status).toBe(302);
  });
});

describe("secrets", () => {
  it("of a whole flow appear in no log line, page or record", async () => {
    await bench.close();
    bench = await startSessionBench({ idp: { rotateRefreshTokens: true } });
    const browser = bench.browser();
    const secrets = new Set<string>([CLIENT_SECRET, BENCH_SECRET.toString("base64")]);
    const pages: Page[] = [];
    const note = (page: Page): Page => {
      pages.push(page);
      for (const hop of page.hops) {
        for (const line of hop.setCookies)
          if (line.startsWith("__Host-")) secrets.add(/=([^;]*)/.exec(line)?.[1] ?? "");
        for (const address of [hop.url, hop.location ?? ""]) {
          if (!address.startsWith("http")) continue;
          for (const [name, value] of new URL(address).searchParams) {
            if (["code", "ticket", "state", "nonce", "id_token_hint"].includes(name)) secrets.add(value);
          }
        }
      }
      return page;
    };
    note(await browser.click(note(await browser.open(`${APP}/`)), "alice@example.com"));
    note(await browser.open(`${WIKI}/`));
    await keepProviderTokens(secrets);
    await bench.session.identities.refresh("u-alice");
    await keepProviderTokens(secrets);
    const records = JSON.stringify(await bench.store.store.list("user:u-alice"));
    // Failures log the most: a replayed code, a wrong ticket, a rejected refresh, outages of provider and store.
    for (const hop of pages.flatMap(({ hops }) => hops)) if (hop.url.startsWith("https:")) await browser.open(hop.url);
    const confirm = note(await browser.open(`${AUTH}/.gateway/sign_out`));
    note(await browser.submit(confirm, { follow: false }));
    const other = bench.browser();
    note(await other.click(note(await other.open(`${APP}/`)), "bob@example.com"));
    bench.idp.pause();
    await bench.session.identities.refresh("u-bob");
    bench.idp.resume();
    bench.idp.revokeRefreshTokens("u-bob");
    await bench.session.identities.refresh("u-bob");
    bench.store.broken = true;
    note(await browser.open(`${WIKI}/`));
    secrets.delete("");

    expect(secrets.size).toBeGreaterThan(15);
    const logged = bench.logged();
    for (const line of ["signed in", "cannot confirm user", "user rejected by"]) expect(logged).toContain(line);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(15);
      expect(logged).not.toContain(secret);
      expect(records).not.toContain(secret);
      for (const page of pages)
        if (!page.url.startsWith(bench.idp.issuer)) expect(withoutRefresh(page)).not.toContain(secret);
    }
  });

  /** The provider's tokens, sealed in the records and opened with the test's key. */
  async function keepProviderTokens(secrets: Set<string>): Promise<void> {
    const sealer = createKeys([BENCH_SECRET]).sealer("provider-tokens");
    const record = await bench.store.store.get<IdentityRecord>("identity:u-alice");
    const { refreshToken, accessToken, idToken } = record?.value ?? {};
    for (const [what, sealed] of Object.entries({ refresh: refreshToken, access: accessToken, id: idToken })) {
      const token = sealer.open(sealed ?? "", `${what} u-alice`)?.toString();
      expect(token).toBeDefined();
      secrets.add(token ?? "");
    }
  }

  /** The page that leads to the provider's end-session address carries its hint, as it must. */
  function withoutRefresh(page: Page): string {
    return page.text.replace(/href="[^"]*session\/end[^"]*"/, "");
  }
});
