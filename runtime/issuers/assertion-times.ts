/** Checks the validity period of a signed statement. Pure. */

export const CLOCK_SKEW_SECONDS = 30;

export interface AssertionTimes {
  /** Epoch seconds, possibly with a fraction (RFC 7519 §2, NumericDate). */
  readonly exp: number;
  readonly iat: number;
}

export type TimesResult = ({ readonly ok: true } & AssertionTimes) | { readonly ok: false; readonly problem: string };

/**
 * @param now epoch seconds
 * @param endSkewSeconds how long after `exp` the statement is still accepted, since clocks differ
 */
export function readTimes(
  { exp, iat, nbf }: Readonly<Record<string, unknown>>,
  now: number,
  maxAgeSeconds: number,
  endSkewSeconds: number,
): TimesResult {
  if (!isTime(exp) || !isTime(iat)) return bad("exp or iat is missing");
  if (exp <= now - endSkewSeconds) return bad("expired");
  if (iat > now + CLOCK_SKEW_SECONDS) return bad("iat is in the future");
  if (nbf !== undefined && (!isTime(nbf) || nbf > now + CLOCK_SKEW_SECONDS)) return bad("nbf is in the future");
  if (exp - iat > maxAgeSeconds) return bad("valid for longer than max_assertion_age");
  return { ok: true, exp, iat };
}

export function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function bad(problem: string): TimesResult {
  return { ok: false, problem };
}
