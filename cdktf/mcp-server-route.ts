import type { Construct } from "./framework.ts";
import type { McpServerSettings } from "./generated/props.ts";
import { Route, type RouteProps } from "./route.ts";
import type { UpstreamOauth2 } from "./upstream-oauth2.ts";

/** Settings of a route to an MCP server; named like those below `mcp.server` in files, except for `mcpPath`. */
export interface McpServerRouteProps extends RouteProps, McpServerSettings {
  /**
   * Address of the MCP server, or a list of them; "url,weight" sets an address's share of the traffic.
   * @default - required without `members` and `membersByLabel`
   */
  readonly to?: string | readonly string[];
  /**
   * Sub-path appended to the upstream URL for the MCP endpoint (`mcp.server.path` in files; `path` is the route's own).
   * @default - the path of `to`
   */
  readonly mcpPath?: string;
  /**
   * OAuth with the upstream service.
   * @default - discovered when the upstream requires it
   */
  readonly upstreamOauth2?: UpstreamOauth2;
}

/**
 * A route to an MCP server: callers present External Tokens, each message is read, and policies may name tools.
 *
 * ```ts
 * new McpServerRoute(gateway, "github", {
 *   from: "https://github.example.com",
 *   to: "http://github-mcp.internal:8080",
 *   mcpPath: "/mcp",
 *   policy: [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))],
 * });
 * ```
 */
export class McpServerRoute extends Route {
  constructor(scope: Construct, id: string, props: McpServerRouteProps) {
    const {
      mcpPath: path,
      maxRequestBytes,
      extraPaths,
      upstreamOauth2,
      authorizationServerUrl,
      allowedApplications,
      introspectionAccounts,
      filterLists,
      toolLock,
      toolScopes,
      recordArguments,
      historyRules,
      guardrail,
      members,
      membersByLabel,
      labels,
      memberPrefix,
      resourcePrefixes,
      searchToolsAbove,
      dpop,
      dpopNonce,
      ...route
    } = props;
    const server = {
      path,
      maxRequestBytes,
      extraPaths,
      upstreamOauth2: upstreamOauth2?.settings,
      authorizationServerUrl,
      allowedApplications,
      introspectionAccounts,
      filterLists,
      toolLock,
      toolScopes,
      recordArguments,
      historyRules,
      guardrail,
      members,
      membersByLabel,
      labels,
      memberPrefix,
      resourcePrefixes,
      searchToolsAbove,
      dpop,
      dpopNonce,
    } satisfies Record<keyof McpServerSettings | "path" | "upstreamOauth2", unknown>;
    super(scope, id, route, { server });
  }
}
