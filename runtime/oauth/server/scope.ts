/**
 * Scopes. Every token has `mcp`: what a client may do with it is decided per request by the route's policy. Beside it there
 * are those that routes ask for their tools (`mcp.server.tool_scopes`).
 *
 * Unknown scopes are not refused: clients ask for what other servers taught them ("openid profile"). They get the known
 * part, and the answer says which (RFC 6749 §3.3).
 */
import type { McpServerRoute } from "./find-issuer.ts";

export const DEFAULT_SCOPE = "mcp";

type Scoped = Pick<McpServerRoute, "mcp">;

/** What clients may ask for where these routes are, `mcp` first. */
export function scopesSupported(routes: readonly Scoped[]): readonly string[] {
  const ofTools = routes.flatMap(({ mcp }) => [...(mcp.toolScopes?.tools.keys() ?? [])]);
  return [DEFAULT_SCOPE, ...new Set(ofTools.sort())];
}

/** The scope to grant for a requested one: `mcp`, and of the others what there is. */
export function grantedScope(requested: string | undefined, routes: readonly Scoped[]): string {
  const asked = new Set(requested?.split(" "));
  return scopesSupported(routes)
    .filter((scope) => scope === DEFAULT_SCOPE || asked.has(scope))
    .join(" ");
}

/** True when every token of `scope` is in `granted`. */
export function coversScope(granted: string, scope: string): boolean {
  const have = new Set(granted.split(" "));
  return scope.split(" ").every((token) => have.has(token));
}

/** Both. */
export function joinScopes(one: string, other: string): string {
  return [...new Set([...one.split(" "), ...other.split(" ")])].join(" ");
}

/** Those for tools, as tokens carry them. */
export function toolScopesIn(scope: string): { readonly scopes?: readonly string[] } {
  const scopes = scope.split(" ").filter((each) => each !== DEFAULT_SCOPE);
  return scopes.length === 0 ? {} : { scopes };
}
