import { beforeEach, describe, expect, it, vi } from "vitest";

import { POLL_MS } from "../../support/limits.ts";
import type { Exchange } from "../../../runtime/http/exchange.ts";
import { fixedSnapshot } from "../../support/pipeline.ts";
import { createKeys, randomSecret } from "../../../runtime/shared/keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { epochSeconds } from "../../../runtime/shared/clock.ts";
import { createApplicationTokens } from "../../../runtime/identity/tokens/application-token.ts";
import { createAuthenticator, HARD_MS } from "../../../runtime/identity/authenticate.ts";
import { createCookies, stepCookieName } from "../../../runtime/identity/cookie.ts";
import {
  applicationAudience,
  audienceAllows,
  createExternalTokens,
  type ExternalTokenClaims,
  type TokenAudience,
} from "../../../runtime/identity/external-token.ts";
import type { AuthResult, Principal, User } from "../../../runtime/identity/principal.ts";
import { createRecords } from "../../../runtime/identity/identity-records.ts";
import { createRevocations } from "../../../runtime/identity/revocations.ts";
import type { Authenticator } from "../../../runtime/identity/interfaces.ts";
import { findSite } from "../../../runtime/identity/sites.ts";
import { createTickets } from "../../../runtime/identity/sign-in/ticket.ts";
import { WITHOUT_STORE_MS } from "../../../runtime/store/watch/store-health.ts";
import { createTestClock } from "../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../support/config.ts";
import { createBreakableStore } from "../../support/store.ts";
import { userId } from "../../support/users.ts";

const ORIGIN = "https://mcp.example.com";
const GITHUB: TokenAudience = { resource: `${ORIGIN}/github/mcp`, origin: ORIGIN };
const OTHER: TokenAudience = { resource: "https://other.example.com/mcp", origin: "https://other.example.com" };
const CLIENT = "https://agent.example.com";
const list = (origin: string): TokenAudience => ({ resource: `${origin}/.gateway/mcp/routes`, origin });

const clock = createTestClock();
const keys = createKeys([Buffer.alloc(32, 1)]);
const snapshot = snapshotFrom(`
routes:
  - { name: agent, from: ${CLIENT}, to: "http://127.0.0.1:9", policy: [{ allow: { or: [{ accept: true }] } }] }
  - { name: wiki, from: https://wiki.example.com, to: "http://127.0.0.1:9", policy: [{ allow: { or: [{ accept: true }] } }] }
`);
const settings = snapshot.settings.cookie;
const externalTokens = createExternalTokens({ keys, clock });
const cookies = createCookies({ keys, clock });

let store: ReturnType<typeof createBreakableStore>;
let users: Map<string, User>;
let authenticator: Authenticator;
let revocations: ReturnType<typeof createRevocations>;
const alice: User = { id: userId("u-alice"), email: "a@example.com", name: "A", groups: [], claims: {}, version: 1 };

beforeEach(async () => {
  store = createBreakableStore(clock);
  users = new Map([[alice.id, alice]]);
  const snapshots = fixedSnapshot(snapshot);
  revocations = createRevocations({ store: store.store, clock, log: silentLog(), longestLifetime: () => 3600 });
  authenticator = createAuthenticator({
    store: store.store,
    records: createRecords(store.store),
    snapshots,
    identities: {
      load: async (id) => {
        await store.store.get(`identity:${id}`);
        return users.get(id);
      },
      providerTokens: () => Promise.resolve({ accessToken: "", idToken: "" }),
    },
    externalTokens,
    cookies,
    revocations,
    clock,
    log: silentLog(),
  });
  const tags = ["user:u-alice"];
  await store.store.put("session:s1", { userId: alice.id, createdAt: 0 }, { expiresAt: now() + 50_000, tags });
  await store.store.put("grant:g1", { userId: alice.id }, { expiresAt: now() + 50_000, tags: [...tags, "client:c1"] });
  return () => revocations.close();
});

const now = (): number => epochSeconds(clock);
const grantToken = (claims: Partial<ExternalTokenClaims> = {}): string =>
  externalTokens.mint({
    kind: "grant",
    userId: alice.id,
    grantId: "g1",
    clientId: "c1",
    audience: GITHUB.resource,
    expiresAt: now() + 40_000,
    ...claims,
  });

