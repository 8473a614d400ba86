/**
 * Members of a federated route: the named ones, then the ones selected by label, in the order of its labels and of the
 * routes' keys. They depend on the configuration alone, not on the order in which it is read.
 *
 * A route of another owner needs both: the federated route names the owner, and the route's `allowed_applications` lists the owner
 * of the federated route.
 */
import { isFederated, isMemberPrefix, MAX_MEMBERS, memberKey } from "../features/mcp/members.ts";
import { matchesOwner } from "../features/process/owners.ts";
import type { ReadRoute, ReadSlice } from "./read-slice.ts";
import type { BootDoc } from "./settings.ts";

export interface FoundMembers {
  /** Prefix to route name or key, for the setting `members`. */
  readonly members: Readonly<Record<string, string>>;
  /** Problems of `members_by_label`, by index. */
  readonly problems: readonly { readonly at: number; readonly message: string }[];
}

interface RouteIndex {
  readonly byKey: ReadonlyMap<string, ReadRoute>;
  /** "<owner>/<label>" → MCP servers with an upstream, by key. */
  readonly byLabel: ReadonlyMap<string, readonly ReadRoute[]>;
  /** What was found for federated routes: rules and the configuration both need it. */
  readonly found: Map<ReadRoute, FoundMembers>;
}

/** Built once for each reading: federated routes and routes can both be many. */
const indexes = new WeakMap<readonly ReadSlice[], RouteIndex>();

export function findMember(slices: readonly ReadSlice[], key: string): ReadRoute | undefined {
  return indexOf(slices).byKey.get(key);
}

/** Whether a federated route can have this route as a member. */
export function allowsMember(
  boot: BootDoc | undefined,
  { owner, source }: ReadSlice,
  { slice, valid }: ReadRoute,
): boolean {
  if (slice.owner === owner || source.boot || !boot?.owners) return true;
  return valid.mcp?.server?.allowed_applications?.some((each) => matchesOwner(each, owner)) === true;
}

/** @returns undefined without `members_by_label` */
export function findMembers(
  route: ReadRoute,
  boot: BootDoc | undefined,
  slices: readonly ReadSlice[],
): FoundMembers | undefined {
  const { members: named = {}, members_by_label: selectors } = route.valid.mcp?.server ?? {};
  if (selectors === undefined) return undefined;
  const index = indexOf(slices);
  const known = index.found.get(route) ?? selectMembers(route, boot, index, { named, selectors });
  index.found.set(route, known);
  return known;
}

function selectMembers(
  { slice }: ReadRoute,
  boot: BootDoc | undefined,
  { byLabel }: RouteIndex,
  { named, selectors }: { readonly named: Readonly<Record<string, string>>; readonly selectors: readonly string[] },
): FoundMembers {
  const members = new Map(Object.entries(named));
  const taken = new Map(Object.entries(named).map(([prefix, name]) => [memberKey(name, slice.owner), prefix]));
  const problems: { at: number; message: string }[] = [];
  for (const [at, selector] of selectors.entries()) {
    const report = (message: string): void => void problems.push({ at, message: `is "${selector}", ${message}` });
    const all = byLabel.get(memberKey(selector, slice.owner)) ?? [];
    const open = firstOf(all, (route) => allowsMember(boot, slice, route));
    if (open.length === 0)
      report(
        selector.includes("/")
          ? "which no MCP server route of that owner has that this owner can use"
          : "which no MCP server route of this owner has",
      );
    const conflicts: string[] = [];
    let isFull = all.length > MAX_SCANNED;
    for (const route of open) {
      const [key, prefix] = [keyOf(route), prefixOf(route)];
      if (taken.has(key)) continue;
      const holder = members.get(prefix);
      if (holder !== undefined)
        conflicts.push(`"${key}", whose prefix "${prefix}" is that of "${memberKey(holder, slice.owner)}"`);
      else if (members.size >= MAX_MEMBERS) isFull = true;
      else {
        members.set(prefix, key);
        taken.set(key, prefix);
      }
    }
    // One message for each label: a product of routes and federated routes would fill the log.
    const [first, ...others] = conflicts;
    const more = others.length === 0 ? "" : `, and ${others.length} more with prefixes of other members`;
    if (first !== undefined) report(`which selects ${first}${more}`);
    if (isFull) report(`which selects more routes than the ${MAX_MEMBERS} that can be members`);
  }
  return { members: Object.fromEntries(members), problems };
}

/** @returns the prefix of a route that is selected by label */
export function prefixOf({ name, valid }: ReadRoute): string {
  return valid.mcp?.server?.member_prefix ?? name;
}

/** Maximum number of routes checked for one label: the product of routes and federated routes has a bound. */
const MAX_SCANNED = 200;

function firstOf(routes: readonly ReadRoute[], isOpen: (route: ReadRoute) => boolean): readonly ReadRoute[] {
  return routes.slice(0, MAX_SCANNED).filter(isOpen);
}

function indexOf(slices: readonly ReadSlice[]): RouteIndex {
  const known = indexes.get(slices);
  if (known) return known;
  const byKey = new Map<string, ReadRoute>();
  const byLabel = new Map<string, ReadRoute[]>();
  for (const route of slices.flatMap(({ routes }) => routes)) {
    byKey.set(keyOf(route), route);
    const { server } = route.valid.mcp ?? {};
    if (server?.labels === undefined || isFederated(server) || !isMemberPrefix(prefixOf(route))) continue;
    for (const label of new Set(server.labels)) {
      const key = `${route.slice.owner}/${label}`;
      const routes = byLabel.get(key);
      if (routes) routes.push(route);
      else byLabel.set(key, [route]);
    }
  }
  for (const routes of byLabel.values()) routes.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const index = { byKey, byLabel, found: new Map<ReadRoute, FoundMembers>() };
  indexes.set(slices, index);
  return index;
}

function keyOf({ slice, name }: ReadRoute): string {
  return `${slice.owner}/${name}`;
}
