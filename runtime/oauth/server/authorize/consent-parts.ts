/** Scopes, tools and duration of the requested access, for the consent page. */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { Principal } from "../../../identity/principal.ts";
import type { AccessLength, ConsentScope, ConsentTools } from "../../../pages/consent.ts";
import { findToolReach } from "../../../policy/reach.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { visibleText } from "../../../shared/json/visible-text.ts";
import type { Client } from "../clients/client.ts";
import type { IssuerDeps } from "../deps.ts";
import type { McpServerRoute } from "../find-issuer.ts";

/** @param scope space-separated scopes of the request; tools come from the settings of the routes */
export function consentScopes(scope: string, routes: readonly McpServerRoute[]): readonly ConsentScope[] {
  return scope.split(" ").map((each) => ({
    scope: each,
    tools: [...new Set(routes.flatMap(({ mcp }) => mcp.toolScopes?.tools.get(each) ?? []))],
  }));
}

/** The user's access to the tools of a single server; undefined if no tools are known. */
export function consentTools(
  { knownTools }: Pick<IssuerDeps, "knownTools">,
  routes: readonly McpServerRoute[],
  { user }: Principal,
): ConsentTools | undefined {
  const [route] = routes;
  const known = routes.length === 1 && route ? knownTools?.(route, user.id) : undefined;
  if (!route || !known || known.names.length === 0) return undefined;
  const { names, isComplete } = known;
  const tools = { allowed: [] as string[], approval: [] as string[] };
  for (const name of names) {
    const { outcome } = findToolReach(route.policy, user, name);
    // Lists hide the names of denied tools.
    if (outcome === "allowed" || outcome === "approval") tools[outcome].push(visibleText(name));
  }
  return { ...tools, isComplete, denied: names.length - tools.allowed.length - tools.approval.length };
}

/** Same as in the grant, see `createGrant`. */
export function accessLength(
  { clock }: { readonly clock: Clock },
  snapshot: Snapshot,
  client: Client,
  principal: Principal,
): AccessLength {
  const { refreshToken: idleSeconds, refreshTokenAbsolute: totalSeconds } = snapshot.settings.lifetimes;
  if (client.metadata.grant_types.includes("refresh_token")) return { kind: "while-used", idleSeconds, totalSeconds };
  const endsAt = Math.min(principal.expiresAt, epochSeconds(clock) + (totalSeconds ?? Infinity));
  return { kind: "session", ends: new Date(endsAt * 1000) };
}
