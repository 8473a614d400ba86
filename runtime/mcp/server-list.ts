/**
 * `GET /.gateway/mcp/routes` on the hosts of MCP client routes: the MCP servers that the caller could use.
 *
 * Answered with the External Token that the application got, or with the browser's session cookie. A server is listed
 * when the user could send it some allowed message; which tool is called counts as unknown.
 * @see requirements, "List MCP servers"; design D19
 */
import type { CompiledRoute, Snapshot } from "../config/compiled.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondError, respondJson } from "../http/respond.ts";
import { mayReachSomething } from "../policy/reach.ts";
import type { AuthResult, User } from "../session/principal.ts";
import type { Authenticator } from "../session/sessions.ts";

export const SERVER_LIST_PATH = "/.gateway/mcp/routes";

export interface ServerListDeps {
  readonly authenticator: Pick<Authenticator, "bearer" | "cookie">;
  /** Has the user completed the upstream OAuth flow of a route that needs one? */
  readonly isConnected: (user: User, route: CompiledRoute) => Promise<boolean>;
}

/** Keys exactly as the requirements have them. */
interface ListedServer {
  readonly name: string;
  readonly url: string;
  readonly connected: boolean;
}

export function serverListEndpoint(deps: ServerListDeps): Endpoint {
  return {
    methods: ["GET"],
    path: SERVER_LIST_PATH,
    mcp: true,
    async handle(exchange, snapshot) {
      const clientRoute = snapshot.routes.find((route) => route.host === exchange.host && route.mcp?.kind === "client");
      if (!clientRoute) {
        respondError(exchange, 404, { code: "mcp.not-a-client-route", message: "This host has no MCP client route." });
        return;
      }
      const caller = await authenticate(deps, exchange, clientRoute);
      if (!caller.ok) {
        const headers = ["www-authenticate", caller.reason === "missing" ? "Bearer" : 'Bearer error="invalid_token"'];
        respondError(
          exchange,
          caller.reason === "unavailable" ? 503 : 401,
          { code: "unauthorized", message: "Unauthorized" },
          headers,
        );
        return;
      }
      const servers = await listServers(deps, snapshot, caller.principal.user);
      respondJson(exchange, 200, { servers });
    },
  };
}

function authenticate(
  deps: ServerListDeps,
  exchange: Exchange,
  route: CompiledRoute,
): AuthResult | Promise<AuthResult> {
  const token = /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
  // A bad token is never made good by a cookie: the caller said which credential it means.
  if (exchange.headerValues("authorization").length > 0) {
    if (token === undefined) return { ok: false, reason: "malformed" };
    return deps.authenticator.bearer(token, { resource: `${route.origin}${SERVER_LIST_PATH}`, origin: route.origin });
  }
  return deps.authenticator.cookie(exchange);
}

async function listServers(deps: ServerListDeps, snapshot: Snapshot, user: User): Promise<readonly ListedServer[]> {
  const reachable = snapshot.routes.filter(
    (route) => route.mcp?.kind === "server" && mayReachSomething(route.policy, user),
  );
  return Promise.all(
    reachable.map(async (route) => ({
      name: route.name,
      url: route.mcp?.kind === "server" ? route.mcp.resource : route.origin,
      connected: await deps.isConnected(user, route),
    })),
  );
}
