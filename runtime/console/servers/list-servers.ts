/** The routes of this configuration as a list that is searched and read page by page. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { toolLockOf } from "../../mcp/tool-locks/tool-locks.ts";
import type { ConnectionCounts } from "../../oauth/client/list-connections.ts";
import { numberOf, routeScope, type RollupCounts } from "../../health/rollup.ts";
import type { RouteTraffic, ServerRow, ServersView } from "../../pages/console/servers/servers.ts";
import { policyLine } from "../../policy/words/policy-words.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { addressOf, kindOf, kindText, ROUTE_KINDS } from "./route-words.ts";
import type { ServersDeps } from "./deps.ts";

const PAGE = 50;
const MAX_SEARCH_CHARACTERS = 256;

/** Those that this person may see. */
export function visibleRoutes({
  snapshot,
  rights,
}: Pick<ConsoleRequest, "snapshot" | "rights">): readonly CompiledRoute[] {
  return rights.owners === undefined
    ? snapshot.routes
    : snapshot.routes.filter(({ owner }) => rights.may("viewer", owner));
}

export async function serversView(deps: ServersDeps, visit: ConsoleRequest): Promise<ServersView> {
  const { query } = visit;
  const search = (query.get("q") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS);
  const kind = ROUTE_KINDS.find(([each]) => each === query.get("kind"))?.[0] ?? "";
  const needsAttention = query.get("attention") === "yes";
  const all = visibleRoutes(visit);
  const unwell = new Map<string, number>();
  const watched = new Set<string>();
  for (const { route, healthy } of deps.upstreams()) {
    watched.add(route);
    if (!healthy) unwell.set(route, (unwell.get(route) ?? 0) + 1);
  }
  const stateOf = (route: CompiledRoute): ServerRow["state"] => {
    const state = routeState(deps, route, unwell.get(route.key) ?? 0);
    return (
      state ?? (watched.has(route.key) ? { tone: "good", text: "Healthy" } : { tone: "quiet", text: "Not checked" })
    );
  };
  const needsLook = (route: CompiledRoute): boolean => ["bad", "warn"].includes(stateOf(route).tone);
  const isWanted = (route: CompiledRoute): boolean => isFound(route, search.toLowerCase());
  const attention = all.filter((route) => needsLook(route) && isWanted(route));
  const searched = needsAttention ? attention : all.filter(isWanted);
  const found = searched.filter((route) => kind === "" || kindOf(route) === kind);
  const after = query.get("after") ?? "";
  // Sorted by key already.
  const rest = found.filter(({ key }) => key > after);
  const shown = rest.slice(0, PAGE);
  const [counts, traffic] = await Promise.all([deps.connections.counts().catch(() => undefined), trafficOf(deps)]);
  const isYes = needsAttention ? "yes" : undefined;
  const pageAt = (place: string | undefined): string =>
    addressOfList("servers", { q: search, kind, attention: isYes, after: place });
  return {
    path: addressOfList("servers"),
    rows: shown.map((route) =>
      serverRow(deps, visit, route, {
        counts,
        unwell: unwell.get(route.key) ?? 0,
        state: stateOf(route),
        traffic: traffic?.get(route.key),
      }),
    ),
    search,
    kind,
    kinds: ROUTE_KINDS,
    needsAttention,
    views: viewsOf({ search, kind, needsAttention }, all.filter(isWanted), attention.length),
    pages: {
      first: after === "" ? undefined : pageAt(undefined),
      next: rest.length > PAGE ? pageAt(shown.at(-1)?.key) : undefined,
      nextText: "More servers and apps",
    },
    count: { all: all.length, found: found.length },
    connectionsFailed: counts === undefined,
  };
}

/** Tabs above the list: all, the two kinds that most users ask for, and what needs attention. */
function viewsOf(
  {
    search,
    kind,
    needsAttention,
  }: { readonly search: string; readonly kind: string; readonly needsAttention: boolean },
  routes: readonly CompiledRoute[],
  attention: number,
): ServersView["views"] {
  const ofKind = (each: string): number => routes.filter((route) => kindOf(route) === each).length;
  const view = (name: string, count: number, of: string, isOfAttention = false) => ({
    href: addressOfList("servers", { q: search, kind: of, attention: isOfAttention ? "yes" : undefined }),
    name,
    count,
    isCurrent: needsAttention === isOfAttention && kind === of,
  });
  return [
    view("All", routes.length, ""),
    view("MCP servers", ofKind("server"), "server"),
    view("Web apps", ofKind("web"), "web"),
    view("Needs attention", attention, "", true),
  ];
}

/** The worst state first. @returns undefined: no problem is known */
function routeState(deps: ServersDeps, route: CompiledRoute, unwell: number): ServerRow["state"] | undefined {
  if (deps.blocks.find({ routeKey: route.key })) return { tone: "bad", text: "Blocked" };
  if (unwell > 0 && unwell >= route.to.length) return { tone: "bad", text: "Failing" };
  const changed = toolLockOf(route) ? deps.toolLocks.differences(route).changed.size : 0;
  if (changed > 0) return { tone: "warn", text: `${changed} changed` };
  if (unwell > 0) return { tone: "warn", text: "Degraded" };
  return undefined;
}

/** Requests of the busiest routes in the last hours. @returns undefined: unknown */
async function trafficOf({ traffic }: ServersDeps): Promise<ReadonlyMap<string, RouteTraffic> | undefined> {
  const steps = await traffic?.().catch(() => undefined);
  if (!steps) return undefined;
  const found = new Map<string, RouteTraffic>();
  for (const { start, rollup } of steps)
    for (const [scope, counts] of Object.entries(rollup?.scopes ?? {})) {
      if (!scope.startsWith(ROUTE_SCOPE)) continue;
      const key = scope.slice(ROUTE_SCOPE.length);
      const known = found.get(key) ?? { requests: 0, denied: 0, failed: 0, lastMs: 0 };
      const of = (name: RollupCounts): number => numberOf(counts, name);
      const requests = of("allowed") + of("denied") + of("limited") + of("waiting");
      found.set(key, {
        requests: known.requests + requests,
        denied: known.denied + of("denied"),
        failed: known.failed + of("failed"),
        lastMs: requests > 0 ? start * 1000 : known.lastMs,
      });
    }
  return found;
}

const ROUTE_SCOPE = routeScope("");

function isFound(route: CompiledRoute, search: string): boolean {
  return search === "" || [route.key, route.name, addressOf(route)].some((text) => text.toLowerCase().includes(search));
}

function serverRow(
  deps: ServersDeps,
  { rights }: ConsoleRequest,
  route: CompiledRoute,
  {
    counts,
    unwell,
    state,
    traffic,
  }: {
    readonly counts: ConnectionCounts | undefined;
    readonly unwell: number;
    readonly state: ServerRow["state"];
    readonly traffic: RouteTraffic | undefined;
  },
): ServerRow {
  const lock = toolLockOf(route);
  const isServer = route.mcp?.kind === "server";
  return {
    href: addressOfId("servers", route.key),
    key: showUntrusted(route.key),
    name: showUntrusted(route.name),
    owner: showUntrusted(route.owner),
    address: showUntrusted(addressOf(route)),
    kind: kindText(kindOf(route)),
    state,
    traffic,
    policy: showUntrusted(policyLine(route.policy), 250),
    tools: lock && { locked: lock.items.size, changed: deps.toolLocks.differences(route).changed.size },
    upstreams:
      rights.may("operator", route.owner) && route.to.length > 0 ? { all: route.to.length, unwell } : undefined,
    connections: isServer ? counts?.byRoute.get(route.key) : undefined,
  };
}
