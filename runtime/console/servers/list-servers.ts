/** The routes of this configuration as a list that is searched and read page by page. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { toolLockOf } from "../../mcp/tool-locks/tool-locks.ts";
import type { ConnectionCounts } from "../../oauth/client/list-connections.ts";
import type { ServerRow, ServersView } from "../../pages/console/servers/servers.ts";
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
  const all = visibleRoutes(visit);
  const found = all.filter((route) => (kind === "" || kindOf(route) === kind) && isFound(route, search.toLowerCase()));
  const after = query.get("after") ?? "";
  // Sorted by key already.
  const rest = found.filter(({ key }) => key > after);
  const shown = rest.slice(0, PAGE);
  const unwell = new Map<string, number>();
  for (const { route, healthy } of deps.upstreams()) if (!healthy) unwell.set(route, (unwell.get(route) ?? 0) + 1);
  const counts = await deps.connections.counts().catch(() => undefined);
  const pageAt = (place: string | undefined): string => addressOfList("servers", { q: search, kind, after: place });
  return {
    path: addressOfList("servers"),
    rows: shown.map((route) => serverRow(deps, visit, route, { counts, unwell: unwell.get(route.key) ?? 0 })),
    search,
    kind,
    kinds: ROUTE_KINDS,
    pages: {
      first: after === "" ? undefined : pageAt(undefined),
      next: rest.length > PAGE ? pageAt(shown.at(-1)?.key) : undefined,
      nextText: "More routes",
    },
    count: { all: all.length, found: found.length },
    connectionsFailed: counts === undefined,
  };
}

function isFound(route: CompiledRoute, search: string): boolean {
  return search === "" || [route.key, route.name, addressOf(route)].some((text) => text.toLowerCase().includes(search));
}

function serverRow(
  deps: ServersDeps,
  { rights }: ConsoleRequest,
  route: CompiledRoute,
  { counts, unwell }: { readonly counts: ConnectionCounts | undefined; readonly unwell: number },
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
    isBlocked: deps.blocks.find({ routeKey: route.key }) !== undefined,
    policy: showUntrusted(policyLine(route.policy), 250),
    tools: lock && { locked: lock.items.size, changed: deps.toolLocks.differences(route).changed.size },
    upstreams:
      rights.may("operator", route.owner) && route.to.length > 0 ? { all: route.to.length, unwell } : undefined,
    connections: isServer ? counts?.byRoute.get(route.key) : undefined,
  };
}
