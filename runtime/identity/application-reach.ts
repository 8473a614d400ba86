/**
 * Rules for the MCP servers that the application behind an MCP client route may call with its tokens.
 *
 * Without `owners` in the main configuration file: all. With `owners`: servers of its own owner, and servers that list
 * its owner in `allowed_applications`. Applications of the main configuration file reach all. The process that opens a
 * token decides by its own configuration. A token of an unknown route opens nothing.
 */
import { matchesOwner } from "../features/process/owners.ts";
import type { CompiledRoute } from "../config/compiled.ts";
import { findRoute, type Snapshot } from "../config/snapshot.ts";
import type { TokenAudience } from "./external-token.ts";

/**
 * Returns true if an application's token is valid for this server. The caller has checked kind and host.
 *
 * @param routeKey client route that the token was issued for; absent in tokens older than this rule
 */
export function applicationOpens(
  snapshot: Snapshot,
  routeKey: string | undefined,
  { server, origin }: Pick<TokenAudience, "server" | "origin">,
): boolean {
  if (snapshot.separatesOwners !== true) return true;
  const client = findRoute(snapshot, routeKey);
  if (client?.mcp?.kind !== "client") return false;
  return server ? reaches(client, server) : client.origin === origin;
}

/**
 * MCP servers that an application of this host may call, before policy.
 *
 * @param routeKey client route of the caller's token. Absent for callers with a cookie, whose page may belong to any
 *   client route of the host: they get the union
 */
export function serversOpenTo(
  snapshot: Snapshot,
  host: string,
  routeKey: string | undefined,
): readonly CompiledRoute[] {
  const servers = snapshot.routes.filter(({ mcp }) => mcp?.kind === "server");
  if (snapshot.separatesOwners !== true) return servers;
  const isCaller = ({ key, host: its }: CompiledRoute): boolean =>
    routeKey === undefined ? its === host : key === routeKey;
  const clients = snapshot.routes.filter((route) => route.mcp?.kind === "client" && isCaller(route));
  if (clients.length === 0) return [];
  const some = oneOfEachOwner(clients);
  return servers.filter((server) => some.every((client) => reaches(client, server)));
}

/** Client routes of one owner reach the same servers, so one of each is enough. */
export function oneOfEachOwner(clients: readonly CompiledRoute[]): readonly CompiledRoute[] {
  return [...new Map(clients.map((client) => [client.limitedTo, client])).values()];
}

/** Returns true if the application of a client route may call this server. */
export function reaches(client: CompiledRoute, server: CompiledRoute): boolean {
  const { limitedTo } = client;
  if (limitedTo === undefined || limitedTo === server.limitedTo) return true;
  return server.mcp?.kind === "server" && server.mcp.allowedApplications.some((each) => matchesOwner(each, limitedTo));
}
