/** Scopes as sets: space-separated, case-sensitive, order without meaning (RFC 6749 §3.3). */

/** The members of a scope text; what is no scope token is left out. */
export function scopeSet(text: string | undefined): readonly string[] {
  return [...new Set((text ?? "").split(" ").filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))];
}

/** Everything of both, the first ones first. */
export function joinScopes(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}

export interface ScopeSources {
  /** Of the route; when there are any, the operator has decided. */
  readonly configured: readonly string[];
  /** Of the upstream's challenge. */
  readonly challenged: readonly string[];
  /** `scopes_supported` of the protected resource. */
  readonly ofResource: readonly string[];
  /** `scopes_supported` of the authorization server. */
  readonly ofServer: readonly string[];
  /** What the user's token has, and what the upstream has since asked for more. */
  readonly held: readonly string[];
}

/**
 * What to ask for: the route's scopes, else the challenge's, else the resource's, else none; with what is already held.
 *
 * `offline_access` is added where the authorization server knows it: without it many give no refresh token.
 */
export function chooseScopes(sources: ScopeSources): readonly string[] {
  const { configured, challenged, ofResource, ofServer, held } = sources;
  if (configured.length > 0) return joinScopes(configured, held);
  const asked = challenged.length > 0 ? challenged : ofResource;
  const offline = ofServer.includes("offline_access") ? ["offline_access"] : [];
  return joinScopes(asked, held, offline);
}
