/**
 * Addresses at which two configurations may decide differently, with the route that answers there on each side. Found
 * with the gateway's own routing tables, so that a new route in front of another counts correctly.
 */
import { routePolicy } from "../../policy/access-keys.ts";
import { type CompiledPolicy, compilePolicy, evaluate, refusedDecision } from "../../policy/evaluate.ts";
import { bindToolClasses } from "../../policy/bind-tool-classes.ts";
import { mayUse } from "../../policy/reach.ts";
import { buildHostIndex, type HostIndex } from "../../features/routing/apply-find-route.ts";
import { baseOf, compileMatch } from "../../features/routing/compile.ts";
import type { RoutedRoute } from "../../features/routing/compiled.ts";
import { writtenClasses } from "../../features/mcp/tool-lock.ts";
import {
  compileConditions,
  conditionsText,
  exampleRequest,
  type MatchedRequest,
} from "../../features/routing/conditions.ts";
import { parseFrom } from "../../features/routing/from.ts";
import { accepted } from "../../settings/values.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import type { Decision, UserFacts } from "../../policy/facts.ts";
import type { CheckedRoute } from "../load.ts";
import type { Case } from "./conditions.ts";
import type { Item } from "./items.ts";

/** Compared parts of a configuration. */
export interface Side {
  readonly routes: readonly Pick<CheckedRoute, "key" | "doc">[];
  /** False: MCP routes answer no request. */
  readonly mcpEnabled: boolean;
}

export interface ComparedRoute extends RoutedRoute {
  readonly key: string;
  readonly doc: CheckedRoute["doc"];
  readonly isServer: boolean;
  /** Equal texts decide equally. */
  readonly decides: string;
  /** Equal texts match the same addresses. */
  readonly place: string;
  /** Display form: "https://app.example.com/admin". */
  readonly address: string;
  /** Compiled at first use: most routes did not change. */
  policy(): CompiledPolicy;
}

export interface ComparedPlace {
  readonly old: ComparedRoute | undefined;
  readonly new: ComparedRoute | undefined;
  /** Address of the place's route: "https://app.example.com/admin". */
  readonly address: string;
  /** Address of the route with this key on the side that has no route here. */
  readonly elsewhere: string | undefined;
  readonly host: string;
  /** A path that only these routes match; undefined if none was found. */
  readonly path: string | undefined;
  /** Whether these two routes receive requests for this path. */
  readonly receives: (path: string) => boolean;
}

export interface Tables {
  readonly routes: readonly ComparedRoute[];
  /** @param request meets the conditions of a route; without it only routes without conditions are found */
  readonly find: (host: string, path: string, request?: MatchedRequest) => ComparedRoute | undefined;
  readonly isServed: (route: ComparedRoute) => boolean;
}

export function tablesOf({ routes, mcpEnabled }: Side): Tables {
  const compared = routes.map(comparedRoute);
  const index: HostIndex<ComparedRoute> = buildHostIndex({
    routes: compared,
    authenticateUrl: undefined,
    prepare: (route) => route,
  });
  return {
    routes: compared,
    find(host, path, request) {
      const found = index.findHost(host)?.findRoute(path, request);
      return found?.ok === true && serves(found.prepared, path) ? found.prepared : undefined;
    },
    isServed: ({ doc }) => doc.mcp === undefined || mcpEnabled,
  };
}

/**
 * An MCP server answers its endpoint and its extra paths, with 404 elsewhere; patterns for extra paths count as
 * everything.
 */
function serves({ isServer, base, doc }: ComparedRoute, path: string): boolean {
  const server = doc.mcp?.server;
  if (!isServer || server === undefined || (server.extra_paths ?? []).length > 0) return true;
  const below = trimSlash(path).slice(base.length);
  return below === "" || below === trimSlash(server.path ?? "");
}

