/** Rules between a federated route and its members (`mcp.server.members`, `members_by_label`). */
import { isFederated, isMemberPrefix, memberKey } from "../../features/mcp/members.ts";
import { errorAt, quote, type Report, warningAt } from "../../settings/problem.ts";
import { allowsMember, findMember, findMembers, prefixOf } from "../find-members.ts";
import type { ReadRoute, ReadSlice } from "../read-slice.ts";
import type { BootDoc } from "../settings.ts";

interface Bundle {
  readonly boot: BootDoc | undefined;
  readonly slices: readonly ReadSlice[];
}

/** Members exist, are MCP servers with an upstream, and their owner allows it, which matters with `owners` alone. */
export function memberBundleRules(route: ReadRoute, bundle: Bundle, report: Report): void {
  const { boot, slices } = bundle;
  const { server } = route.valid.mcp ?? {};
  if (boot && !boot.owners && server?.allowed_applications) {
    const message =
      'has no effect: the main configuration file has no "owners", so every application can call this server';
    report(warningAt(["mcp", "server", "allowed_applications"], message));
  }
  if (server?.labels !== undefined && !isMemberPrefix(prefixOf(route))) {
    const message = `needs "member_prefix": the name of the route, ${quote(route.name)}, cannot be a prefix`;
    report(errorAt(["mcp", "server", "labels"], message));
  }
  const { owner } = route.slice;
  for (const [prefix, name] of Object.entries(server?.members ?? {})) {
    const key = memberKey(name, owner);
    const found = findMember(slices, key);
    const member = found?.valid.mcp?.server;
    const place = ["mcp", "server", "members", prefix];
    if (found && member && !isFederated(member) && allowsMember(boot, route.slice, found)) continue;
    // Another owner's change must not make this owner's slice invalid: the member is then missing at the endpoint.
    const problemAt = key.startsWith(`${owner}/`) ? errorAt : warningAt;
    const what = `is ${quote(name)}`;
    if (member === undefined) report(problemAt(place, `${what}, must be the name of an MCP server route`));
    else if (isFederated(member)) report(problemAt(place, `${what}, which has members itself, must have an upstream`));
    else report(problemAt(place, `${what}, whose "allowed_applications" does not list the owner ${quote(owner)}`));
  }
  labelRules(route, bundle, report);
}

/** Warnings only: which routes have a label changes with other owners' slices. */
function labelRules(route: ReadRoute, { boot, slices }: Bundle, report: Report): void {
  const found = findMembers(route, boot, slices);
  if (found === undefined) return;
  for (const { at, message } of found.problems) report(warningAt(["mcp", "server", "members_by_label", at], message));
  for (const [start, prefix] of Object.entries(route.valid.mcp?.server?.resource_prefixes ?? {}))
    if (!Object.hasOwn(found.members, prefix))
      report(warningAt(["mcp", "server", "resource_prefixes", start], `is ${quote(prefix)}, which no member has`));
}
