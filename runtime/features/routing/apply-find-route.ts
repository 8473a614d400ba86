/**
 * Finds the route for host and path. Built once per configuration, read per request.
 *
 * A named host precedes wildcards, of which the longest comes first; for paths see apply-host-routes.ts. A named host
 * never falls back to a wildcard: its own routes define everything it serves. Among wildcards, a path without a route
 * of the longer one falls back to the shorter. The host where users sign in is named with any port.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

import type { RoutedRoute } from "./compiled.ts";
import { HostRoutes, type HostTable, layOutCost } from "./apply-host-routes.ts";

export type { FoundRoute, HostTable } from "./apply-host-routes.ts";

/** Host → its routes. @typeParam P prepared form of a route, before its first request */
export interface HostIndex<P> {
  /** @param host as in the Exchange; undefined for a host that the configuration does not name */
  findHost(host: string): HostTable<P> | undefined;
}

export interface RoutesToFind<R extends RoutedRoute, P> {
  readonly routes: readonly R[];
  /** Origin of the host for sign-in and user pages, which may have no route. */
  readonly authenticateUrl: string | undefined;
  /** Called at the first request for a route. */
  readonly prepare: (route: R) => P;
}

/** Routes processed in one turn of the event loop: about 5 ms. */
const ROUTES_AT_ONCE = 4_000;
/** A host with more expensive routes (`layOutCost`) is laid out before its first request. */
const MANY_ROUTES = 1_000;

/** Only sorts routes by host; a host is laid out at its first use. */
export function buildHostIndex<R extends RoutedRoute, P>(given: RoutesToFind<R, P>): HostIndex<P> {
  const steps = buildInSteps(given);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value.index;
  }
}

/** The same, while another index serves requests; hosts with many routes are laid out. */
export async function prepareHostIndex<R extends RoutedRoute, P>(given: RoutesToFind<R, P>): Promise<HostIndex<P>> {
  const steps = buildInSteps(given);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) {
      for (const host of value.large()) while (!host.layOut(ROUTES_AT_ONCE)) await nextTurn();
      return value.index;
    }
    await nextTurn();
  }
}

interface BuiltIndex<R extends RoutedRoute, P> {
  readonly index: HostIndex<P>;
  /** Hosts with many routes. */
  large(): Iterable<HostRoutes<R, P>>;
}

function* buildInSteps<R extends RoutedRoute, P>({
  routes,
  authenticateUrl,
  prepare,
}: RoutesToFind<R, P>): Generator<undefined, BuiltIndex<R, P>> {
  const hosts = new Map<string, R[] | HostRoutes<R, P>>();
  /** By suffix of the hosts: ".example.com" and, with a port, ".example.com:8443". */
  const wildcards = new Map<string, R[] | HostRoutes<R, P>>();
  const costs = new Map<string, number>();
  const large = new Map<string, boolean>();
  for (const [index, route] of routes.entries()) {
    if (index % ROUTES_AT_ONCE === ROUTES_AT_ONCE - 1) yield undefined;
    const groups = route.isWildcard ? wildcards : hosts;
    const name = route.isWildcard ? route.host.slice(1) : route.host;
    const group = groups.get(name) as R[] | undefined;
    if (group) group.push(route);
    else groups.set(name, [route]);
    const cost = (costs.get(name) ?? 0) + layOutCost(route);
    costs.set(name, cost);
    if (cost >= MANY_ROUTES) large.set(name, route.isWildcard);
  }
  let ofAuthenticate: string | undefined;
  if (authenticateUrl !== undefined) {
    const { host, hostname } = new URL(authenticateUrl);
    if (!hosts.has(host)) hosts.set(host, []);
    ofAuthenticate = `${hostname}:`;
  }

  /** @param dot where to start: at a dot of the host */
  const findWildcard = (host: string, dot: number): HostRoutes<R, P> | undefined => {
    for (let at = dot; at !== -1; at = host.indexOf(".", at + 1)) {
      const name = host.slice(at);
      const found = wildcards.get(name);
      if (found === undefined) continue;
      if (!Array.isArray(found)) return found;
      const below = new HostRoutes(found, schemeOf(found), prepare, findWildcard(name, name.indexOf(".", 1)));
      wildcards.set(name, below);
      return below;
    }
    return undefined;
  };

  const findHost = (host: string): HostRoutes<R, P> | undefined => {
    const found = hosts.get(host);
    if (found === undefined) {
      // An owner of a wildcard could get a certificate for the host where users sign in, by HTTP-01.
      const isNone = wildcards.size === 0 || (ofAuthenticate !== undefined && host.startsWith(ofAuthenticate));
      return isNone ? undefined : findWildcard(host, host.indexOf("."));
    }
    if (!Array.isArray(found)) return found;
    const named = new HostRoutes(found, schemeOf(found, authenticateUrl), prepare);
    hosts.set(host, named);
    return named;
  };

  return {
    index: { findHost },
    *large() {
      for (const [name, isWildcard] of large) {
        const host = isWildcard ? findWildcard(name, 0) : findHost(name);
        if (host) yield host;
      }
    },
  };
}

/** @param otherwise origin of the authenticate host, which may have no route */
function schemeOf(routes: readonly RoutedRoute[], otherwise = ""): "http" | "https" {
  const origins = routes.length === 0 ? [otherwise] : routes.map(({ origin }) => origin);
  return origins.every((origin) => origin.startsWith("https:")) ? "https" : "http";
}
