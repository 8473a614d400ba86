/** Routes that stand in each other's way. Judged by host, because a request names a host, not a scheme. */
import { crowdedPatterns, type PatternPlace, takerOf } from "./pattern-conflicts.ts";
import { below, fault, type Finding, formatPath, quote } from "./problem.ts";
import type { ReadRoute } from "./read-slice.ts";

interface Place {
  readonly route: ReadRoute;
  readonly host: string;
  /** Without trailing slash; "" is the whole host. */
  readonly base: string;
  readonly exact: boolean;
  readonly regex: string | undefined;
}

/** Reports routes with the same key, the same match, the same MCP resource, or an endpoint another route takes. */
export function judgeConflicts(routes: readonly ReadRoute[]): void {
  const places = routes.map((route) => placeOf(route)).filter((place) => place !== undefined);
  once(
    routes,
    (route) => `${route.slice.owner}/${route.name}`,
    (route, first) => fault([], `has the name ${quote(route.name)}, which ${where(first)} has too, must be unique`),
  );
  once(places, matchOf, (_, { route }) =>
    fault(["from"], `leads to the same requests as ${where(route)}, must differ in host, "prefix", "path" or "regex"`),
  );
  const servers = places.filter(({ route }) => route.sound.mcp?.server);
  once(servers, resourceOf, (place, { route }) =>
    fault(["mcp", "server"], `has the MCP address ${quote(resourceOf(place))}, which ${where(route)} has too`),
  );
  const patterns = places.flatMap((place) =>
    place.route.pattern === undefined ? [] : [{ ...place.route.pattern, host: place.host, owner: place }],
  );
  for (const { owner, beginning } of crowdedPatterns(patterns)) {
    const where = beginning === "" ? "with nothing certain" : `with "${beginning}"`;
    const wish = "must be fewer or simpler, or begin with more literal text";
    report(owner.route, fault(["regex"], `is one of too many patterns of this host that begin ${where}, ${wish}`));
  }
  judgeReach(places, servers, patterns);
}

/** An MCP server's own address must lead to it: not past an exact path, not to a route with a longer prefix. */
function judgeReach(
  places: readonly Place[],
  servers: readonly Place[],
  patterns: readonly PatternPlace<Place>[],
): void {
  const byMatch = new Map(places.map((place) => [matchOf(place), place]));
  const patternsByHost = Map.groupBy(patterns, ({ host }) => host);
  for (const server of servers) {
    const path = resourceOf(server).slice(server.host.length);
    const pattern = server.exact ? undefined : takerOf(patternsByHost.get(server.host) ?? [], path || "/");
    if (pattern) {
      const message = `takes the address ${quote(path || "/")} of the MCP server ${where(server.route)}`;
      report(pattern.route, fault(["regex"], message));
    }
    if (path === server.base) continue;
    const taker = findPlace(byMatch, server.host, path);
    // The same match twice is reported already.
    if (taker && matchOf(taker) === matchOf(server)) continue;
    const wish = taker ? `${where(taker.route)} takes` : 'no route takes; write "prefix" instead of "path"';
    report(server.route, fault(["mcp", "server", "path"], `makes the address ${quote(path)}, which ${wish}`));
  }
}

/** What tells one route's requests from another's. */
function matchOf({ host, exact, base, regex }: Place): string {
  if (regex !== undefined) return `${host} ~${regex}`;
  return `${host} ${exact ? "=" : "^"}${base}`;
}

function findPlace(byMatch: ReadonlyMap<string, Place>, host: string, path: string): Place | undefined {
  const exact = byMatch.get(`${host} =${path}`);
  if (exact) return exact;
  for (let prefix = path; ; prefix = prefix.slice(0, prefix.lastIndexOf("/"))) {
    const place = byMatch.get(`${host} ^${prefix}`);
    if (place || prefix === "") return place;
  }
}

/** Host, base and path under which MCP clients know a server. */
function resourceOf(place: Place): string {
  const path = (place.route.sound.mcp?.server?.path ?? "").replace(/\/$/, "");
  return place.host + place.base.replace(/\/$/, "") + path;
}

function once<T extends Place | ReadRoute>(
  items: readonly T[],
  keyOf: (item: T) => string,
  say: (item: T, first: T) => Finding,
): void {
  const seen = new Map<string, T>();
  for (const item of items) {
    const key = keyOf(item);
    const first = seen.get(key);
    if (first) report("route" in item ? item.route : item, say(item, first));
    else seen.set(key, item);
  }
}

function placeOf(route: ReadRoute): Place | undefined {
  if (!route.from) return undefined;
  const exact = route.sound.path !== undefined;
  const base = exact ? (route.sound.path ?? "") : (route.sound.prefix ?? "").replace(/\/$/, "");
  return { route, host: route.from.host, base, exact, regex: route.sound.regex };
}

function where(route: ReadRoute): string {
  return `"${formatPath(route.path)}" in ${route.slice.source.file}`;
}

function report(route: ReadRoute, finding: Finding): void {
  route.slice.report(below(route.path, finding));
}
