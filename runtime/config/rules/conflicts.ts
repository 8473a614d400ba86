/** Conflicts between routes. Validated by host, because a request names a host, not a scheme. */
import { conditionsText } from "../../features/routing/conditions.ts";
import { routePrecedence } from "../active-precedence.ts";
import { crowdedPatterns, type PatternPlace, takerOf } from "../../features/routing/pattern-conflicts.ts";
import { below, conflict, errorAt, type UnplacedProblem, quote, type Rival } from "../../settings/problem.ts";
import type { ReadRoute } from "../read-slice.ts";

interface Place {
  readonly route: ReadRoute;
  readonly host: string;
  /** Without trailing slash; "" matches the whole host. */
  readonly base: string;
  readonly exact: boolean;
  readonly regex: string | undefined;
  /** Text of its conditions; "" without. */
  readonly conditions: string;
}

/** Reports routes with the same key, the same match, the same MCP resource, or an endpoint that another route takes. */
export function validateConflicts(routes: readonly ReadRoute[]): void {
  const places = routes.map((route) => placeOf(route)).filter((place) => place !== undefined);
  once(
    routes,
    (route) => `${route.slice.owner}/${route.name}`,
    (route, first) =>
      conflict([], rivalOf(first), `has the name ${quote(route.name)}, which `, " has too, must be unique"),
  );
  once(places, matchOf, (_, { route }) =>
    conflict(
      ["from"],
      rivalOf(route),
      "leads to the same requests as ",
      ', must differ in host, "prefix", "path" or "regex"',
    ),
  );
  const servers = places.filter(({ route }) => route.valid.mcp?.server);
  once(servers, resourceOf, (place, { route }) =>
    conflict(["mcp", "server"], rivalOf(route), `has the MCP address ${quote(resourceOf(place))}, which `, " has too"),
  );
  const patterns = places.flatMap((place) =>
    place.route.pattern === undefined ? [] : [{ ...place.route.pattern, host: place.host, owner: place }],
  );
  for (const crowded of crowdedPatterns(patterns)) {
    // The route's own prefix: the other one may belong to another owner.
    const { owner, beginning } = newestOf(crowded, patterns);
    const where = beginning === "" ? "with nothing certain" : `with "${beginning}"`;
    const hosts = crowded.host.startsWith("*.") ? "and of wildcards around it that " : "that ";
    const problem = "must be fewer or simpler, or begin with more literal text";
    report(
      owner.route,
      errorAt(["regex"], `is one of too many patterns of this host ${hosts}begin ${where}, ${problem}`),
    );
  }
  validateReach(places, servers, patterns);
}

/** An MCP server's address must lead to it, not to an exact path or to a route with a longer prefix. */
function validateReach(
  places: readonly Place[],
  servers: readonly Place[],
  patterns: readonly PatternPlace<Place>[],
): void {
  const byMatch = new Map(places.map((place) => [matchOf(place), place]));
  const conditional = Map.groupBy(
    places.filter(({ conditions }) => conditions !== ""),
    (place) => matchOf({ ...place, conditions: "" }),
  );
  const patternsByHost = Map.groupBy(patterns, ({ host }) => host);
  for (const server of servers) {
    const path = resourceOf(server).slice(server.host.length);
    const pattern = server.exact ? undefined : takerOf(patternsByHost.get(server.host) ?? [], path || "/");
    if (pattern) {
      const message = `takes the address ${quote(path || "/")} of the MCP server `;
      report(pattern.route, conflict(["regex"], rivalOf(server.route), message));
    }
    // The longest one: a shorter one is never tried, since the server's own route has no conditions.
    const parts = conditional.size === 0 ? undefined : findPlace(conditional, server.host, path);
    // All of them: the older ones decide whether the server is valid, and so whether the newer ones are.
    for (const { route, base, exact } of parts ?? []) {
      if (!exact && (server.exact || base.length < server.base.replace(/\/$/, "").length)) continue;
      const message = `takes a part of the requests to ${quote(path || "/")}, the address of the MCP server `;
      report(route, conflict([exact ? "path" : "prefix"], rivalOf(server.route), message));
    }
    if (path === server.base) continue;
    const receiver = findPlace(byMatch, server.host, path);
    // A duplicate match is already reported.
    if (receiver && matchOf(receiver) === matchOf(server)) continue;
    const message = `makes the address ${quote(path)}, which `;
    const at = ["mcp", "server", "path"];
    const untaken = `${message}no route takes; write "prefix" instead of "path"`;
    report(server.route, receiver ? conflict(at, rivalOf(receiver.route), message, " takes") : errorAt(at, untaken));
  }
}

/** If there are too many patterns, one of the newest slice is rejected: older slices win. */
function newestOf(last: PatternPlace<Place>, patterns: readonly PatternPlace<Place>[]): PatternPlace<Place> {
  let newest = last;
  for (const each of patterns) {
    const isTried = each.host === last.host || (each.host.startsWith("*.") && last.host.endsWith(each.host.slice(1)));
    if (!isTried || !last.beginning.startsWith(each.beginning)) continue;
    if (routePrecedence(each.owner.route) > routePrecedence(newest.owner.route)) newest = each;
  }
  return newest;
}

/** Equal for routes that match the same requests. */
function matchOf({ host, exact, base, regex, conditions }: Place): string {
  if (regex !== undefined) return `${host} ~${regex}`;
  return `${host} ${exact ? "=" : "^"}${base}${conditions && ` ${conditions}`}`;
}

function findPlace<T>(byMatch: ReadonlyMap<string, T>, host: string, path: string): T | undefined {
  const exact = byMatch.get(`${host} =${path}`);
  if (exact !== undefined) return exact;
  for (let prefix = path; ; prefix = prefix.slice(0, prefix.lastIndexOf("/"))) {
    const place = byMatch.get(`${host} ^${prefix}`);
    if (place !== undefined || prefix === "") return place;
  }
}

/** Host, base and path by which MCP clients identify a server. */
function resourceOf(place: Place): string {
  const path = (place.route.valid.mcp?.server?.path ?? "").replace(/\/$/, "");
  return place.host + place.base.replace(/\/$/, "") + path;
}

function once<T extends Place | ReadRoute>(
  items: readonly T[],
  keyOf: (item: T) => string,
  say: (item: T, first: T) => UnplacedProblem,
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
  const exact = route.valid.path !== undefined;
  const base = exact ? (route.valid.path ?? "") : (route.valid.prefix ?? "").replace(/\/$/, "");
  const conditions = conditionsText(route.valid);
  return { route, host: route.from.host, base, exact, regex: route.valid.regex, conditions };
}

function rivalOf({ slice, path }: ReadRoute): Rival {
  return { file: slice.source.file, path };
}

function report(route: ReadRoute, problem: UnplacedProblem): void {
  route.slice.report(below(route.path, problem));
}
