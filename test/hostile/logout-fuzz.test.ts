/**
 * Generated logout tokens, by a fixed seed: an oracle that was written from the specification says which are good, and the
 * endpoint must agree. Whatever comes, it says success or one text, and writes nothing of it.
 *
 * @see OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6
 */
import { randomUUID } from "node:crypto";

import * as fc from "fast-check";
import { CompactSign } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LOGOUT_EVENT } from "../../runtime/identity/logout/logout-claims.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { postForm, postLogout } from "../support/logout-tokens.ts";
import { benchConfig, type SessionBench, startSessionBench } from "../support/session-bench.ts";
import { mayStall } from "../support/stall-limit.ts";

// Makes thousands of inputs in one turn.
mayStall(1800);

const SEED = 20_261_123;
const settings = { seed: SEED, endOnFailure: true } as const;
const COMPANY = "https://company.example.com";

let bench: SessionBench;
let key: SigningKey;
let stranger: SigningKey;
let read = 0;

beforeAll(async () => {
  [key, stranger, bench] = await Promise.all([
    makeSigningKey("ES256", "one"),
    makeSigningKey("ES256", "one"),
    startSessionBench(),
  ]);
  const jwks = JSON.stringify({ keys: [key.jwk] });
  const entry = `{ issuer: "${COMPANY}", uses: [logout], logout_audiences: [one, two], jwks: '${jwks}' }`;
  bench.configure(benchConfig(bench.idp.issuer, `identity_issuers: { company: ${entry} }`));
});
afterAll(() => bench?.close());

/** A value that is right, most of the time, or one of the others. */
const mostly = <T>(right: readonly T[], wrong: readonly T[], weight = 20): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: fc.constantFrom(...wrong) });

/** Times in seconds from now, around each bound. */
const drafts = fc.record({
  typ: mostly<unknown>(
    ["logout+jwt", undefined, "JWT", "application/logout+jwt", "LOGOUT+JWT"],
    ["at+jwt", "oauth-id-jag+jwt", "global-token-revocation+jwt", "", 7, "logout+jwt ", "xlogout+jwt"],
  ),
  isOurs: mostly([true], [false]),
  iss: mostly<unknown>([COMPANY], [undefined, `${COMPANY}/`, [COMPANY], ""]),
  aud: mostly<unknown>(
    ["one", "two", ["one"], ["two", "one"]],
    [undefined, "three", ["one", "three"], [], [["one"]], {}],
  ),
  iat: mostly<unknown>([0, 0.5, -100, -329, 30], [31, -330, -1e6, "0", undefined, null]),
  exp: mostly<unknown>([120, 0, -29, 1e9, undefined], [-30, -1e6, "120", null]),
  nbf: mostly<unknown>([undefined, 0, 30, -1e6], [31, "0", null, {}]),
  sub: mostly<unknown>(["alice", "b@x", undefined], ["", 1, ["alice"], "a\u0000b", null], 8),
  sid: mostly<unknown>([undefined, "s", "s".repeat(512)], ["", 1, null, ["s"], "s".repeat(513)], 8),
  jti: mostly<unknown>(["fresh"], [undefined, "", 7, "j".repeat(513), ["fresh"]]),
  events: mostly<unknown>(
    [{ [LOGOUT_EVENT]: {} }, { [LOGOUT_EVENT]: { more: 1 }, other: {} }],
    [
      undefined,
      {},
      { [LOGOUT_EVENT]: null },
      { [LOGOUT_EVENT]: [] },
      { [LOGOUT_EVENT]: "" },
      [LOGOUT_EVENT],
      LOGOUT_EVENT,
    ],
  ),
  nonce: mostly<unknown>([undefined], ["n", null, ""]),
  ignored: fc.dictionary(
    fc.constantFrom("acr", "auth_time", "trace", "email", "__proto__"),
    fc.jsonValue({ maxDepth: 3 }),
  ),
});
type Draft = typeof drafts extends fc.Arbitrary<infer T> ? T : never;

