/** Maps host and path to a prepared route; also holds the headers that global settings add to the gateway's own responses. */
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { addedHeaders, type AddedHeaders } from "../features/headers/apply-added.ts";
import {
  buildHostIndex,
  type HostIndex,
  prepareHostIndex,
  type RoutesToFind,
} from "../features/routing/apply-find-route.ts";
import { prepareRoute, type PreparedRoute } from "./prepared-route.ts";

export interface RouteTable extends HostIndex<PreparedRoute> {
  /** Headers that the global settings add to the gateway's own responses while no route is known. */
  readonly addedHeaders: Readonly<Record<"http" | "https", AddedHeaders | undefined>>;
}

/** Unchanged routes keep their prepared data, with its state, over a reload. */
const preparedRoutes = new WeakMap<CompiledRoute, PreparedRoute>();

/** Immediate; the index of a host is built at its first use. */
export function buildRouteTable(snapshot: Snapshot): RouteTable {
  return withAddedHeaders(buildHostIndex(routesOf(snapshot)), snapshot.settings);
}

/** Like `buildRouteTable()` in the background, with the index of hosts with many routes already built. */
export async function prepareRouteTable(snapshot: Snapshot): Promise<RouteTable> {
  return withAddedHeaders(await prepareHostIndex(routesOf(snapshot)), snapshot.settings);
}

function routesOf({ routes, settings }: Snapshot): RoutesToFind<CompiledRoute, PreparedRoute> {
  return { routes, authenticateUrl: settings.authenticateServiceUrl, prepare: (route) => preparedOf(route, settings) };
}

function withAddedHeaders(index: HostIndex<PreparedRoute>, settings: LiveSettings): RouteTable {
  const everywhere = settings.setResponseHeaders.flat();
  return {
    findHost: (host) => index.findHost(host),
    addedHeaders: { http: addedHeaders(everywhere, "http"), https: addedHeaders(everywhere, "https") },
  };
}

export function preparedOf(route: CompiledRoute, settings: LiveSettings): PreparedRoute {
  const earlier = preparedRoutes.get(route);
  if (earlier?.settings === settings) return earlier;
  const prepared = prepareRoute(route, settings);
  preparedRoutes.set(route, prepared);
  return prepared;
}
