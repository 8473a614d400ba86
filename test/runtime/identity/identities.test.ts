/** Users as the provider has them: refresh, rotation, refusal, absence. With the real provider on real sockets. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { HARD_MS } from "../../../runtime/identity/authenticate.ts";
import { MAX_CONFIRM_SECONDS } from "../../../runtime/identity/claims-record.ts";
import type { IdentityRecord } from "../../../runtime/identity/identity-records.ts";
import type { Browser } from "../../support/scripted-browser.ts";
import {
  APP,
  benchConfig,
  startSessionBench,
  type SessionBench,
  type SessionBenchOptions,
} from "../../support/session-bench.ts";

let bench: SessionBench;
let browser: Browser;

async function begin(options: SessionBenchOptions = {}): Promise<void> {
  bench = await startSessionBench(options);
  browser = bench.browser();
  await browser.signIn(`${APP}/`, "alice@example.com");
}
afterEach(() => bench.close());

const refresh = () => bench.session.identities.refresh("u-alice");
const stored = async (): Promise<IdentityRecord | undefined> =>
  (await bench.store.store.get<IdentityRecord>("identity:u-alice"))?.value;
const isOpen = async (): Promise<boolean> => (await browser.open(`${APP}/`, { follow: false })).status === 200;
const groupsSeen = async (): Promise<unknown> => {
  const page = await browser.open(`${APP}/`, { follow: false });
  return page.status === 200 ? (JSON.parse(page.text) as { user: { groups: unknown } }).user.groups : page.status;
};

describe("Identities.refresh()", () => {
  describe("with rotating refresh tokens", () => {
    beforeEach(() => begin({ idp: { rotateRefreshTokens: true } }));

    it("sends one provider request for parallel refreshes, in a process and across replicas", async () => {
      bench.idp.delayAnswers(50);
      const other = await bench.replica();
      const modules = [bench.session, other.session, bench.session, other.session];
      const results = await Promise.all(modules.map((each) => each.identities.refresh("u-alice")));
      expect(results.map(({ ok }) => ok)).toEqual([true, true, true, true]);
      expect(bench.idp.calls.refresh).toBe(1);
    });

    it("keeps the newest token for consecutive refreshes on any replica", async () => {
      const other = await bench.replica();
      const tokens = new Set([(await stored())?.refreshToken]);
      for (const each of [bench.session, other.session, bench.session, other.session]) {
        expect(await each.identities.refresh("u-alice")).toMatchObject({ ok: true });
        tokens.add((await stored())?.refreshToken);
      }
      expect(bench.idp.calls.refresh).toBe(4);
      expect(tokens.size).toBe(5);
    });

    it("keeps the tokens of a sign-in during a refresh", async () => {
      bench.idp.delayAnswers(100);
      const running = refresh();
      const second = bench.browser();
      bench.idp.delayAnswers(0);
      await second.signIn(`${APP}/`, "alice@example.com");
      expect(await running).toMatchObject({ ok: true });
      expect((await stored())?.signIns).toBe(2);
      expect(await refresh()).toMatchObject({ ok: true });
      expect(await refresh()).toMatchObject({ ok: true });
    });

    it("stores the rotated token before it reads the user", async () => {
      const before = (await stored())?.refreshToken;
      bench.idp.update("u-alice", { name: "Alice Renamed" });
      const put = vi.spyOn(bench.store.store, "put");
      expect(await refresh()).toMatchObject({ ok: true, user: { name: "Alice Renamed" } });
      const [first, second] = put.mock.calls.map(([, value]) => value as IdentityRecord);
      expect(first?.name).toBe("Alice Example");
      expect(first?.refreshToken).not.toBe(before);
      expect(second?.name).toBe("Alice Renamed");
    });
  });

  describe("with rotating refresh tokens and a store that fails in between", () => {
    beforeEach(() => begin({ idp: { rotateRefreshTokens: true } }));

    it("keeps a token that could not be stored, and stores it before the next request", async () => {
      bench.idp.delayAnswers(100);
      bench.store.calls.length = 0;
      const running = refresh();
      await vi.waitFor(() => expect(bench.store.calls.slice(-2)).toEqual(["lease", "get"]));
      bench.store.broken = true;
      expect(await running).toEqual({ ok: false, reason: "unavailable" });
      expect(bench.idp.calls.refresh).toBe(1);
      bench.store.broken = false;
      expect(await refresh()).toMatchObject({ ok: true });
      expect(bench.idp.calls.refresh).toBe(1);
      expect(await refresh()).toMatchObject({ ok: true });
      expect(bench.idp.calls.refresh).toBe(2);
    });
  });

  describe("with claims only at the userinfo endpoint", () => {
    beforeEach(() => begin({ idp: { claimsInIdToken: false } }));

    it("keeps new tokens if userinfo fails, and reads the claims again soon", async () => {
      bench.idp.update("u-alice", { groups: ["moved"] });
      bench.idp.failUserInfo(true);
      expect(await refresh()).toEqual({ ok: false, reason: "unavailable" });
      expect(await isOpen()).toBe(true);
      bench.idp.failUserInfo(false);
      bench.clock.advance(60_000);
      expect(await groupsSeen()).toEqual(["moved"]);
      expect(bench.idp.calls.refresh).toBe(2);
    });
  });

  describe("in general", () => {
    beforeEach(() => begin());

    it("brings changed claims with a higher version, and keeps the version of unchanged ones", async () => {
      const before = await bench.session.identities.find("u-alice");
      expect((await refresh()).ok && (await bench.session.identities.find("u-alice"))?.version).toBe(before?.version);
      bench.idp.update("alice@example.com", { groups: ["sales"], name: "Alice Other" });
      const after = await refresh();
      expect(after).toMatchObject({ ok: true, user: { groups: ["sales"], name: "Alice Other" } });
      expect(after.ok && after.user.version).toBeGreaterThan(before?.version ?? Infinity);
    });

    it("is refused for unknown users", async () => {
      expect(await bench.session.identities.refresh("nobody")).toEqual({ ok: false, reason: "refused" });
      expect(bench.idp.calls.refresh).toBe(0);
    });

    it.each([
      ["a disabled account", () => bench.idp.disable("u-alice")],
      ["a revoked refresh token", () => bench.idp.revokeRefreshTokens("u-alice")],
    ])("is refused for %s, which ends the user's sessions and grants", async (_what, change) => {
      await bench.store.store.put("grant:g1", { userId: "u-alice" }, { tags: ["user:u-alice"] });
      change();
      expect(await refresh()).toEqual({ ok: false, reason: "refused" });
      expect(await bench.session.identities.find("u-alice")).toBeUndefined();
      expect(bench.session.revocations.isRevoked(["grant:g1"])).toBe(true);
      expect(await bench.store.store.get("grant:g1")).toBeUndefined();
      expect(await isOpen()).toBe(false);
      const record = await stored();
      expect([record?.refreshToken, record?.accessToken, record?.idToken]).toEqual([undefined, undefined, undefined]);
    });

    it("is not refused for ever: the same user may sign in again", async () => {
      bench.idp.disable("u-alice");
      await refresh();
      expect(await isOpen()).toBe(false);
      bench.idp.enable("u-alice");
      await browser.signIn(`${APP}/`, "alice@example.com");
      expect(await isOpen()).toBe(true);
      expect(await refresh()).toMatchObject({ ok: true });
      const found = await principal();
      expect(bench.session.revocations.isRevoked(found.revocationKeys)).toBe(false);
    });

    it("is unavailable without side effects while the provider is unavailable", async () => {
      const before = await stored();
      bench.idp.pause();
      expect(await refresh()).toEqual({ ok: false, reason: "unavailable" });
      expect(await stored()).toEqual(before);
      expect(await isOpen()).toBe(true);
      bench.idp.resume();
      expect(await refresh()).toMatchObject({ ok: true });
    });

    it("is unavailable while the store is", async () => {
      bench.store.broken = true;
      expect(await refresh()).toEqual({ ok: false, reason: "unavailable" });
      expect(bench.idp.calls.refresh).toBe(0);
    });

    it("signs no user out for a mistake in our configuration", async () => {
      bench.configure(benchConfig(bench.idp.issuer).replace(/idp_client_secret: .*/, "idp_client_secret: wrong"));
      expect(await refresh()).toEqual({ ok: false, reason: "unavailable" });
      expect(await isOpen()).toBe(true);
    });

    it("never sends a token to another provider than the one it came from", async () => {
      bench.configure(benchConfig(bench.idp.issuer.replace("127.0.0.1", "localhost")));
      expect(await refresh()).toEqual({ ok: false, reason: "refused" });
      expect(bench.idp.calls.refresh).toBe(0);
    });
  });
});

