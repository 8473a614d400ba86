/**
 * The routes of one host: path → route.
 *
 * Exact path, then patterns by priority, then the longest prefix by whole segments; the order of routes in a file never
 * matters. Patterns hang in the tree of prefixes at their literal beginning, so that a path is tried only against those
 * that it could match.
 */
import { compilePatterns, MAX_MATCHED_PATH } from "../config/path-pattern.ts";
import { canonicalPath, hasPathParameter, withoutPathParameters } from "../http/target.ts";
import { isOwnPath } from "./endpoints.ts";
import type { RoutePlan } from "./route-plan.ts";

export type NoRouteReason = "no-route" | "ambiguous-path" | "path-too-long";

export type FoundRoute =
  | { readonly ok: true; readonly plan: RoutePlan }
  | { readonly ok: false; readonly reason: NoRouteReason };

/** What one host serves. The authenticate host may serve no route at all, only our own endpoints. */
export interface HostTable {
  findRoute(path: string): FoundRoute;
}

/** One segment of the configured prefixes. */
interface PathNode {
  readonly children: Map<string, PathNode>;
  /** Prefix "/a": matches "/a" and everything below. */
  here: RoutePlan | undefined;
  /** Patterns whose literal beginning ends here. */
  patterns: PatternList | undefined;
}

/** Patterns that begin alike; compiled when the first path comes that could match one. */
interface PatternList {
  readonly plans: RoutePlan[];
  /** Place of each among all patterns of the host: lower goes first. */
  readonly ranks: number[];
  find: ((path: string) => number | undefined) | undefined;
}

/** A path that no pattern is tried on, see `MAX_MATCHED_PATH`. */
const TOO_LONG = "path-too-long";

export class HostRoutes implements HostTable {
  readonly #exact = new Map<string, RoutePlan>();
  readonly #paths: PathNode = newNode();
  /** Of the wildcard host that this one lies below; it takes what is not found here. */
  readonly #wider: HostRoutes | undefined;

  constructor(plans: readonly RoutePlan[], wider?: HostRoutes) {
    this.#wider = wider;
    for (const plan of plans) {
      const { match } = plan.route;
      if (match.kind === "exact") this.#exact.set(canonical(match.path), plan);
      else if (match.kind === "prefix") this.#nodeAt(match.prefix).here = plan;
    }
    for (const [rank, plan] of byPrecedence(plans).entries()) {
      const { match } = plan.route;
      if (match.kind !== "regex") continue;
      const list = (this.#nodeAt(match.beginning).patterns ??= { plans: [], ranks: [], find: undefined });
      list.plans.push(plan);
      list.ranks.push(rank);
    }
  }

  findRoute(path: string): FoundRoute {
    const plan = this.#find(path);
    if (plan === TOO_LONG) return { ok: false, reason: TOO_LONG };
    // "/admin;x" is "/admin" to servers that cut parameters off. When the two readings lead to different routes,
    // one route's policy would decide about the other's resource; and an address of ours is no upstream's.
    if (hasPathParameter(path)) {
      const other = withoutPathParameters(path);
      if (isOwnPath(other) || this.#find(other) !== plan) return { ok: false, reason: "ambiguous-path" };
    }
    return plan ? { ok: true, plan } : { ok: false, reason: "no-route" };
  }

  #nodeAt(path: string): PathNode {
    let node = this.#paths;
    // Prefixes go by whole segments: "/a/" says the same as "/a".
    for (const segment of canonical(path).split("/").slice(1)) {
      if (segment === "") break;
      let child = node.children.get(segment);
      if (!child) node.children.set(segment, (child = newNode()));
      node = child;
    }
    return node;
  }

  #find(path: string): RoutePlan | typeof TOO_LONG | undefined {
    const exact = this.#exact.get(path);
    if (exact) return exact;
    let node = this.#paths;
    let prefix = node.here;
    let pattern: RoutePlan | undefined;
    let rank = Infinity;
    let start = 1;
    for (;;) {
      const { patterns } = node;
      if (patterns !== undefined) {
        if (path.length > MAX_MATCHED_PATH) return TOO_LONG;
        const index = findPattern(patterns, path);
        if (index !== undefined && (patterns.ranks[index] as number) < rank) {
          pattern = patterns.plans[index];
          rank = patterns.ranks[index] as number;
        }
      }
      if (node.children.size === 0 || start > path.length) break;
      let end = path.indexOf("/", start);
      if (end === -1) end = path.length;
      const child = node.children.get(path.slice(start, end));
      if (!child) break;
      node = child;
      prefix = node.here ?? prefix;
      start = end + 1;
    }
    return pattern ?? prefix ?? (this.#wider === undefined ? undefined : this.#wider.#find(path));
  }
}

function findPattern(list: PatternList, path: string): number | undefined {
  list.find ??= compilePatterns(
    list.plans.map(({ route }) => (route.match.kind === "regex" ? route.match.pattern : "")),
  );
  return list.find(path);
}

/** Patterns by priority, then by the length of their literal beginning, then by their text. */
function byPrecedence(plans: readonly RoutePlan[]): readonly RoutePlan[] {
  const patterns = plans.flatMap((plan) =>
    plan.route.match.kind === "regex" ? [{ plan, match: plan.route.match }] : [],
  );
  patterns.sort(
    (a, b) =>
      b.match.priority - a.match.priority ||
      b.match.beginning.length - a.match.beginning.length ||
      (a.match.pattern < b.match.pattern ? -1 : 1),
  );
  return patterns.map(({ plan }) => plan);
}

function newNode(): PathNode {
  return { children: new Map(), here: undefined, patterns: undefined };
}

/** Configured paths are compared with canonical ones; what has no canonical form can never match and is kept as it is. */
function canonical(path: string): string {
  const result = canonicalPath(path);
  return result.ok ? result.path : path;
}
