/**
 * Generated ID-JAGs, by a fixed seed: an oracle that was written from the drafts says which are good, and the token endpoint
 * must agree. Whatever comes, it answers with one of the refusals that exist, gives nothing and writes nothing of it.
 */
import { randomUUID } from "node:crypto";

import * as fc from "fast-check";
import { CompactSign } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { fakeIssuer, IDP, idJagClaims, presenter, type FakeIssuer, type Presenter } from "../support/id-jag.ts";
import { ORIGIN, startIssuer, type TestIssuer } from "../support/issuer.ts";

const SEED = 20_261_123;
const KEYS = `${IDP}/keys`;
const ONE = `${ORIGIN}/one/mcp`;
const TWO = `${ORIGIN}/two/mcp`;
const ELSEWHERE = "https://other.example.com/mcp";
const CONFIG = `
runtime_flags: { mcp: true }
identity_issuers: { idp: { issuer: "${IDP}", uses: [id_jag], jwks_url: "${KEYS}" } }
routes:
  - { name: one, from: https://mcp.example.com, prefix: /one, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: two, from: https://mcp.example.com, prefix: /two, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: else, from: https://other.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
`;

let gateway: TestIssuer;
let idp: FakeIssuer;
let desk: Presenter;
let key: SigningKey;
let stranger: SigningKey;
let logged = "";

beforeAll(async () => {
  [key, stranger] = await Promise.all([makeSigningKey("ES256", "one"), makeSigningKey("ES256", "one")]);
  idp = fakeIssuer({ [KEYS]: { keys: [key.jwk] } });
  const log = pino({ level: "debug" }, { write: (line: string) => void (logged += line) });
  gateway = await startIssuer({ yaml: CONFIG, issuerFetch: idp.fetch, log });
  desk = await presenter(gateway);
});
afterAll(() => gateway.close());
beforeEach(() => void (logged = ""));

/** A value that is right, most of the time, or one of the others. */
const mostly = <T>(right: readonly T[], wrong: readonly T[], weight = 20): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: fc.constantFrom(...wrong) });

const AUDIENCES = [ORIGIN, `${ORIGIN}/`, [ORIGIN], [`${ORIGIN}/`]];
const RESOURCES = [ONE, TWO, [ONE], [TWO, ONE], [ONE, ONE], undefined];
const EXTENSIONS = ["cnf", "authorization_details", "tenant", "aud_tenant"];
const IGNORED = ["act", "aud_sub", "acr", "amr", "auth_time", "email", "x", "__proto__"];

/** `iat` and `nbf` in seconds from now, around each bound; `life` from `iat` on. */
const drafts = fc.record({
  typ: mostly<unknown>(["oauth-id-jag+jwt"], [undefined, "JWT", "at+jwt", "oauth-id-jag", "OAUTH-ID-JAG+JWT", 7]),
  isOurs: mostly([true], [false]),
  iss: mostly<unknown>([IDP], [undefined, `${IDP}/`, [IDP], ORIGIN, ""]),
  aud: mostly<unknown>(AUDIENCES, [undefined, ELSEWHERE, [ORIGIN, ELSEWHERE], [[ORIGIN]], [], { aud: ORIGIN }]),
  iat: mostly<unknown>([0, 0.5, -29, -100, 30], [31, 3600, "0", undefined, -3600, null]),
  life: mostly<unknown>([300, 299.5, 200, 131], [301, -1e6, "300", 1e300]),
  nbf: mostly<unknown>([undefined, 0, 30, -1e6], [31, "0", null, {}]),
  client: mostly<unknown>(["own"], [undefined, "own ", ["own"], "", "gateway"]),
  resource: mostly<unknown>(RESOURCES, [ORIGIN, ELSEWHERE, [ONE, ELSEWHERE], [], 7, `${ONE}#x`, {}]),
  scope: mostly<unknown>(["mcp", undefined, "mcp other"], ["other", "", "MCP", ["mcp"], 7, null]),
  sub: mostly<unknown>(["alice", "b@x", "1"], [undefined, "", 1, ["alice"], "a\u0000b", null, "x\n"]),
  jti: mostly<unknown>(["fresh"], [undefined, "", 7, "j".repeat(513), ["fresh"]]),
  extension: mostly<string | undefined>([undefined], EXTENSIONS),
  ignored: fc.dictionary(fc.constantFrom(...IGNORED), fc.jsonValue({ maxDepth: 3 })),
  formResource: mostly<string | undefined>([undefined, ONE], [TWO, ORIGIN, ELSEWHERE, "x"], 8),
  formScope: mostly<string | undefined>([undefined, "mcp", "mcp x"], ["other", " "], 6),
});
type Draft = typeof drafts extends fc.Arbitrary<infer T> ? T : never;

