/**
 * Verifies the signature of a compact JWS (RFC 7515 §5.2) on this thread.
 *
 * jose chooses the key and checks that it matches the header. Its own signature check uses WebCrypto on another thread,
 * which costs two to three times the check itself (decision 154). Untrusted input: the token. Promises: only the
 * requested algorithms, no RSA key below 2048 bits, no critical header that is not understood, and nothing unsigned is
 * returned.
 */
import { constants, KeyObject, verify, type VerifyKeyObjectInput } from "node:crypto";

import { decodeProtectedHeader, errors, type CompactJWSHeaderParameters, type createLocalJWKSet } from "jose";
import { parseForeignJson } from "../shared/json/foreign-json.ts";

export type FindKey = ReturnType<typeof createLocalJWKSet>;

interface Scheme {
  /** null: the algorithm defines its own hash. */
  readonly hash: string | null;
  readonly options: Omit<VerifyKeyObjectInput, "key">;
}

const PKCS1 = { padding: constants.RSA_PKCS1_PADDING };
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const ECDSA = { dsaEncoding: "ieee-p1363" } as const;
/** Node parameters by `alg` (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2). */
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

/** A key set reuses its `CryptoKey` objects, so each is converted once. */
const keyObjects = new WeakMap<CryptoKey, KeyObject>();

/** @throws JOSEError if the token is not a compact JWS signed by a usable key */
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
  // No extension is supported, including unencoded payloads (RFC 7797, RFC 7515 §4.1.11).
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
    // OpenSSL cannot parse the signature.
    return false;
  }
}

/**
 * Verifies a signature with a known key. `alg` must be one of `SCHEMES`, and fit the key.
 *
 * @param signed header and payload, with the dot between them
 * @param signature base64url
 */
export function verifySignature(key: KeyObject, alg: string, signed: string, signature: string): boolean {
  const scheme = SCHEMES.get(alg);
  const bytes = Buffer.from(signature, "base64url");
  // A proof must have exactly one text form.
  if (!scheme || bytes.toString("base64url") !== signature) return false;
  return isSignedBy(key, scheme, Buffer.from(signed, "latin1"), bytes);
}

/**
 * Returns true if the claims of a JWT are JSON that every parser reads alike. The signature must be verified
 * separately.
 */
export function hasPlainClaims(token: string): boolean {
  return parseForeignJson(Buffer.from(token.split(".")[1] ?? "", "base64url")) !== undefined;
}

/** Rejects other encodings of the same bytes: a token must have exactly one text form. */
function decode(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new errors.JWSInvalid("not base64url");
  return bytes;
}

/** Returns true if no published key verifies the signature, as opposed to keys that could not be read. */
export function fitsNoKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}
