/** Time of a user's last authentication at the provider, and parameters that require a new one. */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";

/** Maximum age of the sign-in for sensitive actions. */
export const FRESH_SIGN_IN_SECONDS = 15 * 60;
/** Allowed clock difference. */
const SKEW_SECONDS = 60;

/**
 * Parameters that make a provider authenticate the user again, whatever session they have there.
 *
 * With `max_age`, its ID token must contain the time of authentication. Google rejects `login` and offers at most the
 * choice of an account.
 *
 * @see OpenID Connect Core §3.1.2.1
 */
export function freshSignIn({ providerUrl }: Pick<IdpSettings, "providerUrl">): Readonly<Record<string, string>> {
  if (URL.parse(providerUrl)?.host === "accounts.google.com") return { prompt: "select_account" };
  return { prompt: "login", max_age: String(FRESH_SIGN_IN_SECONDS) };
}

/** Claims of the ID token in the provider's response, if it had one. */
interface TokenSet {
  readonly idClaims?: Readonly<Record<string, unknown>>;
}

/** @returns epoch seconds, never in the future; undefined if the provider sends none */
export function authTime({ idClaims }: TokenSet, now: number): number | undefined {
  const said = idClaims?.["auth_time"];
  return typeof said === "number" && Number.isFinite(said) ? Math.min(Math.floor(said), now) : undefined;
}

/** Returns true if the provider states an older authentication although a new one was required. */
export function isStale(tokens: TokenSet, now: number): boolean {
  const at = authTime(tokens, now);
  return at !== undefined && at < now - FRESH_SIGN_IN_SECONDS - SKEW_SECONDS;
}
