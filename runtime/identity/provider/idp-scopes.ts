/** Which scopes a sign-in asks for. Pure. */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";

const USUAL_SCOPES = ["openid", "profile", "email"];

/**
 * The configured scopes; without them the usual ones, and `offline_access` unless the metadata lists scopes and not this
 * one: some providers refuse a sign-in for a scope that they do not know (Google, whose way is a parameter).
 *
 * @see OpenID Connect Discovery §3: a provider need not list all its scopes, so what is configured is asked for as it is
 */
export function scopesFor(
  settings: Pick<IdpSettings, "scopes">,
  metadata: { readonly scopes_supported?: readonly string[] },
): readonly string[] {
  if (settings.scopes !== undefined) return settings.scopes;
  const listed = metadata.scopes_supported;
  return listed === undefined || listed.includes("offline_access") ? [...USUAL_SCOPES, "offline_access"] : USUAL_SCOPES;
}
