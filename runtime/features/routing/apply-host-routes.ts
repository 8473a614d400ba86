/**
 * The routes of one host: path → route.
 *
 * Exact path, then patterns by priority, then the longest prefix by whole segments; the order of routes in a file never
 * matters. Routes of one path can have conditions (conditions.ts): if none is met, the next path takes the request. Patterns
 * are attached to the prefix tree at their literal prefix, so that a path is only tried against possible matches.
 */
import { MAX_MATCHED_PATH } from "./path-pattern.ts";
import { canonicalPath, otherReadings } from "../../shared/http/target.ts";
import { isOwnPath } from "./own-paths.ts";
import { PathNode } from "./apply-path-tree.ts";
import { createAutomata, PatternPlaces } from "./apply-patterns.ts";
import type { RoutedRoute } from "./compiled.ts";
import { type AskedRequest, askedOf, byConditions, type MatchedRequest, meets } from "./conditions.ts";

export type NoRouteReason = "no-route" | "ambiguous-path" | "path-too-long";

export type FoundRoute<P> =
  | {
      readonly ok: true;
      readonly prepared: P;
      /** The path as read by servers that strip parameters; undefined if equal. */
      readonly otherPaths: readonly string[] | undefined;
    }
  | { readonly ok: false; readonly reason: NoRouteReason };

/** Routes of one host. The authenticate host may have none, only our own endpoints. */
export interface HostTable<P> {
  /** Scheme of its public address. */
  readonly scheme: "http" | "https";
  /** @param request for routes with conditions; without it only those without conditions are found */
  findRoute(path: string, request?: MatchedRequest): FoundRoute<P>;
}

/** A route, and its prepared form after the first request. */
interface Slot<R, P> {
  readonly route: R;
  prepared: P | undefined;
  /** All routes of its path, this one included, if several have it. */
  all?: Alternatives<R, P>;
}

interface Alternatives<R, P> {
  /** In the order in which they are tried, once a request has asked. */
  readonly slots: Slot<R, P>[];
  isSorted: boolean;
}

/** Kept over reloads: automata do not depend on routes. */
const automata = createAutomata();

/** Patterns are not tried on this path, see `MAX_MATCHED_PATH`. */
const TOO_LONG = "path-too-long";

export class HostRoutes<R extends RoutedRoute, P> implements HostTable<P> {
  readonly #exact = new Map<string, Slot<R, P>>();
  readonly #paths = new PathNode<Slot<R, P>, PatternPlaces<Slot<R, P>>>();
  readonly #prepare: (route: R) => P;
  /** The shorter wildcard host, which takes paths without a route here. */
  readonly #wider: HostRoutes<R, P> | undefined;
  readonly scheme: "http" | "https";
  /** Any route has conditions. */
  #hasConditions = false;
  /** Not yet laid out. */
  #waiting: Iterator<R> | undefined;

  /** @param prepare called at the first request for a route */
  constructor(routes: readonly R[], scheme: "http" | "https", prepare: (route: R) => P, wider?: HostRoutes<R, P>) {
    this.#prepare = prepare;
    this.#wider = wider;
    this.scheme = scheme;
    this.#waiting = routes[Symbol.iterator]();
  }

  /** Lays out routes up to this cost (`layOutCost`); the first request lays out the rest. @returns true once all are */
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

