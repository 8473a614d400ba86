import { decodeJwt, decodeProtectedHeader } from "jose";

/** Maximum length of an issuer's signed text. Longer texts are rejected unread. */
export const MAX_ASSERTION_CHARACTERS = 16_384;
const MAX_ID_CHARACTERS = 512;

/** Returns true if a `jti` or `sid` can identify exactly one token or session. */
export function isUsableId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_CHARACTERS;
}

/** Returns true if `aud` names only our own audiences. Other parties in the list could also present the token. */
export function isOnlyAudience(aud: unknown, isOurs: (audience: string) => boolean): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.length > 0 && named.every((each) => typeof each === "string" && isOurs(each));
}

/** Unverified type and issuer of a token. For look-ups only. */
export interface Unverified {
  readonly type: unknown;
  readonly issuer: unknown;
}

/** @returns undefined if the text is not a compact JWS of three parts (an encrypted one has five) */
export function readUnverified(token: string): Unverified | undefined {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  try {
    return { type: decodeProtectedHeader(token).typ, issuer: decodeJwt(token).iss };
  } catch {
    return undefined;
  }
}