function comparedRoute({ key, doc }: Side["routes"][number]): ComparedRoute {
  const from = accepted(parseFrom(doc.from));
  const match = compileMatch(doc);
  const isServer = doc.mcp?.server !== undefined;
  const rules = routePolicy(doc) ?? [];
  let policy: CompiledPolicy | undefined;
  return {
    key,
    doc,
    origin: from.origin,
    host: from.host,
    hostname: from.hostname,
    isWildcard: from.isWildcard,
    match,
    conditions: compileConditions(doc),
    base: baseOf(match),
    rewrite: undefined,
    answer: undefined,
    isServer,
    decides: canonicalJson({
      isServer,
      isMcp: doc.mcp !== undefined,
      rules,
      classes: doc.mcp?.server?.tool_lock?.classes ?? null,
    }),
    place: `${from.origin} ${canonicalJson({ ...match })}${conditionsText(doc)}`,
    address:
      from.origin +
      (match.kind === "regex" ? `~${match.pattern}` : match.kind === "exact" ? match.path : baseOf(match)),
    policy: () => (policy ??= bindToolClasses(compilePolicy(rules), writtenClasses(doc.mcp?.server?.tool_lock))),
  };
}

/** @returns places whose routes decide differently, or where only one side answers */
export function placesOf(before: Tables, after: Tables): readonly ComparedPlace[] {
  const byPlace = new Map<string, { old?: ComparedRoute; new?: ComparedRoute }>();
  for (const route of before.routes) byPlace.set(route.place, { old: route });
  for (const route of after.routes) byPlace.set(route.place, { ...byPlace.get(route.place), new: route });
  const keys = [before, after].map(({ routes }) => new Map(routes.map((route) => [route.key, route])));
  const places: ComparedPlace[] = [];
  for (const { old, new: next } of byPlace.values()) {
    const own = next ?? old;
    if (own === undefined) continue;
    const host = hostOf(own, next === undefined ? before : after);
    const request = exampleRequest(own.conditions);
    const paths = pathsOf(own, host, next === undefined ? before : after);
    const seen = new Set<ComparedRoute | undefined>();
    // Several wider routes of the other side may share an address of this side.
    for (const path of paths.length === 0 ? [undefined] : paths) {
      const pair = {
        old: old ?? (path === undefined ? undefined : before.find(host, path, request)),
        new: next ?? (path === undefined ? undefined : after.find(host, path, request)),
      };
      const other = next === undefined ? pair.new : pair.old;
      if (seen.has(other)) continue;
      seen.add(other);
      if (isAlike(pair.old, pair.new, before, after)) continue;
      const receives = (at: string): boolean =>
        before.find(host, at, request) === pair.old && after.find(host, at, request) === pair.new;
      const others = pair.old === undefined ? keys[0] : pair.new === undefined ? keys[1] : undefined;
      places.push({ ...pair, address: own.address, elsewhere: others?.get(own.key)?.address, host, path, receives });
    }
  }
  const known = new Set(places.map(pairText));
  return [...withMoved(places), ...underWildcards(before, after).filter((place) => !known.has(pairText(place)))];
}

function pairText({ old, new: next, host }: ComparedPlace): string {
  return JSON.stringify([old?.key, next?.key, host]);
}

/**
 * A named host gets nothing from wildcards: naming a host removes what they served there, and removing the name
 * restores it.
 */
function underWildcards(before: Tables, after: Tables): readonly ComparedPlace[] {
  const named = [before, after].map(({ routes }) => namedHosts(routes)) as [Set<string>, Set<string>];
  const places: ComparedPlace[] = [];
  for (const [at, tables] of [before, after].entries()) {
    const hosts = [...(named[1 - at] ?? [])].filter((host) => named[at]?.has(host) === false);
    for (const route of tables.routes.filter(({ isWildcard }) => isWildcard))
      for (const host of hosts) {
        if (!host.endsWith(route.host.slice(1))) continue;
        const [path] = pathsOf(route, host, tables);
        const found = (side: Tables): ComparedRoute | undefined =>
          side === tables ? route : path === undefined ? undefined : side.find(host, path);
        const pair = { old: found(before), new: found(after) };
        if (isAlike(pair.old, pair.new, before, after)) continue;
        const address = route.address.replace(route.host, () => host);
        const receives = (each: string): boolean =>
          before.find(host, each) === pair.old && after.find(host, each) === pair.new;
        const elsewhere = pair.old && pair.new ? undefined : route.address;
        places.push({ ...pair, address, elsewhere, host, path, receives });
      }
  }
  return places;
}

