/**
 * DPoP proofs: a client signs each request with a private key, and its tokens are valid only together with that key
 * (RFC 9449, SEP-1932).
 *
 * Untrusted input: the header. Promises: only asymmetric algorithms and public keys that key-set.ts accepts; a proof is
 * valid for one method, one address without its query, one access token, and for `PROOF_SECONDS` before and after its
 * time. Proofs are not remembered: with `dpop_nonce` the same proof is valid for two to three minutes at most.
 */
import { createHash, createPublicKey, type KeyObject } from "node:crypto";

import type { JWK } from "jose";

import { verifySignature } from "../../issuers/compact-jws.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { canonicalPath } from "../../shared/http/target.ts";
import { isRecord } from "../../shared/is-record.ts";
import { parseForeignJson } from "../../shared/json/foreign-json.ts";
import { parseKeySet, SIGNING_ALGORITHMS } from "../../shared/key-set.ts";

/** Algorithms of proofs, as metadata lists them. */
export const PROOF_ALGORITHMS: readonly string[] = SIGNING_ALGORITHMS;

/** SEP-1932: "MUST verify that the `iat` claim is within ±5 minutes". */
const PROOF_SECONDS = 300;
const MAX_PROOF_CHARACTERS = 8192;
const MAX_JTI_CHARACTERS = 512;

/** The request that a proof must state. */
export interface ProvenRequest {
  readonly method: string;
  /** "https://mcp.example.com" */
  readonly origin: string;
  /** Canonical path. */
  readonly path: string;
  /** At a resource: the access token that is sent along. */
  readonly accessToken?: string;
  /** Epoch seconds. */
  readonly now: number;
}

export type ProofResult =
  /** `thumbprint`: SHA-256 of the public key (RFC 7638), in base64url. `nonce`: as the client sent it, if it did. */
  | { readonly ok: true; readonly thumbprint: string; readonly nonce: string | undefined }
  /** `problem`: for the log. */
  | { readonly ok: false; readonly problem: string };

interface ProofKey extends Visited {
  readonly key: KeyObject;
  readonly alg: string;
  readonly thumbprint: string;
}

/** Keys of clients whose signature was valid, by the text of the proof's header, which a client sends each time. */
export type ProofKeys = BoundedCache<ProofKey>;

export function createProofKeys(): ProofKeys {
  return new BoundedCache<ProofKey>(1_000);
}

/** @param headers values of the header `DPoP`: exactly one must be there (RFC 9449 §4.3) */
export function checkProof(headers: readonly string[], request: ProvenRequest, keys?: ProofKeys): ProofResult {
  const [proof = "", ...others] = headers;
  if (proof === "") return bad("there is no DPoP header");
  if (others.length > 0) return bad("there are several DPoP headers");
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(proof);
  if (!parts || proof.length > MAX_PROOF_CHARACTERS) return bad("it is not a compact JWS");
  const [, head = "", body = "", signature = ""] = parts;

  const known = keys?.get(head);
  const read = known ? { ok: true as const, key: known } : readKey(head);
  if (!read.ok) return read;
  const { key, alg, thumbprint } = read.key;
  if (!verifySignature(key, alg, `${head}.${body}`, signature)) return bad("its signature is not valid");
  if (!known) keys?.set(head, read.key);

  const claims = parseForeignJson(Buffer.from(body, "base64url"));
  if (!isRecord(claims)) return bad("its claims cannot be read");
  const problem = claimProblem(claims, request);
  if (problem !== undefined) return bad(problem);
  const { nonce } = claims;
  return { ok: true, thumbprint, nonce: typeof nonce === "string" ? nonce : undefined };
}

function readKey(head: string): { readonly ok: true; readonly key: ProofKey } | Extract<ProofResult, { ok: false }> {
  const header = parseForeignJson(Buffer.from(head, "base64url"));
  if (!isRecord(header)) return bad("its header cannot be read");
  const { typ, alg, jwk, crit } = header;
  if (typ !== "dpop+jwt") return bad("typ is not dpop+jwt");
  if (typeof alg !== "string" || !PROOF_ALGORITHMS.includes(alg)) return bad("its alg is not allowed");
  if (crit !== undefined) return bad("crit is not supported");
  if (!isRecord(jwk)) return bad("jwk is missing");
  const parsed = parseKeySet({ keys: [jwk] }, 1);
  const [usable] = parsed.ok ? parsed.value.keys : [];
  if (usable === undefined) return bad("jwk is not a usable public key");
  if (!isFor(alg, usable)) return bad("alg does not fit jwk");
  const key = createPublicKey({ key: usable, format: "jwk" });
  return { ok: true, key: { key, alg, thumbprint: thumbprintOf(usable), visited: false } };
}

/** Returns true if the key is of the algorithm's type and curve. */
function isFor(alg: string, { kty, crv, alg: declared }: JWK): boolean {
  if (declared !== undefined && declared !== alg) return false;
  switch (alg) {
    case "ES256":
      return kty === "EC" && crv === "P-256";
    case "ES384":
      return kty === "EC" && crv === "P-384";
    case "EdDSA":
      return kty === "OKP";
    default:
      return kty === "RSA";
  }
}

/** RFC 7638 §3, of a key as key-set.ts returns it. */
function thumbprintOf({ kty, crv, x, y, n, e }: JWK): string {
  const members = kty === "RSA" ? { e, kty, n } : kty === "EC" ? { crv, kty, x, y } : { crv, kty, x };
  return createHash("sha256").update(JSON.stringify(members)).digest("base64url");
}

/** RFC 9449 §4.3, from the claims on. */
function claimProblem(claims: Readonly<Record<string, unknown>>, request: ProvenRequest): string | undefined {
  const { htm, htu, iat, exp, nbf, jti, ath } = claims;
  if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI_CHARACTERS) return "jti is missing or too long";
  if (htm !== request.method) return "htm is not the method of the request";
  if (typeof htu !== "string" || !isAddress(htu, request)) return "htu is not the address of the request";
  if (typeof iat !== "number" || !(Math.abs(request.now - iat) <= PROOF_SECONDS))
    return "iat is not within 5 minutes of now";
  if (exp !== undefined && !(typeof exp === "number" && exp > request.now)) return "it has expired";
  if (nbf !== undefined && !(typeof nbf === "number" && nbf <= request.now + PROOF_SECONDS))
    return "nbf is in the future";
  const { accessToken } = request;
  if (accessToken !== undefined && ath !== createHash("sha256").update(accessToken).digest("base64url"))
    return "ath is not the hash of the access token";
  return undefined;
}

/** "ignoring any query and fragment parts" (RFC 9449 §4.3). */
function isAddress(htu: string, { origin, path }: ProvenRequest): boolean {
  if (htu === origin + path) return true;
  if (!URL.canParse(htu)) return false;
  const url = new URL(htu);
  if (url.username !== "" || url.password !== "") return false;
  return url.origin === new URL(origin).origin && hasPath(url.pathname, path);
}

function hasPath(written: string, path: string): boolean {
  const canonical = canonicalPath(written);
  return canonical.ok && canonical.path === path;
}

function bad(problem: string): Extract<ProofResult, { ok: false }> {
  return { ok: false, problem };
}
