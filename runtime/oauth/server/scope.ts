/**
 * Scopes. There is one, `mcp`: what a client may do with it is decided per request by the route's policy.
 *
 * Unknown scopes are not refused: clients ask for what other servers taught them ("openid profile"). They get the known
 * part, and the answer says which (RFC 6749 §3.3).
 */
export const SCOPES_SUPPORTED: readonly string[] = ["mcp"];

export const DEFAULT_SCOPE = "mcp";

/** The scope to grant for a requested one; the default when none was requested or none of it is known. */
export function grantedScope(requested: string | undefined): string {
  const known = new Set(requested?.split(" ").filter((token) => SCOPES_SUPPORTED.includes(token)));
  return known.size === 0 ? DEFAULT_SCOPE : [...known].sort().join(" ");
}

/** True when every token of `scope` is in `granted`. */
export function coversScope(granted: string, scope: string): boolean {
  const have = new Set(granted.split(" "));
  return scope.split(" ").every((token) => have.has(token));
}