function request(host: string, cookie?: string): Exchange {
  const headerValues = (name: string) => (name === "cookie" && cookie !== undefined ? [cookie] : []);
  return { host, remoteAddress: "192.0.2.1", header: () => undefined, headerValues } as unknown as Exchange;
}
const site = (host: string) => findSite(snapshot, host) ?? expect.unreachable();
function sessionCookie(host = "agent.example.com", sessionId = "s1", expiresAt = now() + 40_000): string {
  return cookies.setSession({ sessionId, userId: alice.id, expiresAt }, site(host), settings).split(";")[0] ?? "";
}
async function reason(result: AuthResult | Promise<AuthResult>): Promise<string> {
  const settled = await result;
  return settled.ok ? "ok" : settled.reason;
}
async function principal(result: AuthResult | Promise<AuthResult>): Promise<Principal> {
  const settled = await result;
  if (!settled.ok) throw new Error(settled.reason);
  return settled.principal;
}

describe("Authenticator", () => {
  it("answers a warm credential synchronously, without touching the store", async () => {
    const token = grantToken();
    const exchange = request("agent.example.com", sessionCookie());
    await authenticator.bearer(token, GITHUB);
    await authenticator.cookie(exchange);
    store.calls.length = 0;
    expect(authenticator.bearer(token, GITHUB)).toMatchObject({ ok: true, principal: { kind: "grant", sid: "g1" } });
    expect(authenticator.cookie(exchange)).toMatchObject({ ok: true, principal: { kind: "session", sid: "s1" } });
    expect(store.calls).toEqual([]);
  });

  it("reads records in the background when they grow old, and waits for them when they are older", async () => {
    const token = grantToken();
    await authenticator.bearer(token, GITHUB);
    users.set(alice.id, { ...alice, version: 2, groups: ["new"] });
    clock.advance(HARD_MS - 1);
    expect(authenticator.bearer(token, GITHUB)).toMatchObject({ principal: { user: { version: 1 } } });
    await vi.waitFor(
      () => expect(authenticator.bearer(token, GITHUB)).toMatchObject({ principal: { user: { version: 2 } } }),
      { timeout: POLL_MS },
    );
    users.set(alice.id, { ...alice, version: 3 });
    clock.advance(HARD_MS);
    const read = authenticator.bearer(token, GITHUB);
    expect(read).toBeInstanceOf(Promise);
    expect((await principal(read)).user.version).toBe(3);
  });

  it("reads again after a clock that was hours ahead is set back, and is not valid any longer without the store", async () => {
    const hours = 3 * 3600_000;
    const token = grantToken();
    clock.advance(hours);
    await authenticator.bearer(token, GITHUB);
    clock.advance(-hours);
    users.set(alice.id, { ...alice, version: 2 });
    expect((await principal(authenticator.bearer(token, GITHUB))).user.version).toBe(2);
    clock.advance(hours);
    await authenticator.bearer(token, GITHUB);
    clock.advance(-hours);
    store.broken = true;
    expect((await principal(authenticator.bearer(token, GITHUB))).user.version).toBe(2);
    clock.advance(WITHOUT_STORE_MS);
    expect(await authenticator.bearer(token, GITHUB)).toMatchObject({ ok: false, reason: "unavailable" });
  });

  it("returns the same principal until claims change", async () => {
    const token = grantToken();
    const first = await principal(authenticator.bearer(token, GITHUB));
    clock.advance(HARD_MS);
    expect(await principal(authenticator.bearer(token, GITHUB))).toBe(first);
    users.set(alice.id, { ...alice, version: 2 });
    clock.advance(HARD_MS);
    expect(await principal(authenticator.bearer(token, GITHUB))).not.toBe(first);
  });

  it("reads once for parallel requests with a credential that is new or grew old", async () => {
    const token = grantToken();
    await authenticator.bearer(token, GITHUB);
    clock.advance(HARD_MS);
    store.calls.length = 0;
    const ask = async (text: string) => authenticator.bearer(text, GITHUB);
    await Promise.all([1, 2, 3, 4].map(() => ask(token)));
    expect(store.calls).toEqual(["get", "get"]);
    const cold = grantToken({ clientId: "c2" });
    await Promise.all([1, 2, 3, 4].map(() => ask(cold)));
    expect(store.calls).toEqual(["get", "get", "get", "get"]);
  });

  it("reads everything about a credential at once", async () => {
    store.calls.length = 0;
    const results = [
      authenticator.bearer(grantToken(), GITHUB),
      authenticator.cookie(request("agent.example.com", sessionCookie())),
    ];
    // A grant and a session, and the user of each.
    expect(store.calls).toEqual(["get", "get", "get", "get"]);
    for (const result of results) expect(await reason(result)).toBe("ok");
    expect(store.calls).toHaveLength(4);
  });

  it("rejects a credential after its expiry, or without its session or grant record", async () => {
    const short = grantToken({ expiresAt: now() + 60 });
    const cookie = sessionCookie();
    await authenticator.bearer(short, GITHUB);
    expect((await principal(authenticator.cookie(request("agent.example.com", cookie)))).expiresAt).toBe(
      now() + 40_000,
    );
    clock.advance(60_000);
    expect(await reason(authenticator.bearer(short, GITHUB))).toBe("expired");
    expect(await reason(authenticator.bearer(short, GITHUB))).toBe("expired");
    await store.store.delete("session:s1");
    expect(await reason(authenticator.cookie(request("agent.example.com", cookie)))).toBe("revoked");
  });

  it("takes no session on the plain listener next to the TLS one", async () => {
    for (const routedHost of ["agent.example.com:80", "agent.example.com"]) {
      const exchange = { ...request("agent.example.com", sessionCookie()), routedHost };
      expect(await reason(authenticator.cookie(exchange))).toBe("missing");
    }
  });

  it.each(["session:s1", "user:u-alice"])("rejects a cookie immediately when %s is revoked", async (key) => {
    const exchange = request("agent.example.com", sessionCookie());
    expect(await reason(authenticator.cookie(exchange))).toBe("ok");
    await revocations.revoke(key);
    expect(await reason(authenticator.cookie(exchange))).toBe("revoked");
    expect(await reason(authenticator.cookie(exchange))).toBe("revoked");
  });

  it.each(["grant:g1", "client:c1", "user:u-alice"])("rejects a token immediately when %s is revoked", async (key) => {
    const token = grantToken();
    expect(await reason(authenticator.bearer(token, GITHUB))).toBe("ok");
    await revocations.revoke(key);
    expect(await reason(authenticator.bearer(token, GITHUB))).toBe("revoked");
  });

  it("after a change of groups, reads only that user's records again", async () => {
    const token = grantToken();
    const exchange = request("agent.example.com", sessionCookie());
    await authenticator.bearer(token, GITHUB);
    await authenticator.cookie(exchange);
    users.set(alice.id, { ...alice, version: 2, groups: [] });
    await revocations.change(["user:somebody-else"]);
    expect(authenticator.bearer(token, GITHUB)).toMatchObject({ principal: { user: { version: 1 } } });
    await revocations.change([`user:${alice.id}`]);
    for (const result of [authenticator.bearer(token, GITHUB), authenticator.cookie(exchange)]) {
      expect(result).toBeInstanceOf(Promise);
      expect((await principal(result)).user.version).toBe(2);
    }
    expect(authenticator.bearer(token, GITHUB)).not.toBeInstanceOf(Promise);
  });

  it("a revocation of one user causes no store access for others", async () => {
    const token = grantToken();
    await authenticator.bearer(token, GITHUB);
    await revocations.revoke("session:s1");
    store.calls.length = 0;
    expect(authenticator.bearer(token, GITHUB)).toMatchObject({ ok: true });
    expect(store.calls).toEqual([]);
  });

  it("rejects a deleted user", async () => {
    users.clear();
    expect(await reason(authenticator.bearer(grantToken(), GITHUB))).toBe("unknown-user");
    expect(await reason(authenticator.cookie(request("agent.example.com", sessionCookie())))).toBe("unknown-user");
  });

  it("never takes a token for another user than its session's", async () => {
    users.set("u-bob", { ...alice, id: userId("u-bob") });
    const token = externalTokens.mint({
      kind: "application",
      userId: userId("u-bob"),
      sessionId: "s1",
      audience: applicationAudience(CLIENT),
      expiresAt: now() + 300,
    });
    expect(await reason(authenticator.bearer(token, GITHUB))).toBe("malformed");
  });

  describe("while the store is unavailable", () => {
    it("verified credentials stay valid for a limited time, all others are rejected", async () => {
      const token = grantToken();
      const exchange = request("agent.example.com", sessionCookie());
      await authenticator.bearer(token, GITHUB);
      await authenticator.cookie(exchange);
      store.broken = true;
      for (let passed = 0; passed + 15_000 < WITHOUT_STORE_MS; passed += 15_000) {
        clock.advance(15_000);
        expect(await reason(authenticator.bearer(token, GITHUB))).toBe("ok");
        expect(await reason(authenticator.cookie(exchange))).toBe("ok");
      }
      expect(await reason(authenticator.bearer(grantToken({ clientId: "c2" }), GITHUB))).toBe("unavailable");
      clock.advance(30_000);
      expect(await reason(authenticator.bearer(token, GITHUB))).toBe("unavailable");
      expect(await reason(authenticator.cookie(exchange))).toBe("unavailable");
      store.broken = false;
      expect(await reason(authenticator.bearer(token, GITHUB))).toBe("ok");
    });

    it("credentials still expire, and revocations in this process apply", async () => {
      const token = grantToken({ expiresAt: now() + 60 });
      const other = grantToken({ clientId: "c2" });
      await authenticator.bearer(token, GITHUB);
      await authenticator.bearer(other, GITHUB);
      store.broken = true;
      clock.advance(60_000);
      expect(await reason(authenticator.bearer(token, GITHUB))).toBe("expired");
      await expect(revocations.revoke("grant:g1")).rejects.toThrow();
      expect(await reason(authenticator.bearer(other, GITHUB))).toBe("revoked");
    });
  });

  it("denies when anything in the way throws", async () => {
    vi.spyOn(store.store, "get").mockRejectedValue(new TypeError("a bug"));
    expect(await reason(authenticator.bearer(grantToken(), GITHUB))).toBe("unavailable");
    expect(await reason(authenticator.cookie(request("agent.example.com", sessionCookie())))).toBe("unavailable");
  });
});

