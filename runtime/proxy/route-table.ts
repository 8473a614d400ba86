/** Host and path → route and what it was prepared to; and what the global settings add to the gateway's own answers. */
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
  /** What the global settings add to the gateway's own answers, where no route is known. */
  readonly addedHeaders: Readonly<Record<"http" | "https", AddedHeaders | undefined>>;
}

/** Routes that did not change keep what they were prepared to over a reload, with what hangs on it. */
const preparedRoutes = new WeakMap<CompiledRoute, PreparedRoute>();

/** Made at once; a host is laid out when it is first asked for. */
export function buildRouteTable(snapshot: Snapshot): RouteTable {
  return withAddedHeaders(buildHostIndex(routesOf(snapshot)), snapshot.settings);
}

/** The same while requests are served by another table, hosts with many routes laid out. */
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

function preparedOf(route: CompiledRoute, settings: LiveSettings): PreparedRoute {
  const earlier = preparedRoutes.get(route);
  if (earlier?.settings === settings) return earlier;
  const prepared = prepareRoute(route, settings);
  preparedRoutes.set(route, prepared);
  return prepared;
}
