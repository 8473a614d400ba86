/**
 * Routes of the Gateway API that match the same requests: no conflict, the first one takes them.
 *
 * First is the older object, then the earlier rule and match. Conditions that differ but count alike get priorities in that order.
 *
 * @see HTTPRouteRule.matches, "Proxy or Load Balancer routing configuration generated from HTTPRoutes"
 */
import { compileConditions, conditionsText } from "../../../features/routing/conditions.ts";
import { append } from "../../../shared/linear/append.ts";
import { canonicalPattern } from "../hosts/host-claims.ts";
import type { DraftRoute, IngressDraft } from "../draft.ts";

/** @param drafts in the order of their age @returns them without routes that another one precedes */
export function firstMatches(drafts: readonly IngressDraft[]): readonly IngressDraft[] {
  if (drafts.every((draft) => !isGatewayApi(draft))) return drafts;
  const seen = new Set<string>();
  const chains = new Map<string, DraftRoute[]>();
  const kept = drafts.map((draft) => {
    const routes = draft.routes.filter((route) => {
      const match = matchOf(route);
      const isFirst = !seen.has(match);
      seen.add(match);
      // Two Ingresses of one match are a conflict, which validation reports.
      return isFirst || !isGatewayApi(draft);
    });
    for (const route of routes) {
      const chain = chainOf(route);
      if (chain !== undefined) append(chains, chain, route);
    }
    return routes.length === draft.routes.length ? draft : { ...draft, routes };
  });
  const priorities = new Map<DraftRoute, number>();
  for (const chain of chains.values()) {
    if (chain.length < 2) continue;
    for (const [index, route] of chain.entries()) priorities.set(route, chain.length - index);
  }
  if (priorities.size === 0) return kept;
  return kept.map((draft) => ({
    ...draft,
    routes: draft.routes.map((route) => {
      const priority = priorities.get(route);
      return priority === undefined ? route : { ...route, doc: { ...route.doc, match_priority_order: priority } };
    }),
  }));
}

function isGatewayApi({ policies }: IngressDraft): boolean {
  return policies !== undefined;
}

function pathOf({ place, doc }: DraftRoute): string {
  // Origins with the same host and port have the same scheme: others are invalid (config/rules/plain-routes.ts).
  const port = /:[0-9]+$/.exec(String(doc["from"]))?.[0] ?? "";
  return `${canonicalPattern(place.host)}${port} ${place.match.kind} ${place.match.path}`;
}

function matchOf(route: DraftRoute): string {
  return `${pathOf(route)} ${conditionsText(route.doc)}`;
}

/** Equal for routes whose conditions count alike; undefined without conditions. */
function chainOf(route: DraftRoute): string | undefined {
  const conditions = compileConditions(route.doc);
  if (!conditions) return undefined;
  const { methods, headers, query } = conditions;
  return `${pathOf(route)} ${methods.size > 0} ${headers.length} ${query.length}`;
}
