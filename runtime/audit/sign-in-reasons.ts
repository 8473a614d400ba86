/** Reasons that ask a caller without credentials to sign in. A rejected credential is a denial. */
const REASONS = new Set<unknown>(["credential-missing", "user-unauthenticated"]);

/** @param reasons why no allow rule matched @returns whether, as far as known, only a sign-in is missing */
export function asksToSignIn(reasons: readonly unknown[]): boolean {
  return reasons.length > 0 && reasons.every((reason) => REASONS.has(reason));
}