describe("each credential is valid only for its own kind of route", () => {
  const tickets = createTickets({ keys, clock });
  const agent = site("agent.example.com");
  const nonce = cookies.setBegun(agent, settings, "sign_in", "signin1").split(";")[0] ?? "";
  const value = (pair: string): string => pair.slice(pair.indexOf("=") + 1);

  it("as a bearer token", async () => {
    const foreign = createExternalTokens({ keys: createKeys([Buffer.alloc(32, 2)]), clock });
    const claims = {
      kind: "grant",
      userId: alice.id,
      grantId: "g1",
      audience: GITHUB.resource,
      expiresAt: now() + 60,
    } as const;
    const good = grantToken();
    const cases = [
      value(sessionCookie()),
      `gwt_${value(sessionCookie())}`,
      `gwt_${value(nonce)}`,
      `gwt_${tickets.seal({ signInId: "x", host: "h", returnTo: "/", expiresAt: now() + 60 })}`,
      `gwt_${keys.sealer("refresh-token").seal("{}", "te")}`,
      foreign.mint(claims),
      good.slice(4),
      good.toUpperCase(),
      `${good}=`,
      `${good} `,
      good.slice(0, -1),
      `gwt_`,
      "",
      `gwt_${"a".repeat(10_000)}`,
      randomSecret(),
    ];
    for (const token of cases)
      expect([token.slice(0, 12), await reason(authenticator.bearer(token, GITHUB))]).toEqual([
        token.slice(0, 12),
        "malformed",
      ]);
  });

  it("as a session cookie", async () => {
    const name = "__Host-gateway_session";
    const wiki = value(sessionCookie("wiki.example.com"));
    for (const text of [
      grantToken(),
      value(nonce),
      wiki,
      "x",
      keys.sealer("csrf").seal("s1 9999999999", "agent.example.com"),
    ]) {
      expect(await reason(authenticator.cookie(request("agent.example.com", `${name}=${text}`)))).toBe("malformed");
    }
    expect(await reason(authenticator.cookie(request("agent.example.com", `${name}=`)))).toBe("missing");
    expect(await reason(authenticator.cookie(request("agent.example.com")))).toBe("missing");
    expect(await reason(authenticator.cookie(request("evil.example", sessionCookie())))).toBe("missing");
    // Without the prefix, a neighbour host could have set it.
    expect(
      await reason(authenticator.cookie(request("agent.example.com", `gateway_session=${value(sessionCookie())}`))),
    ).toBe("missing");
    const twice = `${sessionCookie()}; ${sessionCookie()}`;
    expect(await reason(authenticator.cookie(request("agent.example.com", twice)))).toBe("missing");
    expect(stepCookieName(agent, settings, "sign_in", "signin1")).not.toBe(name);
  });

  it("past its end", async () => {
    const cookie = sessionCookie("agent.example.com", "s1", now() + 30);
    clock.advance(30_000);
    expect(await reason(authenticator.cookie(request("agent.example.com", cookie)))).toBe("malformed");
    expect(await reason(authenticator.bearer(grantToken({ expiresAt: now() }), GITHUB))).toBe("expired");
  });
});

