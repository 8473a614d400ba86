/** Rules between a federated route and the routes that it names (`mcp.server.members`). */
import { memberKey } from "../../features/mcp/members.ts";
import { matchesOwner } from "../../features/process/owners.ts";
import { errorAt, quote, type Report, warningAt } from "../../settings/problem.ts";
import type { ReadRoute, ReadSlice } from "../read-slice.ts";
import type { BootDoc } from "../settings.ts";

/** Members exist, are MCP servers with an upstream, and their owner allows it, which matters with `owners` alone. */
export function memberBundleRules(
  route: ReadRoute,
  { boot, slices }: { readonly boot: BootDoc | undefined; readonly slices: readonly ReadSlice[] },
  report: Report,
): void {
  if (boot && !boot.owners && route.valid.mcp?.server?.allowed_applications) {
    const message =
      'has no effect: the main configuration file has no "owners", so every application can call this server';
    report(warningAt(["mcp", "server", "allowed_applications"], message));
  }
  const { owner, source } = route.slice;
  for (const [prefix, name] of Object.entries(route.valid.mcp?.server?.members ?? {})) {
    const key = memberKey(name, owner);
    const at = key.indexOf("/");
    const slice = slices.find((each) => each.owner === key.slice(0, at));
    const server = slice?.routes.find((each) => each.name === key.slice(at + 1))?.valid.mcp?.server;
    const place = ["mcp", "server", "members", prefix];
    const isOwn = key.startsWith(`${owner}/`);
    const isAllowed =
      isOwn || source.boot || !boot?.owners || server?.allowed_applications?.some((each) => matchesOwner(each, owner));
    if (server !== undefined && server.members === undefined && isAllowed) continue;
    // Another owner's change must not make this owner's slice invalid: the member is then missing at the endpoint.
    const problemAt = isOwn ? errorAt : warningAt;
    const what = `is ${quote(name)}`;
    if (server === undefined) report(problemAt(place, `${what}, must be the name of an MCP server route`));
    else if (server.members) report(problemAt(place, `${what}, which has members itself, must have an upstream`));
    else report(problemAt(place, `${what}, whose "allowed_applications" does not list the owner ${quote(owner)}`));
  }
}
