import type { Construct } from "./framework.ts";
import { Route, type RouteProps } from "./route.ts";
import type { UpstreamOauth2 } from "./upstream-oauth2.ts";

/** Settings of a route to an MCP server; the names are those below `mcp.server` in files, but for `mcpPath`. */
export interface McpServerRouteProps extends RouteProps {
  /** Address of the MCP server, or a list of them; "url,weight" gives one more or less of the traffic. */
  readonly to: string | readonly string[];
  /**
   * Sub-path appended to the upstream URL for the MCP endpoint (`mcp.server.path` in files; `path` is the route's own).
   * @default - the path of `to`
   */
  readonly mcpPath?: string;
  /**
   * Largest request body in bytes; larger ones are refused with 413. Arguments of a tool call count: a file of 6 KB needs more.
   * @default 4096
   */
  readonly maxRequestBytes?: number;
  /**
   * Paths below the base of the route that go upstream beside the MCP endpoint: `/sse` is that path alone, `/files/*` what lies below it. All others are answered 404. `mcp_tool` judges messages: requests without one (GET, DELETE) pass by who their user is.
   * @default - the MCP endpoint alone
   */
  readonly extraPaths?: readonly string[];
  /**
   * OAuth with the upstream service.
   * @default - discovered when the upstream asks for it
   */
  readonly upstreamOauth2?: UpstreamOauth2;
  /**
   * Other owners whose applications (MCP client routes) may call this server with the tokens that they get, beside its
   * own owner's and those of the boot file: names such as "team-a", beginnings such as "kubernetes.*", or "*" for all.
   * Where the boot file has no `owners`, all may.
   * @default - applications of the same owner, and of the boot file
   */
  readonly allowedApplications?: string[];
  /**
   * Authorization server issuer used when discovery fails. HTTPS only.
   * @default - none
   */
  readonly authorizationServerUrl?: string;
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
      ...route
    } = props;
    const server = {
      path,
      maxRequestBytes,
      extraPaths,
      upstreamOauth2: upstreamOauth2?.settings,
      authorizationServerUrl,
      allowedApplications,
    };
    super(scope, id, route, { server });
  }
}