describe("changes at the provider affect decisions", () => {
  it("before an access token of one hour is renewed: within the promised interval", async () => {
    await begin();
    bench.idp.update("u-alice", { groups: ["fired"] });
    bench.clock.advance((MAX_CONFIRM_SECONDS - 30) * 1000);
    expect(await groupsSeen()).toEqual(["admins", "engineering"]);
    bench.clock.advance(100_000);
    expect(await groupsSeen()).toEqual(["fired"]);
  });

  it("in the background while the token is valid, before the response after its expiry", async () => {
    await begin({ idp: { accessTokenSeconds: 300 } });
    bench.idp.update("u-alice", { groups: ["moved"] });
    bench.clock.advance(245_000);
    expect(await groupsSeen()).toEqual(["admins", "engineering"]);
    // Decisions cache a user for HARD_MS: a request before the response is stored caches the old groups.
    await expect.poll(async () => (await stored())?.groups).toEqual(["moved"]);
    expect(bench.idp.calls.refresh).toBe(1);
    bench.clock.advance(HARD_MS);
    expect(await groupsSeen()).toEqual(["moved"]);
    bench.idp.disable("u-alice");
    bench.clock.advance(3_600_000);
    expect(await isOpen()).toBe(false);
  });

  it("not for a session that has ended, whose user is read together with it", async () => {
    await begin({ idp: { accessTokenSeconds: 300 } });
    bench.clock.advance(3_600_000);
    const [session] = await bench.store.store.list("sessions");
    await bench.store.store.delete(session?.key ?? "");
    expect(await isOpen()).toBe(false);
    expect(bench.idp.calls.refresh).toBe(0);
  });

  it("not while the provider is unavailable: sessions continue until they expire, without a provider request each time", async () => {
    await begin({ idp: { accessTokenSeconds: 300 } });
    bench.idp.pause();
    for (let minute = 0; minute < 10; minute += 1) {
      bench.clock.advance(60_000);
      for (let request = 0; request < 5; request += 1) expect(await isOpen()).toBe(true);
    }
    expect(bench.idp.calls.cut).toBeGreaterThan(0);
    expect(bench.idp.calls.cut).toBeLessThanOrEqual(10);
    expect(bench.logged()).toContain("cannot confirm user with identity provider");
    bench.clock.advance(14 * 3_600_000);
    expect(await isOpen()).toBe(false);
  });
});

