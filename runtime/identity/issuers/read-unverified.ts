import { decodeJwt, decodeProtectedHeader } from "jose";

/** What a signed text says of itself: which kind it is, and whose. A look-up, no more. */
export interface Unverified {
  readonly type: unknown;
  readonly issuer: unknown;
}

/** @returns undefined for what is no compact JWS of three parts (five: encrypted) */
export function readUnverified(token: string): Unverified | undefined {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  try {
    return { type: decodeProtectedHeader(token).typ, issuer: decodeJwt(token).iss };
  } catch {
    return undefined;
  }
}
