/**
 * Global token revocation by companies, attackers and thieves: it ends all access of a user, or none.
 *
 * @see draft-parecki-oauth-global-token-revocation
 */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { GLOBAL_REVOCATION_PATH } from "../../runtime/identity/logout/global-revocation.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { type Answer, createSend } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { createTestClock } from "../support/clock.ts";
import { logoutClaims, signLogout } from "../support/logout-tokens.ts";
import {
  APP,
  AUTH,
  benchConfig,
  type Replica,
  type SessionBench,
  startSessionBench,
} from "../support/session-bench.ts";
import type { Browser } from "../support/scripted-browser.ts";

type Claims = Readonly<Record<string, unknown>>;

const ENDPOINT = AUTH + GLOBAL_REVOCATION_PATH;
const ORG = "https://org.okta.example.com";
let bench: SessionBench;
let other: Replica;
let key: SigningKey;
let stranger: SigningKey;
/** Happens while a record is on its way to the store. */
let beforePut: ((name: string) => Promise<void>) | undefined;

function watchedStore(): Store {
  const store = createMemoryStore({ clock: createTestClock(Date.now()) });
  const put: Store["put"] = async (name, value, options) => {
    await beforePut?.(name);
    return store.put(name, value, options);
  };
  return Object.create(store, { put: { value: put, configurable: true } });
}

beforeAll(async () => {
  [key, stranger, bench] = await Promise.all([
    makeSigningKey("ES256", "org"),
    makeSigningKey("ES256", "org"),
    startSessionBench({ store: watchedStore() }),
  ]);
  other = await bench.replica();
  const jwks = `jwks: '${JSON.stringify({ keys: [key.jwk] })}'`;
  const entries = `{ staff: { issuer: "${bench.idp.issuer}", uses: [logout], ${jwks} }, org: { issuer: "${ORG}", uses: [logout], email_domains: [example.com], ${jwks} }, jag: { issuer: "https://jag.example.com", uses: [id_jag], ${jwks} } }`;
  bench.configure(benchConfig(bench.idp.issuer, `identity_issuers: ${entries}`));
});
afterAll(() => bench?.close());

/** Claims of a good bearer of the organisation. */
const claimsOf = (claims: Claims = {}): Record<string, unknown> =>
  logoutClaims(ORG, bench.clock.now(), { aud: ENDPOINT, events: undefined, ...claims });
const bearer = (claims: Claims = {}, header: Claims = {}, by = key): Promise<string> =>
  signLogout(claimsOf(claims), by, { typ: "global-token-revocation+jwt", ...header });
const byEmail = (email: string): unknown => ({ sub_id: { format: "email", email } });
const bySub = (sub: string, iss = bench.idp.issuer): unknown => ({ sub_id: { format: "iss_sub", iss, sub } });
const ofStaff = (): Promise<string> => bearer({ iss: bench.idp.issuer });

