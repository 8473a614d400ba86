/**
 * Endpoints for applications behind MCP client routes. `GET /.gateway/mcp/routes` lists the MCP servers that their user
 * could use. `POST /.gateway/mcp/routes/disconnect` ends connections and returns the list again.
 *
 * Served on the hosts of MCP client routes, with the application's External Token or the browser's session cookie. A
 * server is listed when the application's token is valid there and policy would allow the user some message; the tool
 * counts as unknown.
 * @see test/requirements.ts, "MCP server list entry"; DECISIONS.md D19
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { readBody } from "../http/body.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondAgainLater, respondError, respondJson } from "../http/respond.ts";
import type { Log } from "../shared/log.ts";
import { mayReachSomething } from "../policy/reach.ts";
import { serversOpenTo } from "../identity/application-reach.ts";
import { isFromOwnOrigin } from "../identity/csrf.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { AuthResult, Principal, User } from "../identity/principal.ts";
import { respondBlocked } from "../identity/refuse-blocked.ts";
import type { Authenticator } from "../identity/interfaces.ts";

export const SERVER_LIST_PATH = "/.gateway/mcp/routes";
export const DISCONNECT_LIST_PATH = `${SERVER_LIST_PATH}/disconnect`;

const MAX_BODY_BYTES = 64 * 1024;

export interface ServerListDeps {
  readonly authenticator: Pick<Authenticator, "bearer" | "cookie">;
  /** Whether the user has connected an account at the upstream of a route that needs one. */
  readonly isConnected: (user: User, route: CompiledRoute) => Promise<boolean>;
  /** Ends the user's connection to the upstream of a route. */
  readonly disconnect: (userId: string, route: CompiledRoute) => Promise<boolean>;
  /** Blocked servers are not listed. */
  readonly blocks: Pick<Blocks, "find">;
  readonly log: Log;
}

/** Keys exactly as in the requirements. */
interface ListedServer {
  readonly name: string;
  readonly url: string;
  readonly connected: boolean;
}

export function serverListEndpoints(deps: ServerListDeps): readonly Endpoint[] {
  const endpoint = (
    method: "GET" | "POST",
    path: string,
    answer: (exchange: Exchange, snapshot: Snapshot, principal: Principal) => Promise<void>,
  ): Endpoint => ({
    methods: [method],
    path,
    mcp: true,
    async handle(exchange, snapshot) {
      const clientRoutes = snapshot.routes.filter(
        (route) => route.host === exchange.host && route.mcp?.kind === "client",
      );
      const [clientRoute] = clientRoutes;
      if (!clientRoute) {
        respondError(exchange, 404, { code: "mcp.not-a-client-route", message: "This host has no MCP client route." });
        return;
      }
      // Neither token nor cookie identifies the application on the host.
      if (clientRoutes.every(({ key }) => deps.blocks.find({ routeKey: key }))) return respondBlocked(exchange);
      const caller = await authenticate(deps, exchange, clientRoute);
      if (!caller.ok) return refuse(exchange, caller.reason);
      try {
        await answer(exchange, snapshot, caller.principal);
      } catch (error) {
        if (!(error instanceof GatewayError && error.code === "store.unavailable")) throw error;
        deps.log.error({ request: exchange.id, path, reason: errorText(error) }, "store unavailable");
        refuse(exchange, "unavailable");
      }
    },
  });

  return [
    endpoint("GET", SERVER_LIST_PATH, async (exchange, snapshot, principal) => {
      respondJson(exchange, 200, { servers: await listServers(deps, exchange, snapshot, principal) });
    }),
    endpoint("POST", DISCONNECT_LIST_PATH, async (exchange, snapshot, principal) => {
      // Any page's requests include the cookie, but not a token.
      const isByCookie = exchange.headerValues("authorization").length === 0;
      const origin = originOf(snapshot, exchange.host);
      if (isByCookie && (origin === undefined || !isFromOwnOrigin(exchange, origin))) {
        return respondError(exchange, 403, {
          code: "mcp.foreign-form",
          message: "This does not come from a page of this host.",
        });
      }
      const urls = await readUrls(exchange);
      if (!urls) {
        const message = 'The body must be JSON like {"routes": ["https://…"]}, with addresses as the list has them.';
        return respondError(exchange, 400, { code: "mcp.bad-request", message: message });
      }
      for (const route of reachableServers(exchange, snapshot, principal)) {
        if (urls.has(addressOf(route))) await deps.disconnect(principal.user.id, route);
      }
      respondJson(exchange, 200, { servers: await listServers(deps, exchange, snapshot, principal) });
    }),
  ];
}

function authenticate(
  deps: ServerListDeps,
  exchange: Exchange,
  route: CompiledRoute,
): AuthResult | Promise<AuthResult> {
  const token = /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
  // A cookie never replaces an invalid token: the caller chose its credential.
  if (exchange.headerValues("authorization").length > 0) {
    if (token === undefined) return { ok: false, reason: "malformed" };
    return deps.authenticator.bearer(token, { resource: `${route.origin}${SERVER_LIST_PATH}`, origin: route.origin });
  }
  return deps.authenticator.cookie(exchange);
}

function refuse(exchange: Exchange, reason: Extract<AuthResult, { ok: false }>["reason"]): void {
  if (reason === "blocked") return respondBlocked(exchange);
  if (reason === "unavailable") {
    const message = "This is not possible right now, try again shortly.";
    respondAgainLater(exchange, { code: "mcp.unavailable", message });
    return;
  }
  const challenge = reason === "missing" ? "Bearer" : 'Bearer error="invalid_token"';
  respondError(exchange, 401, { code: "unauthorized", message: "Unauthorized" }, ["www-authenticate", challenge]);
}

/** In the order of route keys, which is stable across restarts and files. */
async function listServers(
  deps: ServerListDeps,
  exchange: Exchange,
  snapshot: Snapshot,
  principal: Principal,
): Promise<readonly ListedServer[]> {
  const { user } = principal;
  return Promise.all(
    reachableServers(exchange, snapshot, principal)
      .filter((route) => !deps.blocks.find({ routeKey: route.key }))
      .map(async (route) => ({
        name: route.name,
        url: addressOf(route),
        connected: await deps.isConnected(user, route),
      })),
  );
}

/** Exactly the servers at which the application's token is valid and that admit its user. */
function reachableServers(
  { host }: Exchange,
  snapshot: Snapshot,
  { user, routeKey }: Principal,
): readonly CompiledRoute[] {
  return serversOpenTo(snapshot, host, routeKey).filter((route) => mayReachSomething(route.policy, user));
}

function addressOf(route: CompiledRoute): string {
  return route.mcp?.kind === "server" ? route.mcp.resource : route.origin;
}

function originOf(snapshot: Snapshot, host: string): string | undefined {
  return snapshot.routes.find((route) => route.host === host)?.origin;
}

async function readUrls(exchange: Exchange): Promise<ReadonlySet<string> | undefined> {
  // Other sites can send forms as text, but not as JSON.
  if (!/^application\/json\s*(?:;|$)/i.test(exchange.header("content-type") ?? "")) return undefined;
  const body = await readBody(exchange, MAX_BODY_BYTES);
  if (!body.ok) return undefined;
  try {
    const parsed = JSON.parse(body.bytes.toString("utf8")) as { routes?: unknown } | null;
    const routes = parsed?.routes;
    if (!Array.isArray(routes) || routes.length === 0) return undefined;
    return new Set(routes.filter((url): url is string => typeof url === "string"));
  } catch {
    return undefined;
  }
}
