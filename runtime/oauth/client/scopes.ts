/** Scopes as sets: space-separated, case-sensitive, order without meaning (RFC 6749 §3.3). */

/** Parses a scope text. Invalid scope tokens are skipped. */
export function scopeSet(text: string | undefined): readonly string[] {
  return [...new Set((text ?? "").split(" ").filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))];
}

/** The union, in order. */
export function joinScopes(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}

export interface ScopeSources {
  /** Scopes of the route; if present, the operator has decided. */
  readonly configured: readonly string[];
  /** Scopes of the upstream's challenge. */
  readonly challenged: readonly string[];
  /** `scopes_supported` of the protected resource. */
  readonly ofResource: readonly string[];
  /** `scopes_supported` of the authorization server. */
  readonly ofServer: readonly string[];
  /** Scopes of the user's token, and those that the upstream has required since. */
  readonly held: readonly string[];
}

/**
 * Scopes to request: the route's, else the challenge's, else the resource's, else none; plus the current ones.
 *
 * `offline_access` is added if the authorization server supports it: without it many issue no refresh token.
 */
export function chooseScopes(sources: ScopeSources): readonly string[] {
  const { configured, challenged, ofResource, ofServer, held } = sources;
  if (configured.length > 0) return joinScopes(configured, held);
  const requested = challenged.length > 0 ? challenged : ofResource;
  const offline = ofServer.includes("offline_access") ? ["offline_access"] : [];
  return joinScopes(requested, held, offline);
}
