/** Data that requests on a route need, computed once, at its first use. */
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import { createBalancer, type Balancer } from "../features/balancing/apply-balance.ts";
import { prepareHeaders, type PreparedHeaders } from "../features/headers/prepare.ts";
import type { Guardrail } from "../features/mcp/guardrail.ts";
import type { ToolLock } from "../features/mcp/tool-lock.ts";
import { historyOf, type RouteHistory } from "../limits/history/plan.ts";
import { setsOwnCookie } from "../identity/cookie.ts";
import { toolLockOf } from "../mcp/tool-locks/tool-locks.ts";
import { createMcpPaths, type McpPaths } from "./mcp-paths.ts";

export interface PreparedRoute extends PreparedHeaders {
  readonly route: CompiledRoute;
  readonly settings: LiveSettings;
  readonly balancer: Balancer;
  /** Scheme of the route's public origin, for X-Forwarded-Proto. */
  readonly scheme: "http" | "https";
  readonly isMcpServer: boolean;
  /** Its MCP server is the members of the route. */
  readonly isFederated: boolean;
  /** MCP server route: hides items in lists that a caller may not use. */
  readonly filtersLists: boolean;
  /** MCP server route: the lock on its tools. */
  readonly toolLock: ToolLock | undefined;
  /** MCP server route: its rules over earlier calls. */
  readonly history: RouteHistory | undefined;
  /** MCP server route: the service that checks its calls. */
  readonly guardrail: Guardrail | undefined;
  /** Set on MCP server routes. */
  readonly mcpPaths: McpPaths | undefined;
  readonly isMcpClient: boolean;
}

export function prepareRoute(route: CompiledRoute, settings: LiveSettings): PreparedRoute {
  const { cookie, jwtClaimsHeaders } = settings;
  const scheme = route.origin.startsWith("https:") ? "https" : "http";
  return {
    ...prepareHeaders(route, {
      scheme,
      jwtClaimsHeaders,
      setsOwnCookie: (setCookie) => setsOwnCookie(setCookie, cookie),
    }),
    route,
    settings,
    balancer: createBalancer(route),
    scheme,
    isMcpServer: route.mcp?.kind === "server",
    isFederated: route.mcp?.kind === "server" && route.mcp.members !== undefined,
    filtersLists: route.mcp?.kind === "server" && route.mcp.filtersLists && route.policy.needsMessage,
    toolLock: toolLockOf(route),
    history: historyOf(route),
    guardrail: route.mcp?.kind === "server" ? route.mcp.guardrail : undefined,
    mcpPaths: route.mcp?.kind === "server" ? createMcpPaths(route, route.mcp) : undefined,
    isMcpClient: route.mcp?.kind === "client",
  };
}
