/**
 * `mcp.server.members`: a route that offers several MCP servers as one. Each member is another route; its policy, lock, limits and
 * credentials apply to every request, as for a direct call.
 *
 * Prefixes have no "_", so `prefix__name` has one reading: the split at the first "__".
 */
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import { count } from "../../settings/types/scalar.ts";
import { textMap } from "../../settings/types/map.ts";

const PREFIX = /^[a-z0-9](?:[a-z0-9-]{0,14}[a-z0-9])?$/;
const MAX_MEMBERS = 50;

export const membersSetting = textMap({
  doc: "MCP server routes offered together at this address: prefix to route name, or to `owner/name`. Such a route has no `to`.",
  unset: "none",
  annotation: "mcp_server_members",
  checkName: (prefix) =>
    PREFIX.test(prefix)
      ? undefined
      : 'is not a prefix, must be 1 to 16 lower-case letters, digits and "-", not starting or ending with "-"',
  checkValue: (route) => (route === "" ? 'is "", must be the name of an MCP server route' : undefined),
});

/** Hosts show an app by its URI alone: those of a member always get its prefix. */
const CLAIM = /^(?!ui:)[a-z][a-z0-9+.-]*:[\x21-\x7e]*$/;

export const resourcePrefixesSetting = textMap({
  doc: "Resources that belong to one member: start of the URI to the member's prefix. Other URIs belong to the first member that lists them.",
  unset: "none",
  annotation: "mcp_server_resource_prefixes",
  checkName: (start) =>
    CLAIM.test(start) ? undefined : 'is not the start of a URI like "file:///repo/", must not be "ui:"',
});

export const searchToolsSetting = count({
  doc: "Number of tools above which a client's list has `find_tools` and `use_tool` instead, which search them and call one. Only with `members`.",
  unset: "never",
  min: 0,
  max: 100_000,
});

/** Settings that need an upstream, or that only the members have. */
const OF_MEMBERS = [
  "upstream_oauth2",
  "tool_lock",
  "tool_scopes",
  "record_arguments",
  "path",
  "extra_paths",
  "authorization_server_url",
] as const;

/** The block `mcp.server`, as far as it matters here. */
export type FederatedDoc = Partial<Readonly<Record<(typeof OF_MEMBERS)[number], unknown>>> & {
  readonly members?: Readonly<Record<string, string>> | undefined;
  readonly resource_prefixes?: Readonly<Record<string, string>> | undefined;
  readonly search_tools_above?: number | undefined;
};

/** @param report paths are below `mcp.server` */
export function memberRules(server: FederatedDoc, report: Report): void {
  if (server.members === undefined) {
    for (const name of ["resource_prefixes", "search_tools_above"] as const)
      if (server[name] !== undefined) report(errorAt([name], 'has no effect without "members"'));
    return;
  }
  resourcePrefixRules(server.members, server.resource_prefixes ?? {}, report);
  const count = Object.keys(server.members).length;
  if (count === 0) report(errorAt(["members"], "is empty, must have at least one member"));
  if (count > MAX_MEMBERS) report(errorAt(["members"], `has ${count} members, must have at most ${MAX_MEMBERS}`));
  for (const name of OF_MEMBERS)
    if (server[name] !== undefined)
      report(errorAt([name], 'cannot be combined with "members", whose own routes have this setting'));
}

function resourcePrefixRules(
  members: Readonly<Record<string, string>>,
  claims: Readonly<Record<string, string>>,
  report: Report,
): void {
  const starts = Object.keys(claims);
  for (const [start, prefix] of Object.entries(claims)) {
    const place = ["resource_prefixes", start];
    if (!Object.hasOwn(members, prefix)) report(errorAt(place, `is ${quote(prefix)}, must be a prefix of "members"`));
    const wider = starts.find((other) => other !== start && start.startsWith(other));
    if (wider !== undefined) report(errorAt(place, `overlaps with ${quote(wider)}, must belong to one member alone`));
  }
}

/** Keys of the member routes by prefix, in order of the prefixes. @param owner of the federated route */
export function compileMembers(server: FederatedDoc, owner: string): ReadonlyMap<string, string> | undefined {
  if (server.members === undefined) return undefined;
  return new Map(
    Object.entries(server.members)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([prefix, route]) => [prefix, memberKey(route, owner)]),
  );
}

/** Key of a route that a member names. */
export function memberKey(route: string, owner: string): string {
  return route.includes("/") ? route : `${owner}/${route}`;
}
