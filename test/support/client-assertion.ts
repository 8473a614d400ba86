/** Keys of clients that sign, and what they sign with them (`private_key_jwt`). @see RFC 7523 §3 */
import { randomUUID } from "node:crypto";

import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

import { ORIGIN } from "./issuer.ts";

export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** A client known by its document, and where its keys are published. */
export const DOCUMENT_ID = "https://app.example.org/oauth/client.json";
export const KEYS_URL = "https://app.example.org/oauth/keys.json";

export interface SigningKey {
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** @param kid only when given */
export async function makeSigningKey(alg: string, kid?: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), ...(kid === undefined ? {} : { kid }) } };
}

/** Claims of a valid assertion for five minutes. @param claims replace them; undefined omits one */
export function assertionClaims(
  clientId: string,
  nowMs: number,
  claims: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const now = Math.floor(nowMs / 1000);
  const all = { iss: clientId, sub: clientId, aud: ORIGIN, iat: now, exp: now + 300, jti: randomUUID(), ...claims };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** @param header members in addition to, or instead of, `alg` */
export function signAssertion(
  claims: Readonly<Record<string, unknown>>,
  by: SigningKey,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: by.alg, ...header }).sign(by.privateKey);
}
