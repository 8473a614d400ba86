/** Proof Key for Code Exchange, S256 only (RFC 7636; OAuth 2.1 §4.1.1). */

import { hashSecret, sameSecret } from "../../../shared/keys.ts";

/** A SHA-256 hash in base64url has exactly 43 characters (RFC 7636 §4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** `code-verifier = 43*128unreserved` (RFC 7636 §4.1). */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** BASE64URL-ENCODE(SHA256(ASCII(code_verifier))) == code_challenge (RFC 7636 §4.6). */
export function matchesChallenge(verifier: string, challenge: string): boolean {
  return sameSecret(hashSecret(verifier), challenge);
}
