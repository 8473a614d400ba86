/** When a person last showed the provider who they are, and how they are asked to do so again. */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";

/** What is grave asks for a sign-in that is no older. */
export const FRESH_SIGN_IN_SECONDS = 15 * 60;
/** Clocks differ. */
const SKEW_SECONDS = 60;

/**
 * Parameters by which a provider asks the person anew, whatever session they have with it.
 *
 * With `max_age` its ID token must say when that was. Google refuses `login`, and has nothing stronger than the choice of an
 * account.
 *
 * @see OpenID Connect Core §3.1.2.1
 */
export function freshSignIn({ providerUrl }: Pick<IdpSettings, "providerUrl">): Readonly<Record<string, string>> {
  if (URL.parse(providerUrl)?.host === "accounts.google.com") return { prompt: "select_account" };
  return { prompt: "login", max_age: String(FRESH_SIGN_IN_SECONDS) };
}

/** Of the ID token in the provider's answer, if there was one. */
interface TokenSet {
  readonly idClaims?: Readonly<Record<string, unknown>>;
}

/** @returns epoch seconds, never in the future; undefined where the provider does not say */
export function authTime({ idClaims }: TokenSet, now: number): number | undefined {
  const said = idClaims?.["auth_time"];
  return typeof said === "number" && Number.isFinite(said) ? Math.min(Math.floor(said), now) : undefined;
}

/** Whether the provider says that it did not ask, though it was told to: its own session is older. */
export function isStale(tokens: TokenSet, now: number): boolean {
  const at = authTime(tokens, now);
  return at !== undefined && at < now - FRESH_SIGN_IN_SECONDS - SKEW_SECONDS;
}
