/**
 * ES256 keys of the identity header: from `signing_key` (PEM), or derived from `shared_secret`, so that every replica
 * signs with the same key, also after restarts. The first signs; all are published, for rotation.
 */
import { createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

import { GatewayError } from "../../shared/errors.ts";
import type { Keys } from "../../shared/keys.ts";

export interface AssertionKey {
  readonly privateKey: KeyObject;
  /** Thumbprint of the public key (RFC 7638). */
  readonly kid: string;
  readonly publicJwk: Readonly<Record<string, unknown>>;
}

/** Order of the P-256 group (FIPS 186-4 D.1.2.3). Private keys are in [1, order - 1]. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * @param pems PEM private keys, the first signs; []: derive from the shared secrets
 * @throws GatewayError `assertion.signing-key` if a PEM is not a P-256 private key
 */
export function loadAssertionKeys(pems: readonly string[], keys: Keys): readonly AssertionKey[] {
  if (pems.length > 0) return pems.map((pem, index) => describeKey(readPem(pem, index)));
  return keys.derive("assertion-signing").map((seed) => describeKey(deriveKey(seed)));
}

function readPem(pem: string, index: number): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new GatewayError("assertion.signing-key", `Cannot read signing_key ${index + 1}: not a PEM private key`, {
      cause,
    });
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new GatewayError(
      "assertion.signing-key",
      `Cannot use signing_key ${index + 1}: must be an EC key on P-256 (ES256)`,
    );
  }
  return key;
}

function deriveKey(seed: Buffer): KeyObject {
  // 512 bits before the reduction make its bias negligible (FIPS 186-4 B.4.1).
  const wide = BigInt(`0x${createHash("sha512").update("gateform/p256").update(seed).digest("hex")}`);
  const scalar = (wide % (P256_ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex");
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(d);
  const point = ecdh.getPublicKey();
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: d.toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  return createPrivateKey({ key: jwk, format: "jwk" });
}

function describeKey(privateKey: KeyObject): AssertionKey {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: "jwk" });
  // Order and names of the members affect the thumbprint (RFC 7638 §3.2).
  const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
  return { privateKey, kid, publicJwk: { kty, crv, x, y, kid, alg: "ES256", use: "sig" } };
}
