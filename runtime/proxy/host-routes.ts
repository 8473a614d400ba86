/**
 * The routes of one host: path → route.
 *
 * Exact path, then patterns by priority, then the longest prefix by whole segments; the order of routes in a file never
 * matters. Patterns hang in the tree of prefixes at their literal beginning, so that a path is tried only against those
 * that it could match.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import { compilePatterns, MAX_MATCHED_PATH } from "../config/path-pattern.ts";
import { canonicalPath, hasPathParameter, withoutPathParameters } from "../http/target.ts";
import { isOwnPath } from "./endpoints.ts";
import { PathNode } from "./path-tree.ts";
import type { RoutePlan } from "./route-plan.ts";

export type NoRouteReason = "no-route" | "ambiguous-path" | "path-too-long";

export type FoundRoute =
  | { readonly ok: true; readonly plan: RoutePlan }
  | { readonly ok: false; readonly reason: NoRouteReason };

/** What one host serves. The authenticate host may serve no route at all, only our own endpoints. */
export interface HostTable {
  findRoute(path: string): FoundRoute;
}

/** A route, and how it is served once a request has come for it. */
interface Slot {
  readonly route: CompiledRoute;
  plan: RoutePlan | undefined;
}

/** Patterns that begin alike; compiled when the first path comes that could match one. */
interface PatternList {
  readonly slots: Slot[];
  /** Place of each among all patterns of the host: lower goes first. */
  readonly ranks: number[];
  find: ((path: string) => number | undefined) | undefined;
}

/** A path that no pattern is tried on, see `MAX_MATCHED_PATH`. */
const TOO_LONG = "path-too-long";

export class HostRoutes implements HostTable {
  readonly #exact = new Map<string, Slot>();
  readonly #paths = new PathNode<Slot, PatternList>();
  readonly #plan: (route: CompiledRoute) => RoutePlan;
  /** Of the wildcard host that this one lies below; it takes what is not found here. */
  readonly #wider: HostRoutes | undefined;

  /** @param plan called with the first request for a route */
  constructor(routes: readonly CompiledRoute[], plan: (route: CompiledRoute) => RoutePlan, wider?: HostRoutes) {
    this.#plan = plan;
    this.#wider = wider;
    for (const route of routes) {
      const { match } = route;
      const slot: Slot = { route, plan: undefined };
      if (match.kind === "exact") this.#exact.set(canonical(match.path), slot);
      else if (match.kind === "prefix") this.#nodeAt(match.prefix).prefix = slot;
    }
    for (const [rank, route] of byPrecedence(routes).entries()) {
      const node = this.#nodeAt(route.match.kind === "regex" ? route.match.beginning : "");
      const list = (node.patterns ??= { slots: [], ranks: [], find: undefined });
      list.slots.push({ route, plan: undefined });
      list.ranks.push(rank);
    }
  }

  findRoute(path: string): FoundRoute {
    const slot = this.#find(path);
    if (slot === TOO_LONG) return { ok: false, reason: TOO_LONG };
    // "/admin;x" is "/admin" to servers that cut parameters off. When the two readings lead to different routes,
    // one route's policy would decide about the other's resource; and an address of ours is no upstream's.
    if (hasPathParameter(path)) {
      const other = withoutPathParameters(path);
      if (isOwnPath(other) || this.#find(other) !== slot) return { ok: false, reason: "ambiguous-path" };
    }
    if (slot === undefined) return { ok: false, reason: "no-route" };
    return { ok: true, plan: (slot.plan ??= this.#plan(slot.route)) };
  }

  #nodeAt(path: string): PathNode<Slot, PatternList> {
    let node = this.#paths;
    // Prefixes go by whole segments: "/a/" says the same as "/a".
    for (const segment of canonical(path).split("/").slice(1)) {
      if (segment === "") break;
      node = node.grow(segment);
    }
    return node;
  }

  #find(path: string): Slot | typeof TOO_LONG | undefined {
    const exact = this.#exact.size === 0 ? undefined : this.#exact.get(path);
    if (exact !== undefined) return exact;
    let node = this.#paths;
    let { prefix } = node;
    let pattern: Slot | undefined;
    let rank = Infinity;
    let start = 1;
    for (;;) {
      const { patterns } = node;
      if (patterns !== undefined) {
        if (path.length > MAX_MATCHED_PATH) return TOO_LONG;
        const index = findPattern(patterns, path);
        if (index !== undefined && (patterns.ranks[index] as number) < rank) {
          pattern = patterns.slots[index];
          rank = patterns.ranks[index] as number;
        }
      }
      if (node.isLeaf || start > path.length) break;
      let end = path.indexOf("/", start);
      if (end === -1) end = path.length;
      const child = node.find(path, start, end);
      if (child === undefined) break;
      node = child;
      prefix = node.prefix ?? prefix;
      start = end + 1;
    }
    return pattern ?? prefix ?? (this.#wider === undefined ? undefined : this.#wider.#find(path));
  }
}

function findPattern(list: PatternList, path: string): number | undefined {
  list.find ??= compilePatterns(
    list.slots.map(({ route }) => (route.match.kind === "regex" ? route.match.pattern : "")),
  );
  return list.find(path);
}

/** Patterns by priority, then by the length of their literal beginning, then by their text. */
function byPrecedence(routes: readonly CompiledRoute[]): readonly CompiledRoute[] {
  const patterns = routes.flatMap((route) => (route.match.kind === "regex" ? [{ route, match: route.match }] : []));
  patterns.sort(
    (a, b) =>
      b.match.priority - a.match.priority ||
      b.match.beginning.length - a.match.beginning.length ||
      (a.match.pattern < b.match.pattern ? -1 : 1),
  );
  return patterns.map(({ route }) => route);
}

/** Configured paths are compared with canonical ones; what has no canonical form can never match and is kept as it is. */
function canonical(path: string): string {
  const result = canonicalPath(path);
  return result.ok ? result.path : path;
}