function namedHosts(routes: readonly ComparedRoute[]): Set<string> {
  return new Set(routes.flatMap(({ host, isWildcard }) => (isWildcard ? [] : [host])));
}

/** Joins the old and new place of a route that moved to an address without another route. */
function withMoved(places: readonly ComparedPlace[]): readonly ComparedPlace[] {
  const removed = new Map(places.flatMap((place) => (place.old && !place.new ? [[place.old.key, place]] : [])));
  const moved = new Set<ComparedPlace>();
  const joined = places.map((place) => {
    const left = place.new && !place.old ? removed.get(place.new.key) : undefined;
    if (left === undefined) return place;
    moved.add(left);
    return { ...place, old: left.old, receives: (path: string) => place.receives(path) || path === place.path };
  });
  return joined.filter((place) => !moved.has(place));
}

function isAlike(
  old: ComparedRoute | undefined,
  next: ComparedRoute | undefined,
  before: Tables,
  after: Tables,
): boolean {
  if (old === undefined || next === undefined) return old === next;
  return old.decides === next.decides && before.isServed(old) === after.isServed(next);
}

const HOST_LABELS = ["anything", "q7kz", "jv"];

function hostOf({ host, isWildcard }: ComparedRoute, tables: Tables): string {
  if (!isWildcard) return host;
  const named = HOST_LABELS.map((label) => label + host.slice(1));
  const taken = new Set(tables.routes.map((route) => route.host));
  return named.find((each) => !taken.has(each)) ?? host;
}

/** @returns paths that only this route of its side takes */
function pathsOf(route: ComparedRoute, host: string, tables: Tables): readonly string[] {
  const { base, match } = route;
  const candidates =
    match.kind === "exact"
      ? [match.path]
      : match.kind === "prefix"
        ? [base === "" ? "/" : base, `${base}/page`, `${base}/q7kz/jv`]
        : [
            match.beginning,
            `${match.beginning}x`,
            `${match.beginning}0`,
            `${match.beginning}/x`,
            `${match.beginning}x/x`,
            `${match.beginning}/0`,
            `${match.beginning}/q7kz/jv`,
          ];
  return candidates.filter((path) => tables.find(host, path) === route);
}

/** Decision of this side for one concrete request. */
export function decisionOf(
  tables: Tables,
  route: ComparedRoute | undefined,
  { facts, actor }: Case,
  user: UserFacts | undefined,
): Decision {
  if (route === undefined || !tables.isServed(route)) return NO_ROUTE;
  // An MCP server answers 401 to every request without a token, and its clients cannot verify a device.
  if (route.isServer && user === undefined) return NO_ROUTE;
  const { mcp, devices, ...rest } = facts;
  return evaluate(route.policy(), {
    ...rest,
    ...(user && { user: actor && route.isServer ? { ...user, actor } : user }),
    ...(route.isServer ? mcp && { mcp } : user && devices && { devices }),
  });
}

const NO_ROUTE = refusedDecision();

/** Whether the server lists the item; undefined for items that are in no list. */
export function isListed(
  tables: Tables,
  route: ComparedRoute | undefined,
  { listed }: Item,
  user: UserFacts | undefined,
): boolean | undefined {
  if (listed === undefined) return undefined;
  if (route === undefined || !route.isServer || user === undefined || !tables.isServed(route)) return false;
  return mayUse(route.policy(), user, listed);
}
