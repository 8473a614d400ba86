/**
 * Routes of the Gateway API that match the same requests: no conflict, the first one takes them.
 *
 * First is the older object, then the earlier rule and match. Conditions that differ but count alike get priorities in that order.
 *
 * @see HTTPRouteRule.matches, "Proxy or Load Balancer routing configuration generated from HTTPRoutes"
 */
import { append } from "../../../shared/linear/append.ts";
import { canonicalPattern } from "../hosts/host-claims.ts";
import type { DraftRoute, IngressDraft } from "../draft.ts";

/** Members of a route that state how requests match. */
const CONDITIONS = ["match_methods", "match_headers", "match_query"] as const;

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
    for (const route of routes) if (hasConditions(route)) append(chains, chainOf(route), route);
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

function hasConditions({ doc }: DraftRoute): boolean {
  return CONDITIONS.some((name) => doc[name] !== undefined);
}

function pathOf({ place, doc }: DraftRoute): string {
  // Origins of one gateway have one scheme.
  const port = /:[0-9]+$/.exec(String(doc["from"]))?.[0] ?? "";
  return `${canonicalPattern(place.host)}${port} ${place.match.kind} ${place.match.path}`;
}

function matchOf(route: DraftRoute): string {
  return hasConditions(route)
    ? `${pathOf(route)} ${JSON.stringify(CONDITIONS.map((name) => sorted(route.doc[name])))}`
    : pathOf(route);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Equal for routes whose conditions count alike. */
function chainOf(route: DraftRoute): string {
  const counts = CONDITIONS.map((name) => Object.keys(route.doc[name] ?? {}).length);
  return `${pathOf(route)} ${JSON.stringify([Math.min(counts[0] ?? 0, 1), counts[1], counts[2]])}`;
}