it("reports a provider that grants no refresh token, once", async () => {
  await begin({ idp: { issuesRefreshTokens: false } });
  await bench.browser().signIn(`${APP}/`, "bob@example.com");
  const reports = bench
    .logged()
    .split("\n")
    .filter((line) => line.includes("no refresh token from"));
  expect(reports).toHaveLength(1);
  expect(JSON.parse(reports[0] ?? "")).toMatchObject({ level: 40, idp: "default" });
});

it("reports nothing if the provider issues refresh tokens", async () => {
  await begin();
  expect(bench.logged()).not.toContain("no refresh token from");
});

describe("the provider's tokens", () => {
  it("are sealed at rest, and the newest are returned", async () => {
    await begin({ idp: { rotateRefreshTokens: true } });
    const before = await bench.session.authenticator.providerTokens(await principal());
    expect(before.idToken.split(".")).toHaveLength(3);
    const records = JSON.stringify(await bench.store.store.list("user:u-alice"));
    for (const token of [before.accessToken, before.idToken]) expect(records).not.toContain(token);
    // With the dot between its parts: the first letters alone occasionally occur in sealed bytes.
    expect(records).not.toMatch(/eyJ[\w-]+\.eyJ/);
    await refresh();
    bench.clock.advance(20_000);
    const after = await bench.session.authenticator.providerTokens(await principal());
    expect(after.accessToken).not.toBe(before.accessToken);
  });
});

async function principal() {
  const cookie = browser.jar.header(new URL(APP), { crossSite: false, topLevelGet: true }) ?? "";
  const headerValues = (name: string): string[] => (name === "cookie" ? [cookie] : []);
  const exchange = { host: "app.example.com", remoteAddress: "192.0.2.1", header: () => undefined, headerValues };
  const found = await bench.session.authenticator.cookie(exchange as never);
  if (!found.ok) throw new Error(found.reason);
  return found.principal;
}
