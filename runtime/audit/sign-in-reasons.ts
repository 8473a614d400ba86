/** Why a caller without credentials is asked to sign in. A credential that is not accepted is a denial. */
const REASONS = new Set<unknown>(["credential-missing", "user-unauthenticated"]);

/** @param reasons why no allow rule matched @returns whether only a sign-in is missing, as far as is known */
export function asksToSignIn(reasons: readonly unknown[]): boolean {
  return reasons.length > 0 && reasons.every((reason) => REASONS.has(reason));
}
