/** Which scopes a sign-in asks for. Pure. */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";

const USUAL_SCOPES = ["openid", "profile", "email"];

interface Metadata {
  readonly scopes_supported?: readonly string[];
  readonly authorization_endpoint?: string;
}

/** The path of Keycloak's, below a realm. */
const KEYCLOAK = /\/protocol\/openid-connect\/auth$/;

/**
 * Whether tokens that outlive the provider's session must be asked for apart from the sign-in. A sign-in with `offline_access` makes
 * Keycloak keep an offline session alone: other applications ask for the password again, and its end is told to nobody.
 */
export function asksOfflineApart(settings: Pick<IdpSettings, "scopes">, metadata: Metadata): boolean {
  const isKeycloak = KEYCLOAK.test(metadata.authorization_endpoint ?? "");
  return isKeycloak && allScopes(settings, metadata).includes("offline_access");
}

/** @param isOffline of the second authorization, for tokens that outlive the session */
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
 * The configured scopes; without them the usual ones, and `offline_access` unless the metadata lists scopes and not this
 * one: some providers refuse a sign-in for a scope that they do not know (Google, whose way is a parameter).
 *
 * @see OpenID Connect Discovery §3: a provider need not list all its scopes, so what is configured is asked for as it is
 */
function allScopes(settings: Pick<IdpSettings, "scopes">, metadata: Metadata): readonly string[] {
  if (settings.scopes !== undefined) return settings.scopes;
  const listed = metadata.scopes_supported;
  return listed === undefined || listed.includes("offline_access") ? [...USUAL_SCOPES, "offline_access"] : USUAL_SCOPES;
}
