/**
 * Scopes. Every token has `mcp`, whose rights the route's policy decides per request. Routes may require further scopes
 * for their tools (`mcp.server.tool_scopes`).
 *
 * Unknown scopes are not rejected: clients request what other servers support ("openid profile"). They get the known
 * ones, and the response lists them (RFC 6749 §3.3).
 */
import type { McpServerRoute } from "./find-issuer.ts";

export const DEFAULT_SCOPE = "mcp";

type Scoped = Pick<McpServerRoute, "mcp">;

/** Scopes that clients may request for these routes, `mcp` first. */
export function scopesSupported(routes: readonly Scoped[]): readonly string[] {
  const ofTools = routes.flatMap(({ mcp }) => [...(mcp.toolScopes?.tools.keys() ?? [])]);
  return [DEFAULT_SCOPE, ...new Set(ofTools.sort())];
}

/** Scope to grant: `mcp`, and the requested scopes that exist. */
export function grantedScope(requested: string | undefined, routes: readonly Scoped[]): string {
  const requestedScopes = new Set(requested?.split(" "));
  return scopesSupported(routes)
    .filter((scope) => scope === DEFAULT_SCOPE || requestedScopes.has(scope))
    .join(" ");
}

/** Returns true if `granted` contains every token of `scope`. */
export function coversScope(granted: string, scope: string): boolean {
  const have = new Set(granted.split(" "));
  return scope.split(" ").every((token) => have.has(token));
}

/** The union. */
export function joinScopes(one: string, other: string): string {
  return [...new Set([...one.split(" "), ...other.split(" ")])].join(" ");
}

/** The tool scopes, as tokens contain them. */
export function toolScopesIn(scope: string): { readonly scopes?: readonly string[] } {
  const scopes = scope.split(" ").filter((each) => each !== DEFAULT_SCOPE);
  return scopes.length === 0 ? {} : { scopes };
}
