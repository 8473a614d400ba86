/** Scopes requested at a sign-in. Pure. */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";

const USUAL_SCOPES = ["openid", "profile", "email"];

interface Metadata {
  readonly scopes_supported?: readonly string[];
  readonly authorization_endpoint?: string;
}

/** Keycloak's path below a realm. */
const KEYCLOAK = /\/protocol\/openid-connect\/auth$/;

/**
 * Returns true if tokens that outlive the provider's session must be requested separately from the sign-in.
 *
 * In Keycloak, a sign-in with `offline_access` creates only an offline session: other applications ask for the password
 * again, and no application is notified of its end.
 */
export function asksOfflineApart(settings: Pick<IdpSettings, "scopes">, metadata: Metadata): boolean {
  const isKeycloak = KEYCLOAK.test(metadata.authorization_endpoint ?? "");
  return isKeycloak && allScopes(settings, metadata).includes("offline_access");
}

/** @param isOffline second authorization, for tokens that outlive the session */
export function scopesFor(
  settings: Pick<IdpSettings, "scopes">,
  metadata: Metadata,
  isOffline = false,
): readonly string[] {
  const scopes = allScopes(settings, metadata);
  if (isOffline || !asksOfflineApart(settings, metadata)) return scopes;
  return scopes.filter((scope) => scope !== "offline_access");
}

/**
 * Returns the configured scopes, or the usual ones with `offline_access`. If the metadata lists scopes without this
 * one, it is omitted: some providers reject unknown scopes (Google uses a parameter instead).
 *
 * @see OpenID Connect Discovery §3: a provider need not list all its scopes, so configured scopes are requested
 *   unchanged
 */
function allScopes(settings: Pick<IdpSettings, "scopes">, metadata: Metadata): readonly string[] {
  if (settings.scopes !== undefined) return settings.scopes;
  const listed = metadata.scopes_supported;
  return listed === undefined || listed.includes("offline_access") ? [...USUAL_SCOPES, "offline_access"] : USUAL_SCOPES;
}
