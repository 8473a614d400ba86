/**
 * Host and path → route. Made once per snapshot, read per request.
 *
 * Host by Map, then exact path, then the longest prefix by whole segments; the order of routes in a file never matters.
 * Wildcard hosts and patterns will follow exact hosts and prefixes here.
 */
import type { CompiledRoute, LiveSettings, Snapshot } from "../config/compiled.ts";
import { canonicalPath, hasPathParameter, withoutPathParameters } from "../http/target.ts";
import { isOwnPath } from "./endpoints.ts";
import { planRoute, type RoutePlan } from "./route-plan.ts";

export type FoundRoute =
  | { readonly ok: true; readonly plan: RoutePlan }
  | { readonly ok: false; readonly reason: "no-route" | "ambiguous-path" };

/** What one host serves. The authenticate host may serve no route at all, only our own endpoints. */
export interface HostTable {
  findRoute(path: string): FoundRoute;
}

export interface RouteTable {
  /** @param host as the Exchange has it; undefined for a host that the configuration does not name */
  findHost(host: string): HostTable | undefined;
}

/** One segment of the configured prefixes. */
interface PrefixNode {
  readonly children: Map<string, PrefixNode>;
  /** Prefix "/a": matches "/a" and everything below. */
  here: RoutePlan | undefined;
  /** Prefix "/a/": matches "/a/" and everything below, not "/a". */
  below: RoutePlan | undefined;
}

/** Routes that did not change keep their plan over a reload, with what hangs on it. */
const plans = new WeakMap<CompiledRoute, RoutePlan>();

/** Only sorts routes by host, since it stands between two requests; a host is laid out when it is first asked for. */
export function buildRouteTable(snapshot: Snapshot): RouteTable {
  const hosts = new Map<string, CompiledRoute[] | HostRoutes>();
  for (const route of snapshot.routes) {
    const group = hosts.get(route.host) as CompiledRoute[] | undefined;
    if (group) group.push(route);
    else hosts.set(route.host, [route]);
  }
  const authenticate = snapshot.settings.authenticateServiceUrl;
  if (authenticate !== undefined) {
    const { host } = new URL(authenticate);
    if (!hosts.has(host)) hosts.set(host, []);
  }
  return {
    findHost(host) {
      const found = hosts.get(host);
      if (!Array.isArray(found)) return found;
      const routes = new HostRoutes();
      for (const route of found) routes.add(planOf(route, snapshot.settings));
      hosts.set(host, routes);
      return routes;
    },
  };
}

function planOf(route: CompiledRoute, settings: LiveSettings): RoutePlan {
  const earlier = plans.get(route);
  if (earlier?.settings === settings) return earlier;
  const plan = planRoute(route, settings);
  plans.set(route, plan);
  return plan;
}

class HostRoutes implements HostTable {
  readonly #exact = new Map<string, RoutePlan>();
  readonly #prefixes: PrefixNode = newNode();

  add(plan: RoutePlan): void {
    const { match } = plan.route;
    if (match.kind === "exact") {
      this.#exact.set(canonical(match.path), plan);
      return;
    }
    let node = this.#prefixes;
    const segments = canonical(match.prefix).split("/").slice(1);
    const endsOpen = segments.at(-1) === "";
    for (const segment of endsOpen ? segments.slice(0, -1) : segments) {
      let child = node.children.get(segment);
      if (!child) node.children.set(segment, (child = newNode()));
      node = child;
    }
    if (endsOpen) node.below = plan;
    else node.here = plan;
  }

  findRoute(path: string): FoundRoute {
    const plan = this.#find(path);
    // "/admin;x" is "/admin" to servers that cut parameters off. When the two readings lead to different routes,
    // one route's policy would decide about the other's resource; and an address of ours is no upstream's.
    if (hasPathParameter(path)) {
      const other = withoutPathParameters(path);
      if (isOwnPath(other) || this.#find(other) !== plan) return { ok: false, reason: "ambiguous-path" };
    }
    return plan ? { ok: true, plan } : { ok: false, reason: "no-route" };
  }

  #find(path: string): RoutePlan | undefined {
    const exact = this.#exact.get(path);
    if (exact) return exact;
    let node = this.#prefixes;
    let found = node.here ?? node.below;
    let start = 1;
    while (node.children.size > 0 && start <= path.length) {
      let end = path.indexOf("/", start);
      const isLast = end === -1;
      if (isLast) end = path.length;
      const child = node.children.get(path.slice(start, end));
      if (!child) break;
      node = child;
      found = (isLast ? node.here : (node.below ?? node.here)) ?? found;
      start = end + 1;
    }
    return found;
  }
}

function newNode(): PrefixNode {
  return { children: new Map(), here: undefined, below: undefined };
}

/** Configured paths are compared with canonical ones; what has no canonical form can never match and is kept as it is. */
function canonical(path: string): string {
  const result = canonicalPath(path);
  return result.ok ? result.path : path;
}