interface Case {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  readonly form: Readonly<Record<string, string | undefined>>;
  readonly isOurs: boolean;
}

/** Its state at the time of the clock. */
function caseOf({ typ, isOurs, iat, life, nbf, client, extension, ignored, jti, ...draft }: Draft): Case {
  const { formResource, formScope, ...claims } = draft;
  const now = Math.floor(gateway.clock.now() / 1000);
  const begins = typeof iat === "number" ? now + iat : iat;
  return {
    header: { typ },
    isOurs,
    form: { resource: formResource, scope: formScope },
    claims: {
      ...ignored,
      ...claims,
      iat: begins,
      exp: typeof life === "number" && typeof begins === "number" ? begins + life : life,
      nbf: typeof nbf === "number" ? now + nbf : nbf,
      client_id: nameClient(client),
      jti: jti === "fresh" ? randomUUID() : jti,
      ...(extension === undefined ? {} : { [extension]: {} }),
    },
  };
}

function nameClient(client: unknown): unknown {
  if (typeof client === "string") return client.replace("own", desk.clientId);
  return Array.isArray(client) ? [desk.clientId] : client;
}

/** @param payload JSON text, or a replacement for it */
function sign(payload: string | Uint8Array, header: Readonly<Record<string, unknown>> = {}, by = key): Promise<string> {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  return new CompactSign(bytes)
    .setProtectedHeader({ alg: "ES256", kid: "one", typ: "oauth-id-jag+jwt", ...header })
    .sign(by.privateKey);
}

const isNumber = (value: unknown): value is number => typeof value === "number";

/** Allowed responses: by the drafts and RFC 8707, independent of the code. */
function expectedOf({ claims, header, form, isOurs }: Case): readonly string[] {
  const now = Math.floor(gateway.clock.now() / 1000);
  const { iat, exp, nbf, aud, resource, scope, sub, jti } = claims;
  const servers = [ONE, TWO];
  const named: readonly unknown[] | undefined =
    resource === undefined ? undefined : Array.isArray(resource) ? resource : [resource];
  const isGood =
    isOurs &&
    header["typ"] === "oauth-id-jag+jwt" &&
    claims["iss"] === IDP &&
    (typeof aud === "string" || (Array.isArray(aud) && aud.length === 1)) &&
    [ORIGIN, `${ORIGIN}/`].includes([aud].flat()[0] as string) &&
    isNumber(iat) &&
    iat <= now + 30 &&
    isNumber(exp) &&
    exp > now - 30 &&
    exp - iat <= 300 &&
    (nbf === undefined || (isNumber(nbf) && nbf <= now + 30)) &&
    claims["client_id"] === desk.clientId &&
    (named === undefined || (named.length > 0 && named.every((each) => servers.includes(each as string)))) &&
    (scope === undefined || (typeof scope === "string" && scope.split(" ").includes("mcp"))) &&
    typeof sub === "string" &&
    /^[^\p{Cc}]+$/u.test(sub) &&
    typeof jti === "string" &&
    jti.length > 0 &&
    jti.length <= 512 &&
    EXTENSIONS.every((name) => claims[name] === undefined);
  const choice = form["resource"] === undefined ? new Set(named ?? servers) : new Set([form["resource"]]);
  const isTarget =
    choice.size === 1 &&
    [...choice].every((each) => (named ?? servers).includes(each) && servers.includes(String(each)));
  const isScope = form["scope"] === undefined || form["scope"].split(" ").includes("mcp");
  if (isGood && isTarget && isScope) return ["200"];
  return [
    ...(isGood ? [] : ["invalid_grant"]),
    ...(isTarget ? [] : ["invalid_target"]),
    ...(isScope ? [] : ["invalid_scope"]),
  ];
}

