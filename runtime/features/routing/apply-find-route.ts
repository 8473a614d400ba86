/**
 * Host and path → route. Made once per snapshot, read per request.
 *
 * A host that is named goes before wildcards, of which the longest goes first; paths are host-routes.ts. A named host never
 * falls back on a wildcard: what it serves is said in full by its own routes. Among wildcards a path that the longer one
 * does not take is left to the shorter.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

import type { CompiledRoute, LiveSettings, Snapshot } from "../../config/compiled.ts";
import { addedHeaders, type AddedHeaders } from "../headers/apply-added.ts";
import { HostRoutes, type HostTable } from "./apply-host-routes.ts";
import { planRoute, type RoutePlan } from "../../proxy/prepared-route.ts";

export type { FoundRoute, HostTable } from "./apply-host-routes.ts";

export interface RouteTable {
  /** @param host as the Exchange has it; undefined for a host that the configuration does not name */
  findHost(host: string): HostTable | undefined;
  /** What the global settings add to the gateway's own answers, where no route is known. */
  readonly addedHeaders: Readonly<Record<"http" | "https", AddedHeaders | undefined>>;
}

/** Routes that did not change keep their plan over a reload, with what hangs on it. */
const plans = new WeakMap<CompiledRoute, RoutePlan>();

/** Routes that are looked at between two turns of the event loop: about 5 ms. */
const ROUTES_AT_ONCE = 4_000;
/** A host with more is laid out before its first request. */
const MANY_ROUTES = 1_000;

/** Only sorts routes by host; a host is laid out when it is first asked for. */
export function buildRouteTable(snapshot: Snapshot): RouteTable {
  const steps = buildInSteps(snapshot);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value.table;
  }
}

/** The same while requests are served by another table, hosts with many routes laid out. */
export async function prepareRouteTable(snapshot: Snapshot): Promise<RouteTable> {
  const steps = buildInSteps(snapshot);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) {
      for (const host of value.large()) while (!host.layOut(ROUTES_AT_ONCE)) await nextTurn();
      return value.table;
    }
    await nextTurn();
  }
}

interface BuiltTable {
  readonly table: RouteTable;
  /** Hosts with many routes. */
  large(): Iterable<HostRoutes>;
}

function* buildInSteps(snapshot: Snapshot): Generator<undefined, BuiltTable> {
  const hosts = new Map<string, CompiledRoute[] | HostRoutes>();
  /** By what the hosts end in: ".example.com" and, with a port, ".example.com:8443". */
  const wildcards = new Map<string, CompiledRoute[] | HostRoutes>();
  const large = new Map<string, boolean>();
  for (const [index, route] of snapshot.routes.entries()) {
    if (index % ROUTES_AT_ONCE === ROUTES_AT_ONCE - 1) yield undefined;
    const groups = route.isWildcard ? wildcards : hosts;
    const name = route.isWildcard ? route.host.slice(1) : route.host;
    const group = groups.get(name) as CompiledRoute[] | undefined;
    if (group) {
      if (group.push(route) === MANY_ROUTES) large.set(name, route.isWildcard);
    } else groups.set(name, [route]);
  }
  const authenticate = snapshot.settings.authenticateServiceUrl;
  if (authenticate !== undefined) {
    const { host } = new URL(authenticate);
    if (!hosts.has(host)) hosts.set(host, []);
  }

  const everywhere = snapshot.settings.setResponseHeaders.flat();
  const plan = (route: CompiledRoute): RoutePlan => planOf(route, snapshot.settings);

  /** @param dot where to begin looking: at a dot of the host */
  const findWildcard = (host: string, dot: number): HostRoutes | undefined => {
    for (let at = dot; at !== -1; at = host.indexOf(".", at + 1)) {
      const name = host.slice(at);
      const found = wildcards.get(name);
      if (found === undefined) continue;
      if (!Array.isArray(found)) return found;
      const routes = new HostRoutes(found, schemeOf(found), plan, findWildcard(name, name.indexOf(".", 1)));
      wildcards.set(name, routes);
      return routes;
    }
    return undefined;
  };

  const findHost = (host: string): HostRoutes | undefined => {
    const found = hosts.get(host);
    if (found === undefined) return wildcards.size === 0 ? undefined : findWildcard(host, host.indexOf("."));
    if (!Array.isArray(found)) return found;
    const routes = new HostRoutes(found, schemeOf(found, authenticate), plan);
    hosts.set(host, routes);
    return routes;
  };

  return {
    table: {
      findHost,
      addedHeaders: { http: addedHeaders(everywhere, "http"), https: addedHeaders(everywhere, "https") },
    },
    *large() {
      for (const [name, isWildcard] of large) {
        const host = isWildcard ? findWildcard(name, 0) : findHost(name);
        if (host) yield host;
      }
    },
  };
}

/** @param otherwise of the authenticate host, which may serve no route */
function schemeOf(routes: readonly CompiledRoute[], otherwise = ""): "http" | "https" {
  const origins = routes.length === 0 ? [otherwise] : routes.map(({ origin }) => origin);
  return origins.every((origin) => origin.startsWith("https:")) ? "https" : "http";
}

function planOf(route: CompiledRoute, settings: LiveSettings): RoutePlan {
  const earlier = plans.get(route);
  if (earlier?.settings === settings) return earlier;
  const plan = planRoute(route, settings);
  plans.set(route, plan);
  return plan;
}
