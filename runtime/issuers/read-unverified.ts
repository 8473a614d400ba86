import { decodeJwt, decodeProtectedHeader } from "jose";

/** Of a signed text of an issuer: longer ones are refused before anything of them is read. */
export const MAX_ASSERTION_CHARACTERS = 16_384;
const MAX_ID_CHARACTERS = 512;

/** Whether `jti` or `sid` can stand for one thing alone. */
export function isUsableId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_CHARACTERS;
}

/** Whether `aud` names nothing but what is ours: of a list with others in it, those could present it too. */
export function isMeantAlone(aud: unknown, isOurs: (audience: string) => boolean): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.length > 0 && named.every((each) => typeof each === "string" && isOurs(each));
}

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