describe("audienceAllows()", () => {
  it.each<[string, string, TokenAudience, boolean]>([
    ["a resource opens itself", GITHUB.resource, GITHUB, true],
    ["a resource opens no other", GITHUB.resource, { ...GITHUB, resource: `${ORIGIN}/github/mcp2` }, false],
    ["a resource opens nothing below it", `${ORIGIN}/github`, GITHUB, false],
    ["an origin opens the resources of its host", ORIGIN, GITHUB, true],
    ["an origin opens no other host", ORIGIN, OTHER, false],
    ["an origin opens no list", CLIENT, list(CLIENT), false],
    ["an application token opens every server", applicationAudience(CLIENT), GITHUB, true],
    ["an application token opens the list of its own host", applicationAudience(CLIENT), list(CLIENT), true],
    ["an application token opens no other list", applicationAudience(CLIENT), list("https://b.example.com"), false],
    ["a look-alike is no application token", `application${CLIENT}`, GITHUB, false],
    ["the empty audience opens nothing", "", GITHUB, false],
  ])("%s", (_what, audience, presentedAt, allowed) => {
    expect(audienceAllows(audience, presentedAt)).toBe(allowed);
  });

  it("is checked at every request, also for a cached token", async () => {
    const token = grantToken();
    expect(await reason(authenticator.bearer(token, GITHUB))).toBe("ok");
    expect(await reason(authenticator.bearer(token, OTHER))).toBe("wrong-audience");
    expect(await reason(authenticator.bearer(token, list(ORIGIN)))).toBe("wrong-audience");
  });
});

