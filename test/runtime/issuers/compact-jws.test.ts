/** Signature checks here agree with jose: for each algorithm, each key and each changed character. */
import { constants, generateKeyPairSync, KeyObject, sign } from "node:crypto";

import { compactVerify, createLocalJWKSet, generateKeyPair, type JWK } from "jose";
import { beforeAll, describe, expect, test } from "vitest";

import { verifyCompactJws, type FindKey } from "../../../runtime/issuers/compact-jws.ts";
import { SIGNING_ALGORITHMS } from "../../../runtime/identity/provider/provider-keys.ts";
import { makeSigningKey, signAssertion, type SigningKey } from "../../support/client-assertion.ts";

const keys = new Map<string, SigningKey>();
beforeAll(async () => {
  await Promise.all(
    SIGNING_ALGORITHMS.map(async (alg) => {
      keys.set(alg, await makeSigningKey(alg, alg));
    }),
  );
});

function keyOf(alg: string): SigningKey {
  const found = keys.get(alg);
  if (!found) throw new Error(alg);
  return found;
}

const setOf = (...jwks: readonly JWK[]): FindKey => createLocalJWKSet({ keys: [...jwks] });

/** Returns the payload as text, or the error. */
async function ours(token: string, find: FindKey, algorithms: readonly string[] = SIGNING_ALGORITHMS): Promise<string> {
  try {
    return `ok ${(await verifyCompactJws(token, find, algorithms)).payload.toString("latin1")}`;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

async function isGoodForJose(token: string, find: FindKey, algorithms: readonly string[] = SIGNING_ALGORITHMS) {
  try {
    const { payload } = await compactVerify(token, find, { algorithms: [...algorithms] });
    return `ok ${Buffer.from(payload).toString("latin1")}`;
  } catch {
    return "refused";
  }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signed by node:crypto itself, for headers and encodings that jose does not write. */
function signText(header: unknown, hash: string | null, key: Parameters<typeof sign>[2], payload = encode({ a: 1 })) {
  const text = `${encode(header)}.${payload}`;
  return `${text}.${sign(hash, Buffer.from(text), key).toString("base64url")}`;
}

const privateKey = (alg: string): KeyObject => KeyObject.from(keyOf(alg).privateKey);

describe("each algorithm", () => {
  test.each(SIGNING_ALGORITHMS)("%s: good with its key, bad with another one and on another list", async (alg) => {
    const other = await makeSigningKey(alg, alg);
    const token = await signAssertion({ sub: "ü" }, keyOf(alg), { kid: alg });
    const good = await isGoodForJose(token, setOf(keyOf(alg).jwk));
    expect(good).toContain("ok ");
    expect(await ours(token, setOf(keyOf(alg).jwk))).toBe(good);
    expect(await ours(token, setOf(other.jwk))).toBe("ERR_JWS_SIGNATURE_VERIFICATION_FAILED");
    expect(
      await ours(
        token,
        setOf(keyOf(alg).jwk),
        SIGNING_ALGORITHMS.filter((each) => each !== alg),
      ),
    ).toBe("ERR_JOSE_ALG_NOT_ALLOWED");
  });

  test("a token relabelled to any other algorithm gets the same result as from jose", async () => {
    for (const alg of SIGNING_ALGORITHMS) {
      // Without `kid` and `alg`, each key is valid for every algorithm of its type.
      const { kid: _, ...jwk } = keyOf(alg).jwk;
      const [, payload, signature] = (await signAssertion({ sub: "a" }, keyOf(alg))).split(".");
      for (const label of [...SIGNING_ALGORITHMS, "none", "HS256", "ES256K", "ML-DSA-44", "", "rs256"]) {
        const token = `${encode({ alg: label })}.${payload}.${signature}`;
        const isSame = (await isGoodForJose(token, setOf(jwk))) !== "refused";
        expect([alg, label, (await ours(token, setOf(jwk))).startsWith("ok ")]).toEqual([alg, label, isSame]);
      }
    }
  });
});

describe("each changed character", () => {
  test.each(["ES256", "RS256", "EdDSA"])("%s", async (alg) => {
    const find = setOf(keyOf(alg).jwk);
    const token = await signAssertion({ s: 1 }, keyOf(alg), { kid: alg });
    for (let at = 0; at < token.length; at += 1) {
      for (const character of ["A", "_", ".", "=", "", "é"]) {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        if (changed !== token) expect([at, (await ours(changed, find)).startsWith("ok ")]).toEqual([at, false]);
      }
    }
  });

  test("bits behind the last byte: one way to write a token", async () => {
    const token = await signAssertion({ s: 1 }, keyOf("ES256"), { kid: "ES256" });
    // 64 bytes are 86 characters; four bits of the last one are unused.
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(token.at(-1) ?? "");
    const other = `${token.slice(0, -1)}${alphabet[last + 1]}`;
    expect(await ours(other, setOf(keyOf("ES256").jwk))).toBe("ERR_JWS_INVALID");
  });
});

describe("signature formats", () => {
  test("ECDSA as DER, like in X.509, is rejected", async () => {
    const key = privateKey("ES256");
    const find = setOf(keyOf("ES256").jwk);
    expect(await ours(signText({ alg: "ES256" }, "sha256", { key, dsaEncoding: "ieee-p1363" }), find)).toBe(
      'ok {"a":1}',
    );
    expect(await ours(signText({ alg: "ES256" }, "sha256", { key, dsaEncoding: "der" }), find)).toContain(
      "VERIFICATION",
    );
  });

  test.each([0, 20, 64, 222])("PSS with a salt of %i bytes instead of 32 is rejected", async (saltLength) => {
    const key = { key: privateKey("PS256"), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
    expect(await ours(signText({ alg: "PS256" }, "sha256", key), setOf(keyOf("PS256").jwk))).toContain("VERIFICATION");
  });

  test("an RSA key below 2048 bits is not used", async () => {
    const small = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const find = setOf(small.publicKey.export({ format: "jwk" }));
    expect(await ours(signText({ alg: "RS256" }, "sha256", small.privateKey), find)).toBe("ERR_JOSE_NOT_SUPPORTED");
  });

  test.each([
    { crit: ["b64"], b64: false },
    { crit: [] },
    { crit: ["exp"], exp: 1 },
    { crit: null },
    { alg: ["ES256"] },
  ])("a header with %j is refused", async (more) => {
    const token = signText({ alg: "ES256", ...more }, "sha256", {
      key: privateKey("ES256"),
      dsaEncoding: "ieee-p1363",
    });
    expect((await ours(token, setOf(keyOf("ES256").jwk))).startsWith("ERR_J")).toBe(true);
  });

  test.each([
    ["the last one of a name counts", '{"alg":"none","kid":"other","alg":"ES256","kid":"ES256"}', true],
    ["the last one of a name counts", '{"alg":"ES256","alg":"none"}', false],
    ["names of a prototype are names", '{"constructor":1,"alg":"ES256","__proto__":{"alg":"none","crit":["a"]}}', true],
    ["nothing is inherited", '{"__proto__":{"alg":"ES256","kid":"ES256"}}', false],
    ["kid is no number", '{"alg":"ES256","kid":0}', false],
    ["alg as written", '{"alg":"ES256\\u0000"}', false],
    ["a list", '[{"alg":"ES256"}]', false],
    ["null", "null", false],
  ])("a header, %s: %s", async (_, header, isGood) => {
    const text = `${Buffer.from(header).toString("base64url")}.${encode({ a: 1 })}`;
    const key = { key: privateKey("ES256"), dsaEncoding: "ieee-p1363" } as const;
    const token = `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
    const find = setOf(keyOf("ES256").jwk);
    expect((await isGoodForJose(token, find)) !== "refused").toBe(isGood);
    expect(await ours(token, find)).toEqual(expect.stringMatching(isGood ? /^ok / : /^ERR_J/));
  });

  test("a key in the header or at an address it names is not looked at", async () => {
    const own = await makeSigningKey("ES256");
    const token = await signAssertion({ s: 1 }, own, {
      jwk: own.jwk,
      jku: "https://keys.example.org",
      x5u: "https://a.b",
    });
    expect(await ours(token, setOf(keyOf("ES256").jwk))).toBe("ERR_JWS_SIGNATURE_VERIFICATION_FAILED");
  });

  test("Ed448 keys are for no algorithm here", async () => {
    const { publicKey, privateKey: key } = generateKeyPairSync("ed448");
    const find = setOf(publicKey.export({ format: "jwk" }));
    for (const alg of ["EdDSA", "Ed25519"])
      expect(await ours(signText({ alg }, null, key), find)).toBe("ERR_JWKS_NO_MATCHING_KEY");
  });

  test("a private key published by mistake is not used", async () => {
    const { privateKey: secret } = await generateKeyPair("ES256", { extractable: true });
    const find = setOf(KeyObject.from(secret).export({ format: "jwk" }));
    const token = await signAssertion({ s: 1 }, { alg: "ES256", privateKey: secret, jwk: {} });
    expect((await ours(token, find)).startsWith("ok ")).toBe(false);
  });
});
