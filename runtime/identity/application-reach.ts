/**
 * Which MCP servers the application behind an MCP client route may call with the tokens that it gets.
 *
 * Without `owners` in the boot file: all. With it: those of its own owner and those that name its owner in
 * `allowed_applications`; applications of the boot file all. The process that opens a token decides by its own
 * configuration, and a token of a route that it does not know opens nothing.
 */
import { matchesOwner } from "../features/process/owners.ts";
import type { CompiledRoute } from "../config/compiled.ts";
import { findRoute, type Snapshot } from "../config/snapshot.ts";
import type { TokenAudience } from "./external-token.ts";

/**
 * Whether an application's token is good here; that it is an application's for this host is known already.
 *
 * @param routeKey of the client route that it was made for; absent in tokens that are older than this rule
 */
export function applicationOpens(
  snapshot: Snapshot,
  routeKey: string | undefined,
  { server, origin }: Pick<TokenAudience, "server" | "origin">,
): boolean {
  if (snapshot.holdsOwnersApart !== true) return true;
  const client = findRoute(snapshot, routeKey);
  if (client?.mcp?.kind !== "client") return false;
  return server ? reaches(client, server) : client.origin === origin;
}

/**
 * The MCP servers that an application of this host may call, before policy.
 *
 * @param routeKey of the client route that the caller's token was made for. Absent for callers with a cookie, whose page
 *   may belong to any client route of the host: they see what all of these open
 */
export function serversOpenTo(
  snapshot: Snapshot,
  host: string,
  routeKey: string | undefined,
): readonly CompiledRoute[] {
  const servers = snapshot.routes.filter(({ mcp }) => mcp?.kind === "server");
  if (snapshot.holdsOwnersApart !== true) return servers;
  const isMeant = ({ key, host: its }: CompiledRoute): boolean =>
    routeKey === undefined ? its === host : key === routeKey;
  const clients = snapshot.routes.filter((route) => route.mcp?.kind === "client" && isMeant(route));
  if (clients.length === 0) return [];
  const some = oneOfEachOwner(clients);
  return servers.filter((server) => some.every((client) => reaches(client, server)));
}

/** Client routes of one owner reach alike: of thousands one is asked. */
export function oneOfEachOwner(clients: readonly CompiledRoute[]): readonly CompiledRoute[] {
  return [...new Map(clients.map((client) => [client.heldTo, client])).values()];
}

/** Whether the application of a client route may call this server. */
export function reaches(client: CompiledRoute, server: CompiledRoute): boolean {
  const { heldTo } = client;
  if (heldTo === undefined || heldTo === server.heldTo) return true;
  return server.mcp?.kind === "server" && server.mcp.allowedApplications.some((each) => matchesOwner(each, heldTo));
}