  findRoute(path: string, request?: MatchedRequest): FoundRoute<P> {
    const slot = this.#find(path, request);
    if (slot === TOO_LONG) return { ok: false, reason: TOO_LONG };
    // "/admin;x" is "/admin" for servers that strip parameters. If the readings lead to different routes, one route's
    // policy would decide about the other's resource. An address of ours never goes to an upstream.
    const otherPaths = otherReadings(path);
    if (otherPaths?.some((other) => isOwnPath(other) || this.#find(other, request) !== slot) === true)
      return { ok: false, reason: "ambiguous-path" };
    if (slot === undefined) return { ok: false, reason: "no-route" };
    return { ok: true, prepared: (slot.prepared ??= this.#prepare(slot.route)), otherPaths };
  }

  #add(slot: Slot<R, P>): void {
    const { match } = slot.route;
    if (slot.route.conditions !== undefined) this.#hasConditions = true;
    if (match.kind === "exact") {
      const path = canonical(match.path);
      this.#exact.set(path, chain(this.#exact.get(path), slot));
    } else if (match.kind === "prefix") {
      const node = this.#nodeAt(match.prefix);
      node.prefix = chain(node.prefix, slot);
    }
    // Otherwise every matching path would start with a text that no request's path has.
    else if (match.beginning === "" || isCanonical(match.beginning)) {
      const places = (this.#nodeAt(match.beginning).patterns ??= new PatternPlaces<Slot<R, P>>(automata, byPrecedence));
      places.add(match.pattern, match.stem, match.rest, slot);
    }
  }

  #nodeAt(path: string): PathNode<Slot<R, P>, PatternPlaces<Slot<R, P>>> {
    const written = canonical(path);
    // Prefixes match whole segments: "/a/" equals "/a", and nothing after an empty segment counts.
    const empty = written.indexOf("//");
    const end = empty === -1 ? written.length : empty;
    return this.#paths.grow(written.slice(1, written.endsWith("/", end) ? end - 1 : end));
  }

  #find(path: string, request: MatchedRequest | undefined): Slot<R, P> | typeof TOO_LONG | undefined {
    if (this.#waiting !== undefined) this.layOut(Number.POSITIVE_INFINITY);
    const chooses = this.#hasConditions;
    let exact = this.#exact.size === 0 ? undefined : this.#exact.get(path);
    if (chooses) exact = choose(exact, request);
    if (exact !== undefined) return exact;
    let node = this.#paths;
    let prefix = chooses ? choose(node.prefix, request) : node.prefix;
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
      prefix = (chooses ? choose(node.prefix, request) : node.prefix) ?? prefix;
      start = end + 1;
    }
    return pattern ?? prefix ?? (this.#wider === undefined ? undefined : this.#wider.#find(path, request));
  }
}

/** The first route of a path whose conditions the request meets. */
function choose<R extends RoutedRoute, P>(
  slot: Slot<R, P> | undefined,
  request: MatchedRequest | undefined,
): Slot<R, P> | undefined {
  if (slot === undefined || (slot.all === undefined && slot.route.conditions === undefined)) return slot;
  const asked = request && askedOf(request);
  if (slot.all === undefined) return takes(slot, asked) ? slot : undefined;
  const { slots } = slot.all;
  if (!slot.all.isSorted) {
    slots.reverse().sort((a, b) => byConditions(a.route.conditions, b.route.conditions));
    slot.all.isSorted = true;
  }
  return slots.find((each) => takes(each, asked));
}

function takes<R extends RoutedRoute, P>({ route }: Slot<R, P>, request: AskedRequest | undefined): boolean {
  return route.conditions === undefined || meets(route.conditions, request);
}

/**
 * Adds a route to those of its path. Of two with equal conditions, which validation rejects, the last one counts.
 *
 * Sorted once, at the first request, when all are here: routes of one path can be as many as there are.
 */
function chain<R extends RoutedRoute, P>(first: Slot<R, P> | undefined, slot: Slot<R, P>): Slot<R, P> {
  if (first === undefined) return slot;
  if (first.all === undefined && first.route.conditions === undefined && slot.route.conditions === undefined)
    return slot;
  first.all ??= { slots: [first], isSorted: false };
  first.all.slots.push(slot);
  return first;
}

/** Cost of laying out a route, relative to one with an ordinary path. */
export function layOutCost({ match }: RoutedRoute): number {
  const { length } = match.kind === "exact" ? match.path : match.kind === "prefix" ? match.prefix : match.beginning;
  return 1 + (length >> 6);
}

interface Matched {
  readonly route: Pick<RoutedRoute, "match">;
}

/** Patterns by priority, then by length of the literal prefix, then by text. */
function byPrecedence({ route: { match: a } }: Matched, { route: { match: b } }: Matched): number {
  if (a.kind !== "regex" || b.kind !== "regex") return 0;
  return (
    b.priority - a.priority ||
    b.beginning.length - a.beginning.length ||
    (a.pattern < b.pattern ? -1 : a.pattern > b.pattern ? 1 : 0)
  );
}

/** Whether request paths can continue after it with "/": they have no empty segments, and one normal form. */
function isCanonical(beginning: string): boolean {
  const result = canonicalPath(`${beginning}/x`);
  return result.ok && result.path === `${beginning}/x`;
}

/**
 * Configured paths are compared with canonical ones; one without a canonical form never matches and stays unchanged.
 */
function canonical(path: string): string {
  const result = canonicalPath(path);
  return result.ok ? result.path : path;
}
