/**
 * The signature of a compact JWS (RFC 7515 §5.2), checked on this thread.
 *
 * jose chooses the key and judges whether it fits; its own check goes through WebCrypto, whose way over another thread
 * costs two to three times the check itself (decision 154). Untrusted input: the token. Promises: no algorithm but those
 * asked for, no RSA key below 2048 bits, no header that demands what is not understood, nothing unsigned is returned.
 */
import { constants, KeyObject, verify, type VerifyKeyObjectInput } from "node:crypto";

import { decodeProtectedHeader, errors, type CompactJWSHeaderParameters, type createLocalJWKSet } from "jose";
import { parseForeignJson } from "../shared/json/foreign-json.ts";

export type FindKey = ReturnType<typeof createLocalJWKSet>;

interface Scheme {
  /** null: the algorithm has one of its own. */
  readonly hash: string | null;
  readonly options: Omit<VerifyKeyObjectInput, "key">;
}

const PKCS1 = { padding: constants.RSA_PKCS1_PADDING };
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const ECDSA = { dsaEncoding: "ieee-p1363" } as const;
/** What `alg` means (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2). */
const SCHEMES: ReadonlyMap<string, Scheme> = new Map([
  ["RS256", { hash: "sha256", options: PKCS1 }],
  ["RS384", { hash: "sha384", options: PKCS1 }],
  ["RS512", { hash: "sha512", options: PKCS1 }],
  ["PS256", { hash: "sha256", options: PSS }],
  ["PS384", { hash: "sha384", options: PSS }],
  ["PS512", { hash: "sha512", options: PSS }],
  ["ES256", { hash: "sha256", options: ECDSA }],
  ["ES384", { hash: "sha384", options: ECDSA }],
  ["ES512", { hash: "sha512", options: ECDSA }],
  ["EdDSA", { hash: null, options: {} }],
  ["Ed25519", { hash: null, options: {} }],
]);

const MIN_RSA_BITS = 2048;

/** A key set keeps the keys that it made: each is turned once. */
const keyObjects = new WeakMap<CryptoKey, KeyObject>();

/** @throws JOSEError: not a JWS of a usable key. */
export async function verifyCompactJws(
  token: string,
  find: FindKey,
  algorithms: readonly string[],
): Promise<{ readonly header: CompactJWSHeaderParameters; readonly payload: Buffer }> {
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token);
  if (!parts) throw new errors.JWSInvalid("Invalid Compact JWS");
  const header = readHeader(token);
  const { alg } = header;
  const scheme = algorithms.includes(alg) ? SCHEMES.get(alg) : undefined;
  if (!scheme) throw new errors.JOSEAlgNotAllowed("its alg is not allowed");

  const [, protectedHeader = "", payload = "", signature = ""] = parts;
  const key = asKeyObject(await find(header, { protected: protectedHeader, payload, signature }));
  const signed = Buffer.from(`${protectedHeader}.${payload}`, "latin1");
  if (!isSignedBy(key, scheme, signed, decode(signature))) throw new errors.JWSSignatureVerificationFailed();
  return { header, payload: decode(payload) };
}

function readHeader(token: string): CompactJWSHeaderParameters {
  let header: ReturnType<typeof decodeProtectedHeader>;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    throw new errors.JWSInvalid("JWS Protected Header is invalid");
  }
  const { alg } = header;
  if (typeof alg !== "string") throw new errors.JWSInvalid("alg is missing");
  // No extension is understood here, an unencoded payload (RFC 7797) neither (RFC 7515 §4.1.11).
  if (Object.hasOwn(header, "crit")) throw new errors.JOSENotSupported("crit is not supported");
  return { ...header, alg };
}

function asKeyObject(key: CryptoKey): KeyObject {
  let found = keyObjects.get(key);
  if (found === undefined) keyObjects.set(key, (found = KeyObject.from(key)));
  return found;
}

function isSignedBy(key: KeyObject, { hash, options }: Scheme, signed: Buffer, signature: Buffer): boolean {
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (key.asymmetricKeyType === "rsa" && (bits === undefined || bits < MIN_RSA_BITS))
    throw new errors.JOSENotSupported(`RSA keys need ${MIN_RSA_BITS} bits`);
  try {
    return verify(hash, signed, { key, ...options }, signature);
  } catch {
    // What OpenSSL cannot read as a signature.
    return false;
  }
}

/** Whether the claims of this JWT, whose signature was checked elsewhere, are JSON for every reader. */
export function hasPlainClaims(token: string): boolean {
  return parseForeignJson(Buffer.from(token.split(".")[1] ?? "", "base64url")) !== undefined;
}

/** Texts that mean the same bytes but are written otherwise are refused: there is one way to write a token. */
function decode(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new errors.JWSInvalid("not base64url");
  return bytes;
}

/** The signature fits no key that the issuer publishes, as opposed to keys that could not be read. */
export function fitsNoKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}
