/** Which private keys prove an OAuth client. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";

import { describe, expect, test } from "vitest";

import { parseClientKey } from "../../../../runtime/settings/client-key.ts";

const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" });
const ec = (namedCurve: string): string => pemOf(generateKeyPairSync("ec", { namedCurve }).privateKey);
const rsa = (modulusLength: number): string => pemOf(generateKeyPairSync("rsa", { modulusLength }).privateKey);

describe("parseClientKey()", () => {
  test.each([
    ["EC on P-256", ec("P-256"), { name: "ECDSA", namedCurve: "P-256" }],
    ["EC on P-384", ec("P-384"), { name: "ECDSA", namedCurve: "P-384" }],
    ["RSA of 2048 bits", rsa(2048), { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }],
    ["Ed25519", pemOf(generateKeyPairSync("ed25519").privateKey), { name: "Ed25519" }],
  ])("takes %s, with which the library can sign", (_what, pem, way) => {
    const parsed = parseClientKey(pem);
    expect(parsed?.way).toEqual(way);
    expect(parsed?.key.toCryptoKey(way, false, ["sign"]).usages).toEqual(["sign"]);
  });

  test.each([
    ["a short RSA key", rsa(1024)],
    ["a curve that no algorithm of JOSE signs with here", ec("secp256k1")],
    ["a key for agreement", pemOf(generateKeyPairSync("x25519").privateKey)],
    ["a public key", generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" })],
    ["a secret", "correct horse battery staple"],
    ["nothing", ""],
  ])("refuses %s", (_what, pem) => {
    expect(parseClientKey(pem)).toBeUndefined();
  });
});
