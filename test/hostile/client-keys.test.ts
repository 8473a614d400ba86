/** Clients with keys and assertions that are expensive for us, or malformed. */
import * as fc from "fast-check";
import type { JWK } from "jose";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import { createLog } from "../../runtime/shared/log.ts";
import type { FetchedDocument } from "../../runtime/oauth/server/clients/remote-document.ts";
import { clientKey, type ClientRecord } from "../../runtime/oauth/server/grant-records.ts";
import {
  ASSERTION_TYPE,
  assertionClaims,
  DOCUMENT_ID,
  KEYS_URL,
  makeSigningKey,
  signAssertion,
  type SigningKey,
} from "../support/client-assertion.ts";
import { ONE_SERVER, useIssuers, type TestIssuer } from "../support/issuer.ts";
import { REDIRECT_URI } from "../support/oauth-client.ts";

const start = useIssuers();

let ec: SigningKey;
let rsa: SigningKey;
beforeAll(async () => {
  [ec, rsa] = await Promise.all([makeSigningKey("ES256"), makeSigningKey("RS256")]);
});

/** Base64url of an odd number with this many bits. */
function odd(bits: number): string {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xa5);
  bytes[0] = 0x80 >> ((8 - (bits % 8)) % 8);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return bytes.toString("base64url");
}

const rsaKey = (modulusBits: number, e = "AQAB"): JWK => ({ kty: "RSA", n: odd(modulusBits), e });
const HUGE_EXPONENT = rsaKey(2048, odd(2047));

const sign = (claims: Readonly<Record<string, unknown>>, by = ec, header = {}): Promise<string> =>
  signAssertion(claims, by, header);

/** A revocation, which needs the same authentication as the token endpoint and nothing else. */
async function prove(gateway: TestIssuer, client_assertion: string): Promise<string> {
  const form = { token: "x", client_assertion_type: ASSERTION_TYPE, client_assertion };
  const answer = await gateway.oauth().sendRevocation(form);
  return answer.status === 200 ? "200" : `${answer.status} ${String(answer.json()["error"])}`;
}

async function register(gateway: TestIssuer, keys: readonly JWK[]): Promise<string> {
  const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys } };
  return (await gateway.oauth().register(metadata)).client_id;
}

describe("keys that are costly or no keys are refused at registration, and the answer says why", () => {
  test.each<[string, () => JWK, RegExp]>([
    ["an exponent as long as its modulus", () => HUGE_EXPONENT, /exponent/],
    ["an exponent of 33 bits", () => rsaKey(2048, odd(33)), /exponent/],
    ["an even exponent", () => rsaKey(2048, "AAAC"), /exponent/],
    ["the exponent 1", () => rsaKey(2048, "AQ"), /exponent/],
    ["an empty exponent", () => rsaKey(2048, ""), /exponent/],
    ["a modulus of 8192 bits", () => rsaKey(8192), /modulus/],
    ["a modulus of 4097 bits", () => rsaKey(4097), /modulus/],
    ["a modulus of 1024 bits", () => rsaKey(1024), /modulus/],
    ["a short modulus behind zeros", () => ({ ...rsaKey(1024), n: `${"A".repeat(172)}${odd(1024)}` }), /modulus/],
    ["a modulus that is no base64url", () => ({ kty: "RSA", n: "!".repeat(342), e: "AQAB" }), /modulus/],
    ["a modulus of another type", () => ({ kty: "RSA", n: 7, e: "AQAB" }) as never, /modulus/],
    ["a point off its curve", () => ({ ...ec.jwk, y: ec.jwk.x ?? "" }), /curve/],
    ["a point that is too short", () => ({ ...ec.jwk, x: "AQ" }), /curve/],
    ["a point without y", () => ({ kty: "EC", crv: "P-256", x: ec.jwk.x }) as JWK, /curve/],
    ["an Ed25519 key of 33 bytes", () => ({ kty: "OKP", crv: "Ed25519", x: odd(264) }), /Ed25519/],
  ])("%s", async (_, makeKey, reason) => {
    const gateway = await start();
    const answer = await gateway.oauth().sendRegistration({
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [ec.jwk, makeKey()] },
    });
    expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_client_metadata"]);
    expect(answer.json()["error_description"]).toMatch(reason);
    expect(answer.json()["error_description"]).toMatch(/^jwks.*key 2/);
  });

  test("keys of one kind without a distinguishing kid", async () => {
    const gateway = await start();
    const send = (keys: readonly object[]) =>
      gateway.oauth().sendRegistration({
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys },
      });
    for (const kids of [
      [{}, {}],
      [{ kid: "a" }, {}],
      [{ kid: "a" }, { kid: "a" }],
    ]) {
      const answer = await send(kids.map((kid) => ({ ...rsa.jwk, ...kid })));
      expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_client_metadata"]);
      expect(answer.json()["error_description"]).toMatch(/kid/);
    }
    expect((await send([{ ...rsa.jwk, kid: "a" }, { ...rsa.jwk, kid: "b" }, ec.jwk])).status).toBe(201);
  });

  test("keys for other purposes, and of unsupported kinds, are skipped and block no client", async () => {
    const gateway = await start();
    const others: readonly JWK[] = [
      { kty: "OKP", crv: "X25519", x: odd(256) },
      { kty: "EC", crv: "P-521", x: "AQ", y: "AQ" },
      { kty: "RSA", n: odd(8192), e: "AQAB", use: "enc" },
    ];
    const clientId = await register(gateway, [...others, ec.jwk]);
    expect(await prove(gateway, await sign(assertionClaims(clientId, gateway.clock.now())))).toBe("200");
    const open = await gateway.oauth().register({ jwks: { keys: others } });
    expect(open).not.toHaveProperty("jwks");
  });
});