describe("ApplicationTokens.mint()", () => {
  const applicationTokens = createApplicationTokens({ externalTokens, snapshots: fixedSnapshot(snapshot), clock });
  const route = routeNamed(snapshot, "agent");

  it("never returns a token with less than four minutes left, and issues at most one per minute", async () => {
    const who = await principal(authenticator.cookie(request("agent.example.com", sessionCookie())));
    const tokens = new Set<string>();
    for (let second = 0; second < 600; second += 1) {
      const token = applicationTokens.mint(who, route);
      const opened = externalTokens.open(token);
      expect(opened.ok && opened.claims.expiresAt - now()).toBeGreaterThanOrEqual(240);
      tokens.add(token);
      clock.advance(1000);
    }
    expect(tokens.size).toBeLessThanOrEqual(11);
  });

  it("makes tokens for MCP servers and the own list, which end with the session", async () => {
    const who = await principal(authenticator.cookie(request("agent.example.com", sessionCookie())));
    const token = applicationTokens.mint(who, route);
    expect(await principal(authenticator.bearer(token, GITHUB))).toMatchObject({
      kind: "application",
      sid: "s1",
      sessionId: "s1",
    });
    expect(await reason(authenticator.bearer(token, list(CLIENT)))).toBe("ok");
    expect(await reason(authenticator.bearer(token, list("https://wiki.example.com")))).toBe("wrong-audience");
    expect(await reason(authenticator.cookie(request("agent.example.com", `__Host-gateway_session=${token}`)))).toBe(
      "malformed",
    );
    await revocations.revoke("session:s1");
    expect(await reason(authenticator.bearer(token, GITHUB))).toBe("revoked");
  });
});
