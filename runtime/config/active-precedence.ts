/**
 * Precedence of the unchanged parts of a changed slice.
 *
 * With precedence by whole texts, a rival for an owner's address could block every change of that owner: both texts
 * would be new. Therefore the active parts of an owner's slice keep their precedence when other parts change.
 */
import {
  precedence,
  type ReadRoute,
  readSlice,
  type ReadSlice,
  type SliceSource,
  type ActiveVersion,
} from "./read-slice.ts";
import { conditionsText } from "../features/routing/conditions.ts";
import type { ValuePath } from "../settings/problem.ts";
import { canonicalJson } from "../shared/canonical-json.ts";

export function inForce(owner: string, since: number, sources: readonly SliceSource[]): ActiveVersion {
  let read: readonly ReadSlice[] | undefined;
  return {
    owner,
    since,
    slices: () => (read ??= sources.flatMap((source) => readSlice(source, []) ?? [])),
  };
}

/**
 * Precedence of the route, setting or owner name at a path of a slice.
 *
 * @param whole requires equality of the whole route, not only of the requests it takes
 */
export function precedenceAt(slice: ReadSlice, path: ValuePath, whole = false): number {
  const { source } = slice;
  const { before, boot, isNew = false, since } = source;
  if (before === undefined || boot || (since !== undefined && !isNew)) return precedence(source);
  return wasActive(slice, path, whole, before) ? before.since : precedence(source);
}

export function routePrecedence({ slice, path }: ReadRoute): number {
  return precedenceAt(slice, path);
}

function wasActive(slice: ReadSlice, path: ValuePath, whole: boolean, before: ActiveVersion): boolean {
  const { owner, slices } = before;
  if (path[0] === "owner") return slice.owner === owner;
  const route = routeAt(slice, path);
  if (route) return claimsOf(before, whole).has(claimOf(route, whole));
  const certificate = slice.certificates.find((each) => each.path.every((part, index) => part === path[index]));
  // A renewed certificate has another text for the same host.
  if (certificate)
    return slices().some(({ certificates }) => certificates.some(({ host }) => host === certificate.host));
  const name = path.slice(slice.settingsPath.length);
  const value = JSON.stringify(valueAt(slice.settings, name));
  return slices().some(({ settings }) => JSON.stringify(valueAt(settings, name)) === value);
}

/** Path length of a route: "routes", and its name or index. */
const ROUTE_PARTS = 2;
const routesByPath = new WeakMap<readonly ReadRoute[], ReadonlyMap<string, ReadRoute>>();

function routeAt({ routes }: ReadSlice, path: ValuePath): ReadRoute | undefined {
  let known = routesByPath.get(routes);
  if (!known || known.size !== routes.length)
    routesByPath.set(routes, (known = new Map(routes.map((route) => [JSON.stringify(route.path), route]))));
  return known.get(JSON.stringify(path.slice(0, ROUTE_PARTS)));
}

/** Computed once per load: it is queried once per route. */
const knownClaims = new WeakMap<ActiveVersion, Map<boolean, ReadonlySet<string>>>();

function claimsOf(before: ActiveVersion, whole: boolean): ReadonlySet<string> {
  let known = knownClaims.get(before);
  if (!known) knownClaims.set(before, (known = new Map<boolean, ReadonlySet<string>>()));
  let claims = known.get(whole);
  if (!claims) {
    const routes = before.slices().flatMap((each) => each.routes);
    known.set(whole, (claims = new Set(routes.map((each) => claimOf(each, whole)))));
  }
  return claims;
}

/** Equal for routes that take the same requests and have the same address for MCP clients. */
function claimOf({ valid, name, canonical, doc }: ReadRoute, whole: boolean): string {
  if (whole && doc) return canonical(name).text;
  const { from, prefix, path, regex, mcp } = valid;
  const conditions = conditionsText(valid) || undefined;
  return canonicalJson(
    [from, prefix, path, regex, conditions, mcp?.server && { path: mcp.server.path }].map((each) => each ?? null),
  );
}

function valueAt(settings: object, path: ValuePath): unknown {
  let value: unknown = settings;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}