describe("a client with twenty keys of huge exponents", () => {
  const keys = Array.from({ length: 20 }, () => HUGE_EXPONENT);

  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  beforeEach(() => void (lines.length = 0));

  test("that registered before keys were bounded is verified with none of them", async () => {
    const gateway = await start({ log });
    const clientId = await register(gateway, [ec.jwk]);
    const record = await gateway.store.get<ClientRecord>(clientKey(clientId));
    const metadata = { ...record?.value.metadata, jwks: { keys } };
    await gateway.store.put(clientKey(clientId), { ...record?.value, metadata });
    expect(await prove(gateway, await sign(assertionClaims(clientId, gateway.clock.now()), rsa))).toBe(
      "401 invalid_client",
    );
    expect(lines.join("")).toContain("no usable key: key 1 has a public exponent of 2047 bits");
  });

  test.each([
    ["its document", { jwks: { keys } }],
    ["its published key set", { jwks_uri: KEYS_URL }],
  ])("in %s is verified with none of them", async (_, members) => {
    const document = {
      client_id: DOCUMENT_ID,
      client_name: "Signer",
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: "private_key_jwt",
      ...members,
    };
    const files: Record<string, object> = { [DOCUMENT_ID]: document, [KEYS_URL]: { keys } };
    const gateway = await start({
      log,
      yaml: `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`,
      fetchClientDocument: async (url): Promise<FetchedDocument> => ({ ok: true, document: files[url] }),
    });
    expect(await prove(gateway, await sign(assertionClaims(DOCUMENT_ID, gateway.clock.now()), rsa))).toBe(
      "401 invalid_client",
    );
    expect(lines.join("")).toContain("key 1 has a public exponent of 2047 bits");
  });
});

test("of several published keys that fit, the assertion must name one", async () => {
  const keys = [ec.jwk, (await makeSigningKey("ES256")).jwk];
  let named = false;
  const document = {
    client_id: DOCUMENT_ID,
    client_name: "Signer",
    redirect_uris: [REDIRECT_URI],
    jwks_uri: KEYS_URL,
    token_endpoint_auth_method: "private_key_jwt",
  };
  const gateway = await start({
    yaml: `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`,
    fetchClientDocument: async (url): Promise<FetchedDocument> => ({
      ok: true,
      document:
        url === KEYS_URL ? { keys: named ? keys.map((key, at) => ({ ...key, kid: `${at}` })) : keys } : document,
    }),
  });
  const claims = () => assertionClaims(DOCUMENT_ID, gateway.clock.now());
  expect(await prove(gateway, await sign(claims()))).toBe("401 invalid_client");
  named = true;
  gateway.clock.advance(61_000);
  expect(await prove(gateway, await sign(claims(), ec, { kid: "0" }))).toBe("200");
  expect(await prove(gateway, await sign(claims(), ec, { kid: "1" }))).toBe("401 invalid_client");
  expect(await prove(gateway, await sign(claims()))).toBe("401 invalid_client");
});

