/**
 * Foreign public keys, from a JWK set → the keys we verify with.
 *
 * Untrusted input: the whole set. Promises: no private or symmetric key is accepted, and none declared for another use.
 * A key costs as much to verify with as an ordinary one (with a modulus of 2048 bits and an exponent as long, one
 * signature takes 5–10 ms).
 *
 * @see RFC 7517 §5, RFC 7518 §6, RFC 8037 §2
 */
import { createPublicKey } from "node:crypto";

import type { JSONWebKeySet, JWK } from "jose";
import { isRecord } from "./is-record.ts";

/** `Accept` for key sets, and for metadata. The API server of Kubernetes responds with 406 without the type of RFC 7517. */
export const KEY_SET_TYPES = "application/json, application/jwk-set+json";

/** Signatures we verify (RFC 7518 §3.1, RFC 8037): asymmetric ones only. */
export const SIGNING_ALGORITHMS: readonly string[] = ["ES256", "ES384", "EdDSA", "PS256", "RS256"];

/** Limit for a client's set. */
const MAX_KEYS = 20;
const MAX_MEMBER_CHARACTERS = 2048;
const MIN_MODULUS_BITS = 2048;
const MAX_MODULUS_BITS = 4096;
const MAX_EXPONENT_BITS = 32;
/** Bytes of each coordinate. */
const COORDINATE_BYTES: ReadonlyMap<unknown, number> = new Map([
  ["P-256", 32],
  ["P-384", 48],
]);
const ED25519_BYTES = 32;
/** Members of public keys. Others (certificates, addresses of certificates) are ignored. */
const PUBLIC_MEMBERS = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"] as const;
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

export type ParsedKeySet =
  | {
      readonly ok: true;
      /** Keys for verification; none when all keys of the set are for other purposes. */
      readonly value: JSONWebKeySet;
      /** One line for each invalid verification key: which one and why. Sent to the client that registers it. */
      readonly problems: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

type Key = Readonly<Record<string, unknown>>;

/**
 * The public keys of a JWK set. "Implementations SHOULD ignore JWKs … that use kty values … not understood" (RFC 7517
 * §5).
 *
 * @param maxKeys a larger set is rejected as a whole
 */
export function parseKeySet(value: unknown, maxKeys = MAX_KEYS): ParsedKeySet {
  const keys = isRecord(value) ? value["keys"] : undefined;
  if (!Array.isArray(keys) || !keys.every(isRecord)) return bad("must be a set of public keys");
  if (keys.length === 0 || keys.length > maxKeys) return bad(`has ${keys.length} keys, must have 1 to ${maxKeys}`);
  if (keys.some((key) => key["kty"] === "oct" || PRIVATE_MEMBERS.some((name) => name in key)))
    return bad("has a key that must be kept secret, must be a set of public keys");
  const checked = keys.filter(isForUs).map((key) => ({ key, problem: keyProblem(key) }));
  return {
    ok: true,
    value: { keys: checked.filter(({ problem }) => problem === undefined).map(({ key }) => publicMembers(key)) },
    problems: checked
      .filter(({ problem }) => problem !== undefined)
      .map(({ key, problem }) => `key ${keys.indexOf(key) + 1} ${problem}`),
  };
}

/**
 * The reason why an assertion could not name one of these keys: a JWS uses the kid for this (RFC 7517 §4.5).
 *
 * @param set as parsed
 */
export function kidProblem({ keys }: JSONWebKeySet): string | undefined {
  for (const alike of Map.groupBy(keys, ({ kty, crv }) => crv ?? kty).values()) {
    const kids = new Set(alike.map(({ kid }) => kid));
    if (alike.length > 1 && (kids.size < alike.length || kids.has(undefined)))
      return `has ${alike.length} keys of one kind, each of them must have a kid of its own`;
  }
  return undefined;
}

/** Whether a key is declared for a kind of signature that the gateway verifies. */
function isForUs({ kty, crv, use, key_ops: operations, alg }: Key): boolean {
  if (use !== undefined && use !== "sig") return false;
  // The other declaration of a key's use (RFC 7517 §4.3).
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return false;
  if (alg !== undefined && !SIGNING_ALGORITHMS.includes(alg as string)) return false;
  if (kty === "EC") return COORDINATE_BYTES.has(crv);
  return kty === "OKP" ? crv === "Ed25519" : kty === "RSA";
}

function keyProblem(key: Key): string | undefined {
  if (key["kty"] === "RSA") return rsaProblem(key);
  const { crv } = key;
  const bytes = COORDINATE_BYTES.get(crv);
  const isComplete =
    bytes === undefined
      ? decode(key["x"])?.length === ED25519_BYTES
      : decode(key["x"])?.length === bytes && decode(key["y"])?.length === bytes;
  return isComplete && canBeRead(publicMembers(key)) ? undefined : `is not a point of the curve ${String(crv)}`;
}

function rsaProblem({ n, e }: Key): string | undefined {
  const modulus = decode(n);
  const modulusBits = bitsOf(modulus);
  if (modulusBits < MIN_MODULUS_BITS || modulusBits > MAX_MODULUS_BITS || !isOdd(modulus))
    return `has a modulus of ${modulusBits} bits, must be odd with ${MIN_MODULUS_BITS} to ${MAX_MODULUS_BITS}`;
  const exponent = decode(e);
  const exponentBits = bitsOf(exponent);
  // Verification takes a multiplication for each bit; in practice it is always 65537.
  if (exponentBits < 2 || exponentBits > MAX_EXPONENT_BITS || !isOdd(exponent))
    return `has a public exponent of ${exponentBits} bits, must be odd, above 1, with at most ${MAX_EXPONENT_BITS}`;
  return undefined;
}

/** Bytes of base64url; undefined for everything else. */
function decode(value: unknown): Buffer | undefined {
  const isText = typeof value === "string" && value.length <= MAX_MEMBER_CHARACTERS;
  return isText && /^[A-Za-z0-9_-]+$/.test(value) ? Buffer.from(value, "base64url") : undefined;
}

function bitsOf(bytes: Buffer = Buffer.alloc(0)): number {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - (Math.clz32(bytes[first] ?? 0) - 24);
}

function isOdd(bytes: Buffer | undefined): boolean {
  return ((bytes?.at(-1) ?? 0) & 1) === 1;
}

/** OpenSSL rejects points that are not on their curve. */
function canBeRead(key: JWK): boolean {
  try {
    createPublicKey({ key, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}

function publicMembers(key: Key): JWK {
  const isShortText = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_MEMBER_CHARACTERS;
  return Object.fromEntries(PUBLIC_MEMBERS.filter((name) => isShortText(key[name])).map((name) => [name, key[name]]));
}

function bad(problem: string): { ok: false; problem: string } {
  return { ok: false, problem };
}
