/** Public keys of others: which are taken, which are refused, and that nothing secret passes. */
import { generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";

import { kidProblem, parseKeySet } from "../../../runtime/shared/key-set.ts";

const ed25519 = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const rsa = { kty: "RSA", n: Buffer.alloc(256, 0xff).toString("base64url"), e: "AQAB" };

function parsed(...keys: readonly object[]) {
  const found = parseKeySet({ keys });
  if (!found.ok) throw new Error(found.problem);
  return { kinds: found.value.keys.map(({ kty }) => kty), problems: found.problems };
}

describe("parseKeySet()", () => {
  test("accepts keys of each kind that we verify with", () => {
    expect(parsed(ed25519, ec, rsa)).toEqual({ kinds: ["OKP", "EC", "RSA"], problems: [] });
  });

  test.each(["d", "p", "q", "dp", "dq", "qi", "oth", "k"])("refuses a set with the private member %s", (name) => {
    expect(parseKeySet({ keys: [ec, { ...rsa, [name]: "AQAB" }] })).toEqual({
      ok: false,
      problem: "has a key that must be kept secret, must be a set of public keys",
    });
  });

  test("passes over keys of other kinds", () => {
    const others = [{ ...ed25519, crv: "X25519" }, { ...ec, crv: "P-521" }, { ...ec, use: "enc" }, { kty: "AKP" }];
    expect(parsed(...others)).toEqual({ kinds: [], problems: [] });
  });

  test.each<[string, object, string]>([
    ["a shortened point", { ...ed25519, x: "AQAB" }, "is not a point of the curve Ed25519"],
    ["a coordinate that is none", { ...ec, y: "AQAB" }, "is not a point of the curve P-256"],
    ["no modulus", { kty: "RSA", e: "AQAB" }, "has a modulus of 0 bits"],
    ["a modulus of zeros", { ...rsa, n: "A".repeat(342) }, "has a modulus of 0 bits"],
    ["a short modulus", { ...rsa, n: Buffer.alloc(255, 0xff).toString("base64url") }, "has a modulus of 2040 bits"],
    ["a long modulus", { ...rsa, n: Buffer.alloc(513, 0xff).toString("base64url") }, "has a modulus of 4104 bits"],
    ["an exponent of 1", { ...rsa, e: "AQ" }, "has a public exponent of 1 bits"],
    ["an even exponent", { ...rsa, e: "AQAC" }, "has a public exponent of 17 bits"],
    ["a long exponent", { ...rsa, e: "AQAAAAE" }, "has a public exponent of 33 bits"],
  ])("reports the problem of %s", (_, key, problem) => {
    expect(parsed(ec, key)).toEqual({ kinds: ["EC"], problems: [expect.stringContaining(`key 2 ${problem}`)] });
  });

  test("counts a modulus without the zeros before it", () => {
    const n = Buffer.concat([Buffer.alloc(4), Buffer.alloc(256, 0x7f)]).toString("base64url");
    expect(parsed({ ...rsa, n }).problems).toEqual([expect.stringContaining("has a modulus of 2047 bits")]);
  });
});

describe("kidProblem()", () => {
  const other = { ...ec, kid: "other" };
  test.each<[string, readonly object[], boolean]>([
    ["one key without a kid", [ec], false],
    ["one key of each kind without a kid", [ec, rsa, ed25519], false],
    ["two of a kind with kids of their own", [{ ...ec, kid: "one" }, other], false],
    ["two of a kind with one kid", [other, other], true],
    ["two of a kind of which one has no kid", [ec, other], true],
  ])("%s", (_, keys, isProblem) => {
    expect(kidProblem({ keys: keys as never }) !== undefined).toBe(isProblem);
  });
});