describe("failed proofs", () => {
  test("of one peer are bounded, and good ones are not counted", async () => {
    const gateway = await start();
    const clientId = await register(gateway, [ec.jwk]);
    const good = async () => prove(gateway, await sign(assertionClaims(clientId, gateway.clock.now())));
    for (let count = 0; count < 70; count += 1) expect(await good()).toBe("200");
    const bad = await sign({ ...assertionClaims(clientId, gateway.clock.now()), iss: "somebody" });
    const outcomes = new Set<string>();
    for (let count = 0; count < 70; count += 1) outcomes.add(await prove(gateway, bad));
    expect([...outcomes]).toEqual(["401 invalid_client", "429 temporarily_unavailable"]);
    gateway.clock.advance(5000);
    expect(await good()).toBe("200");
  });

  test("of one client lock out no other client behind the same address", async () => {
    const gateway = await start();
    const [theirs, ours] = [await register(gateway, [ec.jwk]), await register(gateway, [ec.jwk])];
    const bad = await sign({ ...assertionClaims(theirs, gateway.clock.now()), aud: "somebody" });
    let outcome = "";
    for (let count = 0; count < 70; count += 1) outcome = await prove(gateway, bad);
    expect(outcome).toBe("429 temporarily_unavailable");
    expect(await prove(gateway, await sign(assertionClaims(ours, gateway.clock.now())))).toBe("200");
  });

  test("at the same time count too", async () => {
    const gateway = await start();
    const clientId = await register(gateway, [ec.jwk]);
    const bad = await sign({ ...assertionClaims(clientId, gateway.clock.now()), aud: "somebody" });
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => prove(gateway, bad)));
    expect(outcomes.filter((each) => each.startsWith("401"))).toHaveLength(60);
  });

  test("say when to come back", async () => {
    const gateway = await start();
    const clientId = await register(gateway, [ec.jwk]);
    const client_assertion = await sign({ ...assertionClaims(clientId, gateway.clock.now()), aud: "somebody" });
    const form = { grant_type: "refresh_token", client_assertion_type: ASSERTION_TYPE, client_assertion };
    let answer = await gateway.oauth().sendToken(form);
    for (let count = 0; count < 70; count += 1) answer = await gateway.oauth().sendToken(form);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "1"]);
  });
});

describe("claims of other types", () => {
  const anything = fc.oneof(
    fc.constantFrom<unknown>(null, true, 7, -1, 0.5, 1e300, "", "x", "\ud800", [], [[]], [7], {}, { a: 1 }),
    fc.jsonValue(),
  );

  test.each([[null], [true], [7], [[]], [["gwc_x"]], [{}]])(
    "sub %j is 400 invalid_client, not a failure of ours",
    async (sub) => {
      const gateway = await start();
      const clientId = await register(gateway, [ec.jwk]);
      const bad = await sign({ ...assertionClaims(clientId, gateway.clock.now()), sub });
      expect(await prove(gateway, bad)).toBe("400 invalid_client");
    },
  );

  test("any value in a claim or header is rejected, never an internal error", async () => {
    const gateway = await start();
    const clientId = await register(gateway, [{ ...ec.jwk, kid: "k" }]);
    const name = fc.constantFrom("iss", "sub", "aud", "exp", "iat", "nbf", "jti", "client_id");
    await fc.assert(
      fc.asyncProperty(name, anything, async (claim, value) => {
        const claims = { ...assertionClaims(clientId, gateway.clock.now()), [claim]: value };
        gateway.clock.advance(10_000);
        expect(await prove(gateway, await sign(claims))).toMatch(/^(200|40[01] invalid_client)$/);
      }),
      { numRuns: 150 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("alg", "kid", "typ", "crit", "b64", "jwk", "x5c"),
        anything,
        async (member, value) => {
          const [head, ...rest] = (await sign(assertionClaims(clientId, gateway.clock.now()))).split(".");
          const header = {
            ...(JSON.parse(Buffer.from(head ?? "", "base64url").toString()) as object),
            [member]: value,
          };
          gateway.clock.advance(10_000);
          const bent = [Buffer.from(JSON.stringify(header)).toString("base64url"), ...rest].join(".");
          expect(await prove(gateway, bent)).toMatch(/^(200|40[01] invalid_client)$/);
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each([0.5, 299.999_999])("an expiry with a fraction of a second (%d) is rounded up", async (fraction) => {
    const gateway = await start();
    const clientId = await register(gateway, [ec.jwk]);
    const now = Math.floor(gateway.clock.now() / 1000);
    const proof = await sign({
      ...assertionClaims(clientId, gateway.clock.now()),
      exp: now + 10 + fraction,
      jti: "once",
    });
    expect(await prove(gateway, proof)).toBe("200");
    expect(await prove(gateway, proof)).toBe("401 invalid_client");
  });
});
