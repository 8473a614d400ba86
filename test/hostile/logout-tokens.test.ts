/**
 * Logout tokens of providers, attackers and thieves: only an exact logout token for this gateway ends a session, and
 * the response does not show the error.
 *
 * @see OpenID Connect Back-Channel Logout 1.0 §2.6
 */
import { randomUUID } from "node:crypto";

import { CompactSign, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LOGOUT_EVENT } from "../../runtime/identity/logout/logout-claims.ts";
import { hashSecret } from "../../runtime/shared/keys.ts";
import type { Answer } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import {
  CLIENT_WITH_SESSIONS,
  type KnownSession,
  logoutClaims,
  postForm,
  postLogout,
  sessionsOf,
  signLogout,
} from "../support/logout-tokens.ts";
import {
  APP,
  AUTH,
  benchConfig,
  type Replica,
  type SessionBench,
  startSessionBench,
} from "../support/session-bench.ts";
import type { Browser } from "../support/scripted-browser.ts";
import { createSend } from "../support/browser.ts";

type Claims = Readonly<Record<string, unknown>>;

let bench: SessionBench;
let other: Replica;
let key: SigningKey;
let stranger: SigningKey;
/** Session of the last sign-in. */
let newest: KnownSession | undefined;

beforeAll(async () => {
  [key, stranger, bench] = await Promise.all([
    makeSigningKey("ES256", "logout"),
    makeSigningKey("ES256", "logout"),
    startSessionBench({ idp: { clients: [CLIENT_WITH_SESSIONS] } }),
  ]);
  other = await bench.replica();
  trust();
});
afterAll(() => bench?.close());

/** @param more members of the entry in addition to, or instead of, the default ones */
function trust(more = "", uses = "[logout]"): void {
  const jwks = JSON.stringify({ keys: [key.jwk] });
  const entry = `{ issuer: "${bench.idp.issuer}", uses: ${uses}, jwks: '${jwks}'${more} }`;
  bench.configure(benchConfig(bench.idp.issuer, `identity_issuers: { company: ${entry} }`));
}

const claimsOf = (claims: Claims): Record<string, unknown> => logoutClaims(bench.idp.issuer, bench.clock.now(), claims);
const seconds = (): number => Math.floor(bench.clock.now() / 1000);

async function signIn(user = "alice@example.com"): Promise<Browser> {
  const browser = bench.browser();
  const before = new Set((await sessionsOf(bench)).map(({ id }) => id));
  expect((await browser.signIn(`${APP}/`, user)).status).toBe(200);
  newest = (await sessionsOf(bench)).find(({ id }) => !before.has(id));
  return browser;
}

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.open(`${APP}/`, { follow: false })).status === 200;

/** The same text for all errors, after a pause, since errors count against the sender. */
function expectRefused(answer: Answer): void {
  bench.clock.advance(1000);
  expect([answer.status, answer.json()]).toEqual([
    400,
    { error: "invalid_request", error_description: "Invalid logout token" },
  ]);
  expectPlain(answer);
}

function expectPlain({ headers, setCookies }: Answer): void {
  expect(headers["cache-control"]).toBe("no-store");
  expect(setCookies).toEqual([]);
  expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
}