function post(port: number, token: string, body: unknown, headers: Claims = {}): Promise<Answer> {
  return createSend({ via: port })({
    method: "POST",
    url: ENDPOINT,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function signIn(user = "alice@example.com"): Promise<Browser> {
  const browser = bench.browser();
  expect((await browser.signIn(`${APP}/`, user)).status).toBe(200);
  return browser;
}
const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.open(`${APP}/`, { follow: false })).status === 200;

/** Provider events count again from the next second on; its clock has seconds of real time. */
async function untilNextSecond(): Promise<void> {
  const said = Math.max(Math.floor(bench.clock.now() / 1000), Math.floor(Date.now() / 1000));
  await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(said);
}

describe("a good revocation", () => {
  test.each<[string, () => Promise<string>, () => unknown]>([
    ["by e-mail address of a domain of the entry", () => bearer(), () => byEmail("Alice@Example.com")],
    ["by issuer and subject", ofStaff, () => bySub("u-alice")],
  ])(
    "%s revokes everything of the user, deletes the provider's tokens, and requires a sign-in",
    async (_, token, body) => {
      const [one, two, bob] = [await signIn(), await signIn(), await signIn("bob@example.com")];
      const answer = await post(other.port, await token(), body());
      expect([answer.status, answer.text, answer.headers["cache-control"]]).toEqual([204, "", "no-store"]);
      await expect.poll(() => Promise.all([one, two, bob].map(isSignedIn))).toEqual([false, false, true]);
      const identity = await bench.store.store.get<Record<string, unknown>>("identity:u-alice");
      expect(identity?.value["refusedAt"]).toBeTypeOf("number");
      expect(identity?.value).not.toHaveProperty("refreshToken");
      expect(identity?.value).not.toHaveProperty("accessToken");
      expect(await bench.session.identities.find("u-alice")).toBeUndefined();
      expect(bench.logged()).toContain("access of user ended by issuer");
      await untilNextSecond();
      expect(await isSignedIn(await signIn())).toBe(true);
    },
  );

  test("finds users by address who signed in before addresses were tagged", async () => {
    const browser = await signIn();
    const stored = await bench.store.store.get<Record<string, unknown>>("identity:u-alice");
    await bench.store.store.put("identity:u-alice", stored?.value, { tags: ["user:u-alice"] });
    expect((await post(bench.firstPort, await bearer(), byEmail("alice@example.com"))).status).toBe(204);
    expect(await isSignedIn(browser)).toBe(false);
    await untilNextSecond();
  });

  test("counts once across all replicas, and can be repeated while the store is unavailable", async () => {
    const browser = await signIn();
    const token = await ofStaff();
    bench.store.broken = true;
    const away = await post(bench.firstPort, token, bySub("u-alice"));
    bench.store.broken = false;
    expect([away.status, away.json(), away.headers["retry-after"]]).toEqual([
      503,
      { error: "temporarily_unavailable" },
      "5",
    ]);
    expect(await isSignedIn(browser)).toBe(true);
    const answers = await Promise.all(
      [bench.firstPort, other.port, other.port].map((port) => post(port, token, bySub("u-alice"))),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    for (const { status } of answers) expect([204, 401, 503]).toContain(status);
    expect((await post(bench.firstPort, token, bySub("u-alice"))).status).toBe(401);
    expect(await isSignedIn(browser)).toBe(false);
    await untilNextSecond();
  });
});

test.each([
  ["tokens", 1],
  ["claims", 2],
])("a refresh that is about to store %s restores nothing deleted meanwhile", async (_, turn) => {
  await signIn();
  let puts = 0;
  beforePut = async (name) => {
    if (name !== "identity:u-alice" || ++puts !== turn) return;
    beforePut = undefined;
    expect((await post(other.port, await ofStaff(), bySub("u-alice"))).status).toBe(204);
  };
  expect(await bench.session.identities.refresh("u-alice")).toEqual({ ok: false, reason: "refused" });
  expect(beforePut).toBeUndefined();
  const identity = await bench.store.store.get<Record<string, unknown>>("identity:u-alice");
  expect(identity?.value["refusedAt"]).toBeTypeOf("number");
  expect(identity?.value).not.toHaveProperty("refreshToken");
  expect(identity?.value).not.toHaveProperty("accessToken");
  expect(await bench.session.identities.refresh("u-alice")).toEqual({ ok: false, reason: "refused" });
  await untilNextSecond();
});

describe("rejected, and revokes nothing:", () => {
  let alice: Browser;
  beforeAll(async () => {
    alice = await signIn();
  });
  const expectRefused = async (answer: Answer, status: number, error: string): Promise<void> => {
    expect([answer.status, answer.json()]).toEqual([status, { error }]);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.setCookies).toEqual([]);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? 'Bearer error="invalid_token"' : undefined);
    expect(await isSignedIn(alice)).toBe(true);
  };
  const seconds = (): number => Math.floor(bench.clock.now() / 1000);

  test.each<[string, () => Promise<string>]>([
    ["typ of a logout token", () => bearer({}, { typ: "logout+jwt" })],
    ["typ JWT", () => bearer({}, { typ: "JWT" })],
    ["typ left out", () => bearer({}, { typ: undefined })],
    ["aud of a client", () => bearer({ aud: "gateway" })],
    ["aud of the gateway", () => bearer({ aud: AUTH })],
    ["aud of the other endpoint", () => bearer({ aud: `${AUTH}/.gateway/backchannel_logout` })],
    ["aud with others beside", () => bearer({ aud: [ENDPOINT, "https://other.example.com"] })],
    ["no aud", () => bearer({ aud: undefined })],
    ["iss of nobody", () => bearer({ iss: "https://nobody.example.com" })],
    ["iss that is trusted with other things", () => bearer({ iss: "https://jag.example.com" })],
    ["no iat", () => bearer({ iat: undefined })],
    ["iat of long ago", () => bearer({ iat: seconds() - 331, exp: seconds() + 600 })],
    ["iat ahead", () => bearer({ iat: seconds() + 31, exp: seconds() + 600 })],
    ["no exp", () => bearer({ exp: undefined })],
    ["exp past", () => bearer({ iat: seconds() - 100, exp: seconds() - 30 })],
    ["no jti", () => bearer({ jti: undefined })],
    ["a nonce", () => bearer({ nonce: "n" })],
    ["the key of somebody else", () => bearer({}, {}, stranger)],
    ["nothing that is a token", async () => "secret"],
  ])("401: %s", async (_, token) => {
    await expectRefused(await post(bench.firstPort, await token(), byEmail("alice@example.com")), 401, "invalid_token");
  });

  test("401: no bearer, or another scheme", async () => {
    const token = await bearer();
    for (const authorization of ["", `Basic ${token}`, token, `Bearer ${token} x`])
      await expectRefused(
        await post(bench.firstPort, "", byEmail("alice@example.com"), { authorization }),
        401,
        "invalid_token",
      );
  });

  test.each<[string, unknown, Claims]>([
    ["no JSON", "{", {}],
    ["no object", [], {}],
    ["empty", "", {}],
    ["without a subject", {}, {}],
    ["subject as text", { sub_id: "alice@example.com" }, {}],
    ["no format", { sub_id: { email: "alice@example.com" } }, {}],
    ["no address", { sub_id: { format: "email" } }, {}],
    ["no subject", { sub_id: { format: "iss_sub", iss: ORG } }, {}],
    ["another type", byEmail("alice@example.com"), { "content-type": "text/plain" }],
    ["compressed", byEmail("alice@example.com"), { "content-encoding": "gzip" }],
    ["too long", { ...(byEmail("alice@example.com") as object), more: "x".repeat(20_000) }, {}],
  ])("400: %s", async (_, body, headers) => {
    await expectRefused(await post(bench.firstPort, await bearer(), body, headers), 400, "invalid_request");
  });

  test("403: users of other issuers", async () => {
    const { firstPort } = bench;
    await expectRefused(await post(firstPort, await bearer(), byEmail("carol@other.example")), 403, "access_denied");
    await expectRefused(await post(firstPort, await ofStaff(), byEmail("alice@example.com")), 403, "access_denied");
    await expectRefused(await post(firstPort, await bearer(), bySub("u-alice")), 403, "access_denied");
    await expectRefused(await post(firstPort, await ofStaff(), bySub("u-alice", ORG)), 403, "access_denied");
  });

  test("404: unknown users, and another issuer's user with the same name", async () => {
    const { firstPort } = bench;
    await expectRefused(await post(firstPort, await bearer(), byEmail("nobody@example.com")), 404, "user_not_found");
    await expectRefused(await post(firstPort, await ofStaff(), bySub("u-nobody")), 404, "user_not_found");
    await expectRefused(await post(firstPort, await bearer(), bySub("u-alice", ORG)), 404, "user_not_found");
    await expectRefused(await post(firstPort, await ofStaff(), bySub("service-account:ci")), 404, "user_not_found");
  });

  test("422: formats that it does not know", async () => {
    const body = { sub_id: { format: "opaque", id: "u-alice" } };
    await expectRefused(await post(bench.firstPort, await bearer(), body), 422, "unsupported_subject");
  });

  test("nothing of a bearer is logged", async () => {
    const marked = `mark-${randomUUID()}`;
    const token = await bearer({ jti: marked });
    await post(bench.firstPort, token, byEmail("nobody@example.com"));
    await post(bench.firstPort, token, byEmail("nobody@example.com"));
    for (const part of [marked, ...token.split(".")]) expect(bench.logged()).not.toContain(part);
    expect(bench.logged()).toContain("jti used before");
  });
});

test("a sign-in from before brings no tokens of the provider back", async () => {
  await signIn("bob@example.com");
  // As after an earlier sign-in: the revocation is newer.
  const now = Math.floor(bench.clock.now() / 1000);
  const later = { iss: bench.idp.issuer, iat: now + 25, exp: now + 60 };
  expect((await post(bench.firstPort, await bearer(later), bySub("u-bob"))).status).toBe(204);
  expect((await bench.browser().signIn(`${APP}/`, "bob@example.com")).status).toBe(403);
  const identity = await bench.store.store.get<Record<string, unknown>>("identity:u-bob");
  expect(identity?.value["refusedAt"]).toBeTypeOf("number");
  expect(identity?.value).not.toHaveProperty("refreshToken");
});
