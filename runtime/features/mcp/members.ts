/**
 * `mcp.server.members`: a route that offers several MCP servers as one. Each member is another route; its policy, lock, limits and
 * credentials apply to every request, as for a direct call. `members_by_label` selects routes by their `labels` when the
 * configuration is loaded (config/find-members.ts).
 *
 * Prefixes have no "_", so `prefix__name` has one reading: the split at the first "__".
 */
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import { count, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import { textMap } from "../../settings/types/map.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { isOwner } from "../process/owners.ts";

const PREFIX = /^[a-z0-9](?:[a-z0-9-]{0,14}[a-z0-9])?$/;
const PREFIX_EXPECTED = 'must be 1 to 16 lower-case letters, digits and "-", not starting or ending with "-"';
export const MAX_MEMBERS = 50;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const LABEL_EXPECTED = 'must be 1 to 32 lower-case letters, digits and "-", not starting or ending with "-"';
/** Limit of the labels of one route, and of the labels that it selects. */
const MAX_LABELS = 16;

export const membersSetting = textMap({
  doc: "MCP server routes offered together here, instead of `to`: prefix to route name or `owner/name`.",
  unset: "none",
  annotation: "mcp_server_members",
  checkName: (prefix) => (isMemberPrefix(prefix) ? undefined : `is not a prefix, ${PREFIX_EXPECTED}`),
  checkValue: (route) => (route === "" ? 'is "", must be the name of an MCP server route' : undefined),
});

export const membersByLabelSetting = textList({
  doc: "More members: the owner's routes with such `labels`, or `owner/label`.",
  unset: "none",
  annotation: "mcp_server_members_by_label",
  check: (value) => quotedProblem(value, selectorProblem(value)),
});

export const labelsSetting = textList({
  doc: "Labels for `members_by_label` of federated routes.",
  unset: "none",
  annotation: "mcp_server_labels",
  check: (label) => quotedProblem(label, LABEL.test(label) ? undefined : LABEL_EXPECTED),
});

export const memberPrefixSetting = text({
  doc: "Prefix where selected by label.",
  unset: "the name of the route",
  annotation: "mcp_server_member_prefix",
  check: (prefix) => quotedProblem(prefix, isMemberPrefix(prefix) ? undefined : PREFIX_EXPECTED),
});

/** @returns whether tools can have this prefix */
export function isMemberPrefix(prefix: string): boolean {
  return PREFIX.test(prefix);
}

function selectorProblem(selector: string): string | undefined {
  const at = selector.indexOf("/");
  const isValid = LABEL.test(selector.slice(at + 1)) && (at < 0 || isOwner(selector.slice(0, at)));
  return isValid ? undefined : `must be a label or "owner/label"; a label ${LABEL_EXPECTED}`;
}

/** Hosts show an app by its URI alone: those of a member always get its prefix. */
const CLAIM = /^(?!ui:)[a-z][a-z0-9+.-]*:[\x21-\x7e]*$/;

export const resourcePrefixesSetting = textMap({
  doc: "Resources of one member: start of the URI to the member's prefix. Others belong to the first member that lists them.",
  unset: "none",
  annotation: "mcp_server_resource_prefixes",
  checkName: (start) =>
    CLAIM.test(start) ? undefined : 'is not the start of a URI like "file:///repo/", must not be "ui:"',
});

export const searchToolsSetting = count({
  doc: "Number of tools above which lists have `find_tools` and `use_tool` instead, to search and call them. Only with `members`.",
  unset: "never",
  annotation: "mcp_server_search_tools_above",
  min: 0,
  max: 100_000,
});

/** Settings that need an upstream, or that only the members have. */
const OF_MEMBERS = [
  "upstream_oauth2",
  "tool_lock",
  "tool_scopes",
  "record_arguments",
  "history_rules",
  "guardrail",
  "path",
  "extra_paths",
  "authorization_server_url",
  "labels",
  "member_prefix",
] as const;

/** The block `mcp.server`, as far as it matters here. */
export type FederatedDoc = Partial<Readonly<Record<(typeof OF_MEMBERS)[number], unknown>>> & {
  readonly members?: Readonly<Record<string, string>> | undefined;
  readonly members_by_label?: readonly string[] | undefined;
  readonly resource_prefixes?: Readonly<Record<string, string>> | undefined;
  readonly search_tools_above?: number | undefined;
};

/** Whether a route has members, and therefore no upstream. */
export function isFederated(server: FederatedDoc | undefined): boolean {
  return server?.members !== undefined || server?.members_by_label !== undefined;
}

/** @param report paths are below `mcp.server` */
export function memberRules(server: FederatedDoc, report: Report): void {
  for (const name of ["labels", "members_by_label"] as const) {
    const { [name]: labels } = server;
    if (!Array.isArray(labels)) continue;
    if (labels.length === 0) report(errorAt([name], "is empty, must have at least one label"));
    if (labels.length > MAX_LABELS)
      report(errorAt([name], `has ${labels.length} labels, must have at most ${MAX_LABELS}`));
  }
  if (!isFederated(server)) {
    for (const name of ["resource_prefixes", "search_tools_above"] as const)
      if (server[name] !== undefined) report(errorAt([name], 'has no effect without "members"'));
    if (server.member_prefix !== undefined && server.labels === undefined)
      report(errorAt(["member_prefix"], 'has no effect without "labels"'));
    return;
  }
  const { members = {} } = server;
  resourcePrefixRules(server, report);
  const count = Object.keys(members).length;
  if (count === 0 && server.members_by_label === undefined)
    report(errorAt(["members"], "is empty, must have at least one member"));
  if (count > MAX_MEMBERS) report(errorAt(["members"], `has ${count} members, must have at most ${MAX_MEMBERS}`));
  for (const name of OF_MEMBERS)
    if (server[name] !== undefined)
      report(errorAt([name], 'cannot be combined with "members", whose own routes have this setting'));
}

/** Prefixes of members by label are known with all routes (config/rules/members.ts). */
function resourcePrefixRules(server: FederatedDoc, report: Report): void {
  const { members = {}, members_by_label: selectors, resource_prefixes: claims = {} } = server;
  const starts = Object.keys(claims);
  for (const [start, prefix] of Object.entries(claims)) {
    const place = ["resource_prefixes", start];
    if (selectors === undefined && !Object.hasOwn(members, prefix))
      report(errorAt(place, `is ${quote(prefix)}, must be a prefix of "members"`));
    const wider = starts.find((other) => other !== start && start.startsWith(other));
    if (wider !== undefined) report(errorAt(place, `overlaps with ${quote(wider)}, must belong to one member alone`));
  }
}

/** Keys of the member routes by prefix, in order of the prefixes; `members` has those by label. @param owner of the federated route */
export function compileMembers(server: FederatedDoc, owner: string): ReadonlyMap<string, string> | undefined {
  if (!isFederated(server)) return undefined;
  return new Map(
    Object.entries(server.members ?? {})
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([prefix, route]) => [prefix, memberKey(route, owner)]),
  );
}

/** Key of a route that a member names. */
export function memberKey(route: string, owner: string): string {
  return route.includes("/") ? route : `${owner}/${route}`;
}