describe("a good logout token", () => {
  test("with sid ends the sessions that were signed in under it, everywhere, and no other of that user", async () => {
    const one = await signIn();
    const first = newest;
    const two = await signIn();
    const answer = await postLogout(other.port, await signLogout(claimsOf({ sub: "u-alice", sid: first?.sid }), key));
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expectPlain(answer);
    await expect.poll(() => isSignedIn(one)).toBe(false);
    expect(await isSignedIn(two)).toBe(true);
    expect(await bench.store.store.get(`session:${first?.id}`)).toBeUndefined();
    // Without its user and its end it is as good (Ory Hydra), and counts once.
    const { sid } = newest ?? {};
    const without = await signLogout(claimsOf({ sid, exp: undefined }), key);
    expect((await postLogout(bench.firstPort, without)).status).toBe(200);
    expect(await isSignedIn(two)).toBe(false);
    expectRefused(await postLogout(bench.firstPort, without));
  });

  test.each([
    ["typ left out", { typ: undefined }],
    ["typ JWT, as providers wrote before there was one", { typ: "JWT" }],
    ["typ as a media type", { typ: "application/logout+jwt" }],
  ])("with only sub ends all sessions of the user and no others: %s", async (_, header) => {
    const [one, two, bob] = [await signIn(), await signIn(), await signIn("bob@example.com")];
    expect(
      (await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-alice" }), key, header))).status,
    ).toBe(200);
    expect(await Promise.all([one, two, bob].map(isSignedIn))).toEqual([false, false, true]);
    expect((await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-bob" }), key))).status).toBe(200);
    // Provider events count again from the next second on.
    await untilNextSecond();
  });

  test("about an unknown user or session is a success, which reveals nothing", async () => {
    for (const claims of [{ sub: "u-nobody" }, { sid: "unknown" }, { sub: "u-alice", sid: "unknown" }]) {
      const answer = await postLogout(bench.firstPort, await signLogout(claimsOf(claims), key));
      expect([answer.status, answer.text]).toEqual([200, ""]);
    }
  });

  test("with another user's sid ends no session", async () => {
    const alice = await signIn();
    const { sid } = newest ?? {};
    expect((await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-bob", sid }), key))).status).toBe(
      200,
    );
    // The provider's session has ended for any user: no sign-in can use it; the earlier session is Alice's.
    expect(await isSignedIn(alice)).toBe(true);
  });

  test("counts once, at all replicas together", async () => {
    const token = await signLogout(claimsOf({ sub: "u-nobody" }), key);
    const answers = await Promise.all(
      [bench.firstPort, other.port, bench.firstPort, other.port].map((port) => postLogout(port, token)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // Those that came meanwhile are to be sent again: it may have failed.
    for (const { status } of answers) expect([200, 400, 503]).toContain(status);
    expectRefused(await postLogout(other.port, token));
  });

  test("that is being carried out elsewhere, or was when a process died, is to be sent again", async () => {
    const jti = randomUUID();
    const token = await signLogout(claimsOf({ sub: "u-nobody", jti }), key);
    const lease = await bench.store.store.lease(
      `logout-token:${hashSecret(JSON.stringify(["back-channel", bench.idp.issuer, jti]))}`,
      30_000,
    );
    const answer = await postLogout(bench.firstPort, token);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    await lease?.release();
    expect((await postLogout(bench.firstPort, token)).status).toBe(200);
  });

  test("that arrives twice does not end later sign-ins", async () => {
    const token = await signLogout(claimsOf({ sub: "u-bob" }), key);
    expect((await postLogout(bench.firstPort, token)).status).toBe(200);
    await untilNextSecond();
    const again = await signIn("bob@example.com");
    expectRefused(await postLogout(bench.firstPort, token));
    expect(await isSignedIn(again)).toBe(true);
  });

  test("gets 503 while the store is unavailable, and is still valid afterwards", async () => {
    const alice = await signIn();
    const token = await signLogout(claimsOf({ sub: "u-alice" }), key);
    bench.store.broken = true;
    const answer = await postLogout(bench.firstPort, token);
    bench.store.broken = false;
    expect([answer.status, answer.json(), answer.headers["retry-after"]]).toEqual([
      503,
      { error: "temporarily_unavailable" },
      "5",
    ]);
    expectPlain(answer);
    expect(await isSignedIn(alice)).toBe(true);
    expect((await postLogout(bench.firstPort, token)).status).toBe(200);
    expect(await isSignedIn(alice)).toBe(false);
    await untilNextSecond();
  });
});

describe("a sign-in in progress while the provider signs the user out", () => {
  test.each([
    ["by sub", () => ({ sub: "u-carol" })],
    ["by sid", () => ({ sid: newest?.sid })],
  ])("brings no session: %s", async (_, claims) => {
    // The first sign-in reveals the sid of the second one, in the same browser.
    const browser = await signIn("carol@other.example");
    const later = { ...claims(), iat: seconds() + 20 };
    expect((await postLogout(bench.firstPort, await signLogout(claimsOf(later), key))).status).toBe(200);
    const page = await browser.open(`${APP}/`);
    expect([page.status, page.url]).toEqual([403, expect.stringContaining(`${AUTH}/.gateway/callback`)]);
    const records = await bench.store.store.list("user:u-carol");
    expect(records.filter(({ key: name }) => name.startsWith("session:"))).toEqual([]);
    bench.clock.advance(3 * 3600_000);
    await bench.store.store.deleteByTag("user:u-carol");
  });
});

describe("rejected, and revokes nothing:", () => {
  let alice: Browser;
  let sid: unknown;
  beforeAll(async () => {
    trust();
    alice = await signIn();
    ({ sid } = newest ?? {});
  });
  const stillThere = async (): Promise<void> => {
    expect(await isSignedIn(alice)).toBe(true);
    const stored = await bench.store.store.list("user:u-alice");
    expect(stored.some(({ key: name }) => name.startsWith("session:"))).toBe(true);
  };

  test.each<[string, () => Claims]>([
    ["iss of nobody", () => ({ iss: "https://elsewhere.example.com" })],
    ["iss with a slash more", () => ({ iss: `${bench.idp.issuer}/` })],
    ["no iss", () => ({ iss: undefined })],
    ["aud of another client", () => ({ aud: "another" })],
    ["aud with others beside", () => ({ aud: ["gateway", "another"] })],
    ["aud that is this endpoint", () => ({ aud: `${AUTH}/.gateway/backchannel_logout` })],
    ["aud empty", () => ({ aud: [] })],
    ["no aud", () => ({ aud: undefined })],
    ["no iat", () => ({ iat: undefined })],
    ["iat as text", () => ({ iat: String(seconds()) })],
    ["iat ahead", () => ({ iat: seconds() + 60, exp: seconds() + 120 })],
    ["iat of long ago, exp far ahead", () => ({ iat: seconds() - 331, exp: seconds() + 3600 })],
    ["iat of long ago, no exp", () => ({ iat: seconds() - 331, exp: undefined })],
    ["exp null", () => ({ exp: null })],
    ["exp past", () => ({ iat: seconds() - 120, exp: seconds() - 30 })],
    ["nbf ahead", () => ({ nbf: seconds() + 60 })],
    ["neither sub nor sid", () => ({ sub: undefined, sid: undefined })],
    ["sub that is no text", () => ({ sub: 7 })],
    ["sub null", () => ({ sub: null })],
    ["sub of a machine", () => ({ sub: "service-account:ci" })],
    ["sub of another issuer's user", () => ({ sub: "issuer:corp/1" })],
    ["empty sub", () => ({ sub: "" })],
    ["sid that is no text", () => ({ sid: [sid] })],
    ["sid empty", () => ({ sid: "" })],
    ["no events", () => ({ events: undefined })],
    ["events as a list", () => ({ events: [LOGOUT_EVENT] })],
    ["events as text", () => ({ events: LOGOUT_EVENT })],
    [
      "another event",
      () => ({ events: { "https://schemas.openid.net/secevent/caep/event-type/session-revoked": {} } }),
    ],
    ["the event as true", () => ({ events: { [LOGOUT_EVENT]: true } })],
    ["the event as a list", () => ({ events: { [LOGOUT_EVENT]: [] } })],
    ["the event null", () => ({ events: { [LOGOUT_EVENT]: null } })],
    ["a nonce", () => ({ nonce: "n" })],
    ["a nonce of null", () => ({ nonce: null })],
    ["no jti", () => ({ jti: undefined })],
    ["an empty jti", () => ({ jti: "" })],
    ["a jti that is no text", () => ({ jti: 1 })],
    ["a jti that is too long", () => ({ jti: "x".repeat(513) })],
  ])("%s", async (_, claims) => {
    const token = await signLogout(claimsOf({ sub: "u-alice", sid, ...claims() }), key);
    expectRefused(await postLogout(bench.firstPort, token));
    await stillThere();
  });

  test.each<[string, () => Promise<string>]>([
    ["typ of an ID-JAG", () => signLogout(good(), key, { typ: "oauth-id-jag+jwt" })],
    ["typ of an access token", () => signLogout(good(), key, { typ: "at+jwt" })],
    ["typ of a security event", () => signLogout(good(), key, { typ: "secevent+jwt" })],
    ["typ of a revocation", () => signLogout(good(), key, { typ: "global-token-revocation+jwt" })],
    ["the key of somebody else", () => signLogout(good(), stranger)],
    ["an unknown kid", () => signLogout(good(), key, { kid: "another" })],
    ["no signature", async () => new UnsecuredJWT(good()).encode()],
    [
      "an HMAC with the public key",
      () =>
        new SignJWT(good())
          .setProtectedHeader({ alg: "HS256", typ: "logout+jwt", kid: "logout" })
          .sign(new TextEncoder().encode(JSON.stringify(key.jwk))),
    ],
    ["its own key in the header", () => signLogout(good(), stranger, { jwk: stranger.jwk, kid: undefined })],
    ["an encrypted form", async () => `${await signLogout(good(), key)}.e.e`],
    [
      "a list for claims",
      () => new CompactSign(Buffer.from("[]")).setProtectedHeader({ alg: "ES256", kid: "logout" }).sign(key.privateKey),
    ],
    ["no text at all", async () => "\u0000"],
    ["far too long", async () => `${await signLogout(good(), key)}${"A".repeat(20_000)}`],
  ])("%s", async (_, token) => {
    expectRefused(await postLogout(bench.firstPort, await token()));
    await stillThere();
  });

  const good = (): Record<string, unknown> => claimsOf({ sub: "u-alice", sid });

  test("forms that are none", async () => {
    const token = await signLogout(good(), key);
    const form = new URLSearchParams({ logout_token: token }).toString();
    for (const [body, headers] of [
      ["", {}],
      ["logout_token=", {}],
      [`${form}&${form}`, {}],
      [form, { "content-type": "application/json" }],
      [form, { "content-encoding": "gzip" }],
      [`${form}&more=${"x".repeat(40_000)}`, {}],
      [`token=${token}`, {}],
    ] as const)
      expectRefused(await postForm(bench.firstPort, body, headers));
    await stillThere();
  });

  test("an ID token of the provider itself", async () => {
    const claims = good();
    const idToken = { ...claims, nonce: "n", auth_time: seconds(), events: undefined };
    expectRefused(await postLogout(bench.firstPort, await signLogout(idToken, key, { typ: undefined })));
    expectRefused(
      await postLogout(bench.firstPort, await signLogout({ ...idToken, nonce: undefined }, key, { typ: "JWT" })),
    );
    await stillThere();
  });

  test("an issuer with unreadable keys is asked to retry", async () => {
    bench.configure(
      benchConfig(
        bench.idp.issuer,
        `identity_issuers: { company: { issuer: "${bench.idp.issuer}", uses: [logout], jwks_url: "http://127.0.0.1:9/keys" } }`,
      ),
    );
    const token = await signLogout(good(), key);
    expect((await postLogout(bench.firstPort, token)).status).toBe(503);
    trust();
    await stillThere();
    expect((await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-nobody" }), key))).status).toBe(200);
  });

  test("an issuer that is trusted with other things", async () => {
    trust("", "[id_jag]");
    // There is no such address without an issuer that may.
    expect((await postLogout(bench.firstPort, await signLogout(good(), key))).status).toBe(404);
    trust();
    await stillThere();
  });

  test("on the host of a route: only the authenticate host takes it", async () => {
    const answer = await createSend({ via: bench.firstPort })({
      method: "POST",
      url: `${APP}/.gateway/backchannel_logout`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ logout_token: await signLogout(good(), key) }).toString(),
    });
    expect(answer.status).toBe(404);
    const preflight = await createSend({ via: bench.firstPort })({
      method: "OPTIONS",
      url: `${AUTH}/.gateway/backchannel_logout`,
      headers: { origin: "https://evil.example.com", "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([405, undefined]);
    await stillThere();
  });

  test("more and more bad ones of one peer wait, good ones are not counted", async () => {
    const statuses = new Set<number>();
    for (let count = 0; count < 70; count += 1) {
      const answer = await postLogout(bench.firstPort, "a.b.c");
      statuses.add(answer.status);
      if (answer.status === 429) expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    }
    expect(statuses).toEqual(new Set([400, 429]));
    bench.clock.advance(60_000);
    for (let count = 0; count < 70; count += 1) {
      const answer = await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-nobody" }), key));
      expect(answer.status).toBe(200);
    }
  });
});

test("an audience that is written down is one", async () => {
  trust(", logout_audiences: [assistant]");
  const send = async (aud: unknown): Promise<number> =>
    (await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-nobody", aud }), key))).status;
  expect(await Promise.all([send("assistant"), send(["assistant"]), send("gateway"), send("another")])).toEqual([
    200, 200, 200, 400,
  ]);
  trust();
});

test("the revocations are logged by issuer, without the token", async () => {
  await signIn();
  const sessions = (await sessionsOf(bench)).filter(({ tags }) => tags.includes("user:u-alice")).length;
  const before = bench.logged().length;
  const marked = `mark-${randomUUID()}`;
  const token = await signLogout(claimsOf({ sub: "u-alice", jti: marked }), key);
  await postLogout(bench.firstPort, token);
  await postLogout(bench.firstPort, token);
  await postLogout(bench.firstPort, await signLogout(claimsOf({ sub: "u-alice", jti: marked, nonce: marked }), key));
  const said = bench.logged().slice(before);
  for (const part of [marked, ...token.split(".")]) expect(said).not.toContain(part);
  const line = said.split("\n").find((each) => each.includes("user signed out by issuer"));
  expect(JSON.parse(line ?? "{}")).toMatchObject({ issuer: "company", users: ["u-alice"], sessions, grants: 0 });
  expect(said).toContain("jti used before");
  expect(said).toContain("nonce is present");
});

/** The provider counts in seconds of the real time. */
async function untilNextSecond(): Promise<void> {
  const said = Math.max(seconds(), Math.floor(Date.now() / 1000));
  await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(said);
}