const isNumber = (value: unknown): value is number => typeof value === "number";
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function isGood({ typ, isOurs, iss, aud, iat, exp, nbf, sub, sid, jti, events, nonce }: Draft): boolean {
  const types = [undefined, "jwt", "logout+jwt", "application/logout+jwt"];
  const audiences = Array.isArray(aud) ? (aud as unknown[]) : [aud];
  const event = (events as Record<string, unknown> | undefined)?.[LOGOUT_EVENT];
  return (
    isOurs &&
    types.includes(typeof typ === "string" ? typ.toLowerCase() : (typ as undefined)) &&
    iss === COMPANY &&
    audiences.length > 0 &&
    audiences.every((each) => each === "one" || each === "two") &&
    isNumber(iat) &&
    iat <= 30 &&
    iat > -330 &&
    (exp === undefined || (isNumber(exp) && exp > -30)) &&
    (nbf === undefined || (isNumber(nbf) && nbf <= 30)) &&
    (sub !== undefined || sid !== undefined) &&
    (sub === undefined || (isText(sub) && !sub.includes("\u0000"))) &&
    (sid === undefined || (isText(sid) && sid.length <= 512)) &&
    isText(jti) &&
    jti.length <= 512 &&
    typeof event === "object" &&
    event !== null &&
    !Array.isArray(event) &&
    nonce === undefined
  );
}

function sign(payload: string | Uint8Array, header: Readonly<Record<string, unknown>> = {}, by = key): Promise<string> {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  return new CompactSign(bytes).setProtectedHeader({ alg: "ES256", kid: "one", ...header }).sign(by.privateKey);
}

function tokenOf({ typ, isOurs, iat, exp, nbf, jti, ignored, ...claims }: Draft): Promise<string> {
  const now = Math.floor(bench.clock.now() / 1000);
  const at = (time: unknown): unknown => (isNumber(time) ? now + time : time);
  const all = {
    ...ignored,
    ...claims,
    iat: at(iat),
    exp: at(exp),
    nbf: at(nbf),
    jti: jti === "fresh" ? randomUUID() : jti,
  };
  return sign(JSON.stringify(all), { typ }, isOurs ? key : stranger);
}

/** A sender of many bad ones is rate limited. */
const goOn = (): void => bench.clock.advance(5000);

/** @returns the status, which is one of two */
async function present(token: string): Promise<number> {
  const answer = await postLogout(bench.firstPort, token);
  const logged = bench.logged().slice(read);
  read += logged.length;
  for (const part of token.split(".")) if (part.length > 20) expect(logged).not.toContain(part);
  if (answer.status === 200) expect(answer.text).toBe("");
  else
    expect([answer.status, answer.json()]).toEqual([
      400,
      { error: "invalid_request", error_description: "Invalid logout token" },
    ]);
  return answer.status;
}

describe("generated logout tokens", () => {
  test("are good exactly where the specification says so, and once", async () => {
    const answers = new Map<number, number>();
    const property = fc.asyncProperty(drafts, async (draft) => {
      goOn();
      const token = await tokenOf(draft);
      const status = await present(token);
      expect(status).toBe(isGood(draft) ? 200 : 400);
      answers.set(status, (answers.get(status) ?? 0) + 1);
      expect(await present(token)).toBe(400);
    });
    await fc.assert(property, { ...settings, numRuns: 400 });
    expect(answers.get(200)).toBeGreaterThan(50);
    expect(answers.get(400)).toBeGreaterThan(50);
  });

  test("with a character changed anywhere are bad", async () => {
    const claims = {
      iss: COMPANY,
      aud: "one",
      sub: "alice",
      iat: 0,
      exp: 4e9,
      jti: "j",
      events: { [LOGOUT_EVENT]: {} },
    };
    const property = fc.asyncProperty(
      fc.nat(),
      fc.constantFrom("A", "z", "0", "_", ".", "=", " "),
      async (place, by) => {
        goOn();
        const now = Math.floor(bench.clock.now() / 1000);
        const good = await sign(JSON.stringify({ ...claims, iat: now, jti: randomUUID() }));
        const index = place % (good.length - 1);
        if (good[index] === by) return;
        expect(await present(good.slice(0, index) + by + good.slice(index + 1))).toBe(400);
      },
    );
    await fc.assert(property, { ...settings, numRuns: 200 });
  });

  test("with anything for claims, and anything for a token or a form, are bad", async () => {
    const anything = fc.oneof(fc.json(), fc.string({ unit: "binary" }));
    await fc.assert(
      fc.asyncProperty(anything, async (payload) => {
        goOn();
        expect(await present(await sign(payload))).toBe(400);
      }),
      { ...settings, numRuns: 100 },
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (token) => {
        goOn();
        expect(await present(token)).toBe(400);
      }),
      { ...settings, numRuns: 100 },
    );
    await fc.assert(
      fc.asyncProperty(fc.string(), async (body) => {
        goOn();
        expect((await postForm(bench.firstPort, encodeURI(body.toWellFormed()))).status).toBe(400);
      }),
      { ...settings, numRuns: 100 },
    );
  });
});