/** @returns "200", or the error, of which that of an assertion has one text; nothing of it may be logged */
async function present(assertion: string, form: Case["form"] = {}): Promise<string> {
  logged = "";
  const answer = await desk.present(assertion, form);
  for (const part of assertion.split(".")) if (part.length > 20) expect(logged).not.toContain(part);
  if (answer.status === 200) return "200";
  const { error, error_description: text } = answer.json();
  expect([answer.status, typeof text]).toEqual([400, "string"]);
  if (error === "invalid_grant") expect(text).toBe("Invalid assertion");
  return String(error);
}

/** A sender of many bad ones is rate limited. */
const goOn = (): void => gateway.clock.advance(5000);
const grants = async (): Promise<number> => (await gateway.store.list("grants")).length;
const settings = { seed: SEED, endOnFailure: true } as const;

describe("generated ID-JAGs", () => {
  test("are exchanged exactly where the drafts say so", async () => {
    const answers = new Map<string, number>();
    const property = fc.asyncProperty(drafts, async (draft) => {
      goOn();
      const each = caseOf(draft);
      const expected = expectedOf(each);
      const before = await grants();
      const assertion = await sign(JSON.stringify(each.claims), each.header, each.isOurs ? key : stranger);
      const seen = await present(assertion, each.form);
      expect(expected).toContain(seen);
      expect((await grants()) - before).toBe(seen === "200" ? 1 : 0);
      if (seen === "200") expect(await present(assertion, each.form)).toBe("invalid_grant");
      answers.set(seen, (answers.get(seen) ?? 0) + 1);
    });
    await fc.assert(property, { ...settings, numRuns: 800 });
    // Each response occurred often enough.
    for (const answer of ["200", "invalid_grant", "invalid_target", "invalid_scope"])
      expect([answer, (answers.get(answer) ?? 0) > 20]).toEqual([answer, true]);
    expect(new Set(idp.asked)).toEqual(new Set([KEYS]));
  });

  test("that were changed on their way are refused, unless they say the same", async () => {
    const character = fc.constantFrom(
      "A",
      "Z",
      "a",
      "z",
      "0",
      "9",
      "-",
      "_",
      ".",
      "=",
      "+",
      "/",
      " ",
      "%",
      "\u0000",
      "é",
    );
    const change = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 3 }),
      insert: fc.array(character, { maxLength: 3 }),
    });
    const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      goOn();
      const good = await sign(JSON.stringify(idJagClaims(desk.clientId, gateway.clock.now(), { resource: ONE })));
      let text = good;
      for (const { at, remove, insert } of changes) {
        const from = at % text.length;
        text = text.slice(0, from) + insert.join("") + text.slice(from + remove);
      }
      const seen = await present(text);
      // Spare bits at the end of a part have no meaning: the same bytes are the same assertion.
      const isSame = JSON.stringify(partsOf(text)) === JSON.stringify(partsOf(good));
      expect(isSame ? ["200", "invalid_grant"] : ["invalid_grant"]).toContain(seen);
    });
    await fc.assert(property, { ...settings, numRuns: 400 });
  });

  test("with any signed payload are rejected", async () => {
    const good = idJagClaims(desk.clientId, gateway.clock.now(), { resource: ONE, sub: undefined });
    const payload = fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc.uint8Array({ maxLength: 64 }),
      fc.nat({ max: 3000 }).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
      // Invalid JSON after or within a valid text.
      fc.constantFrom(",", "}", "\u0000", "{", '"').map((end) => JSON.stringify({ ...good, sub: "alice" }) + end),
      fc
        .constantFrom("\ufeff", "\ud800", "[", "/**/")
        .map((begin) => begin + JSON.stringify({ ...good, sub: "alice" })),
    );
    const property = fc.asyncProperty(payload, async (each) => {
      goOn();
      expect(await present(await sign(each))).toBe("invalid_grant");
    });
    await fc.assert(property, { ...settings, numRuns: 300 });
  });
});

function partsOf(text: string): readonly string[] {
  return text.split(".").map((part) => Buffer.from(part, "base64url").toString("hex"));
}
