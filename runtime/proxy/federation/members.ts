/** The members of a federated route that this caller's request may use. */
import { findRoute } from "../../config/snapshot.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import { applicationOpens, reaches } from "../../identity/application-reach.ts";
import type { RequestContext } from "../request-context.ts";
import { preparedOf } from "../route-table.ts";
import type { RouteMember } from "./ask-member.ts";

/** @returns undefined if it is not served here, or is not for this caller's application */
export function memberOf(caller: RequestContext, prefix: string): RouteMember | undefined {
  const { route } = caller.prepared;
  const key = route.mcp?.kind === "server" ? route.mcp.members?.get(prefix) : undefined;
  const member = findRoute(caller.snapshot, key);
  if (member === undefined || !isOpenTo(caller, route, member)) return undefined;
  return { prefix, prepared: preparedOf(member, caller.snapshot.settings) };
}

/** In order of the prefixes. */
export function membersOf(caller: RequestContext): readonly RouteMember[] {
  const { mcp } = caller.prepared.route;
  const prefixes = mcp?.kind === "server" ? [...(mcp.members?.keys() ?? [])] : [];
  return prefixes.map((prefix) => memberOf(caller, prefix)).filter((member) => member !== undefined);
}

/** Another owner can withdraw its route at any time, so this is decided for each request. */
function isOpenTo({ snapshot, principal }: RequestContext, federated: CompiledRoute, member: CompiledRoute): boolean {
  if (member.mcp?.kind !== "server" || member.mcp.members !== undefined || !reaches(federated, member)) return false;
  // A token of an application is valid for some servers only.
  const { kind, routeKey } = principal ?? {};
  return kind !== "application" || applicationOpens(snapshot, routeKey, { server: member, origin: member.origin });
}
