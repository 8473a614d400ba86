/**
 * Host and path → route. Built once per snapshot, read per request.
 *
 * Host by Map, then exact path, then the longest prefix by whole segments; the order of routes in a file never matters.
 * Wildcard hosts and patterns will follow exact hosts and prefixes here.
 */
import type { Snapshot } from "../config/compiled.ts";
import { canonicalPath, hasPathParameter, withoutPathParameters } from "../http/target.ts";
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
  /** By route key. */
  readonly plans: ReadonlyMap<string, RoutePlan>;
}

/** One segment of the configured prefixes. */
interface PrefixNode {
  readonly children: Map<string, PrefixNode>;
  /** Prefix "/a": matches "/a" and everything below. */
  here: RoutePlan | undefined;
  /** Prefix "/a/": matches "/a/" and everything below, not "/a". */
  below: RoutePlan | undefined;
}

/** @param previous reused for routes that did not change, so that what hangs on a plan survives a reload */
export function buildRouteTable(snapshot: Snapshot, previous?: RouteTable): RouteTable {
  const plans = new Map<string, RoutePlan>();
  const hosts = new Map<string, HostRoutes>();
  for (const route of snapshot.routes) {
    const earlier = previous?.plans.get(route.key);
    const plan =
      earlier?.route === route && earlier.settings === snapshot.settings
        ? earlier
        : planRoute(route, snapshot.settings);
    plans.set(route.key, plan);
    let host = hosts.get(route.host);
    if (!host) hosts.set(route.host, (host = new HostRoutes()));
    host.add(plan);
  }
  const authenticate = snapshot.settings.authenticateServiceUrl;
  if (authenticate !== undefined) {
    const { host } = new URL(authenticate);
    if (!hosts.has(host)) hosts.set(host, new HostRoutes());
  }
  return { plans, findHost: (host) => hosts.get(host) };
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
    // one route's policy would decide about the other's resource.
    if (hasPathParameter(path) && this.#find(withoutPathParameters(path)) !== plan) {
      return { ok: false, reason: "ambiguous-path" };
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
