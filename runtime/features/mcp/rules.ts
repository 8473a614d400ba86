/** Rules between the members of a route's `mcp` block, D5. */
import { fault, type Finding } from "../../settings/problem.ts";
import type { McpDoc, McpServerDoc } from "./settings.ts";
import { hasSecret } from "../../settings/secret-spellings.ts";

/** Rules between the members of the block. */
export function* mcpRules(mcp: NonNullable<McpDoc["mcp"]>): Iterable<Finding> {
  if (mcp.server && mcp.client) yield fault(["mcp"], 'has both "server" and "client", must have exactly one');
  if (!mcp.server && !mcp.client) yield fault(["mcp"], 'is empty, must have "server" or "client"');
  const oauth = mcp.server?.upstream_oauth2;
  if (!oauth) return;
  const path = ["mcp", "server", "upstream_oauth2"];
  if (hasSecret(oauth, "client_secret") && oauth.client_id === undefined)
    yield fault(path, 'has "client_secret" but no "client_id"');
  if (oauth.endpoint && oauth.client_id === undefined) {
    yield fault(
      [...path, "endpoint"],
      'needs "client_id" beside it, or must be left out so that everything is discovered',
    );
  }
}

/** True when endpoints come from discovery rather than from the route. */
export function usesDiscovery(server: McpServerDoc): boolean {
  return server.upstream_oauth2?.endpoint === undefined;
}
