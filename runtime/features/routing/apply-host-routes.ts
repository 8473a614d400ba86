/**
 * The routes of one host: path → route.
 *
 * Exact path, then patterns by priority, then the longest prefix by whole segments; the order of routes in a file never
 * matters. Patterns hang in the tree of prefixes at their literal beginning, so that a path is tried only against those
 * that it could match.
 */
import { MAX_MATCHED_PATH } from "./path-pattern.ts";
import { canonicalPath, otherReadings } from "../../shared/http/target.ts";
import { isOwnPath } from "./own-paths.ts";
import { PathNode } from "./apply-path-tree.ts";
import { createAutomata, PatternPlaces } from "./apply-patterns.ts";
import type { RoutedRoute } from "./compiled.ts";

export type NoRouteReason = "no-route" | "ambiguous-path" | "path-too-long";

export type FoundRoute<P> =
  | {
      readonly ok: true;
      readonly prepared: P;
      /** The path as servers read it that cut parameters off; undefined where both are the same. */
      readonly otherPaths: readonly string[] | undefined;
    }
  | { readonly ok: false; readonly reason: NoRouteReason };

/** What one host serves. The authenticate host may serve no route at all, only our own endpoints. */
export interface HostTable<P> {
  /** How its users reach it. */
  readonly scheme: "http" | "https";
  findRoute(path: string): FoundRoute<P>;
}

/** A route, and how it is served once a request has come for it. */
interface Slot<R, P> {
  readonly route: R;
  prepared: P | undefined;
}

/** Kept over reloads: automata say nothing about routes. */
const automata = createAutomata();

/** A path that no pattern is tried on, see `MAX_MATCHED_PATH`. */
const TOO_LONG = "path-too-long";

export class HostRoutes<R extends RoutedRoute, P> implements HostTable<P> {
  readonly #exact = new Map<string, Slot<R, P>>();
  readonly #paths = new PathNode<Slot<R, P>, PatternPlaces<Slot<R, P>>>();
  readonly #prepare: (route: R) => P;
  /** Of the wildcard host that this one lies below; it takes what is not found here. */
  readonly #wider: HostRoutes<R, P> | undefined;
  readonly scheme: "http" | "https";
  /** Not laid out yet. */
  #waiting: Iterator<R> | undefined;

  /** @param prepare called with the first request for a route */
  constructor(routes: readonly R[], scheme: "http" | "https", prepare: (route: R) => P, wider?: HostRoutes<R, P>) {
    this.#prepare = prepare;
    this.#wider = wider;
    this.scheme = scheme;
    this.#waiting = routes[Symbol.iterator]();
  }

  /** Lays out routes that cost so much (`layOutCost`); the first request lays out what is left. @returns true once all are */
  layOut(cost: number): boolean {
    if (this.#waiting === undefined) return true;
    for (let left = cost; left > 0;) {
      const next = this.#waiting.next();
      if (next.done === true) {
        this.#waiting = undefined;
        return true;
      }
      this.#add({ route: next.value, prepared: undefined });
      left -= layOutCost(next.value);
    }
    return false;
  }

  findRoute(path: string): FoundRoute<P> {
    const slot = this.#find(path);
    if (slot === TOO_LONG) return { ok: false, reason: TOO_LONG };
    // "/admin;x" is "/admin" to servers that cut parameters off. When the readings lead to different routes,
    // one route's policy would decide about the other's resource; and an address of ours is no upstream's.
    const otherPaths = otherReadings(path);
    if (otherPaths?.some((other) => isOwnPath(other) || this.#find(other) !== slot) === true)
      return { ok: false, reason: "ambiguous-path" };
    if (slot === undefined) return { ok: false, reason: "no-route" };
    return { ok: true, prepared: (slot.prepared ??= this.#prepare(slot.route)), otherPaths };
  }

  #add(slot: Slot<R, P>): void {
    const { match } = slot.route;
    if (match.kind === "exact") this.#exact.set(canonical(match.path), slot);
    else if (match.kind === "prefix") this.#nodeAt(match.prefix).prefix = slot;
    // Every path that another pattern takes would begin with what no request's path does.
    else if (match.beginning === "" || isCanonical(match.beginning)) {
      const places = (this.#nodeAt(match.beginning).patterns ??= new PatternPlaces<Slot<R, P>>(automata, byPrecedence));
      places.add(match.pattern, match.stem, match.rest, slot);
    }
  }

  #nodeAt(path: string): PathNode<Slot<R, P>, PatternPlaces<Slot<R, P>>> {
    const written = canonical(path);
    // Prefixes go by whole segments: "/a/" says the same as "/a", and behind an empty one nothing counts.
    const empty = written.indexOf("//");
    const end = empty === -1 ? written.length : empty;
    return this.#paths.grow(written.slice(1, written.endsWith("/", end) ? end - 1 : end));
  }

  #find(path: string): Slot<R, P> | typeof TOO_LONG | undefined {
    if (this.#waiting !== undefined) this.layOut(Number.POSITIVE_INFINITY);
    const exact = this.#exact.size === 0 ? undefined : this.#exact.get(path);
    if (exact !== undefined) return exact;
    let node = this.#paths;
    let { prefix } = node;
    let pattern: Slot<R, P> | undefined;
    let start = 1;
    for (;;) {
      const { patterns } = node;
      if (patterns !== undefined) {
        if (path.length > MAX_MATCHED_PATH) return TOO_LONG;
        pattern = patterns.find(path, start - 1, pattern);
      }
      if (node.isLeaf || start > path.length) break;
      let end = path.indexOf("/", start);
      if (end === -1) end = path.length;
      const child = node.find(path, start, end);
      if (child === undefined) break;
      end = child.endIn(path, end);
      if (end === -1) break;
      node = child;
      prefix = node.prefix ?? prefix;
      start = end + 1;
    }
    return pattern ?? prefix ?? (this.#wider === undefined ? undefined : this.#wider.#find(path));
  }
}

/** What it takes to lay out a route, in routes with an ordinary path. */
export function layOutCost({ match }: RoutedRoute): number {
  const { length } = match.kind === "exact" ? match.path : match.kind === "prefix" ? match.prefix : match.beginning;
  return 1 + (length >> 6);
}

interface Matched {
  readonly route: Pick<RoutedRoute, "match">;
}

/** Patterns by priority, then by the length of their literal beginning, then by their text. */
function byPrecedence({ route: { match: a } }: Matched, { route: { match: b } }: Matched): number {
  if (a.kind !== "regex" || b.kind !== "regex") return 0;
  return (
    b.priority - a.priority ||
    b.beginning.length - a.beginning.length ||
    (a.pattern < b.pattern ? -1 : a.pattern > b.pattern ? 1 : 0)
  );
}

/** Whether paths of requests can go on from there with "/": they have no empty segments, and one spelling. */
function isCanonical(beginning: string): boolean {
  const result = canonicalPath(`${beginning}/x`);
  return result.ok && result.path === `${beginning}/x`;
}

/** Configured paths are compared with canonical ones; what has no canonical form can never match and is kept as it is. */
function canonical(path: string): string {
  const result = canonicalPath(path);
  return result.ok ? result.path : path;
}
