import type { Construct } from "./framework.ts";
import { Route, type RouteProps } from "./route.ts";

/**
 * A route to an application that is itself an MCP client: each request carries an External Token in
 * `Authorization: Bearer`, with which the application lists and calls the MCP servers of the gateway as the user.
 */
export class McpClientRoute extends Route {
  constructor(scope: Construct, id: string, props: RouteProps) {
    // The empty block marks the route.
    super(scope, id, props, { client: {} });
  }
}
