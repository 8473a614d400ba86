/** Rules between the members of a route's `mcp` block, D5. */
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import type { McpDoc, McpServerDoc } from "./settings.ts";
import { hasSecret } from "../../settings/secret-spellings.ts";

/** Rules between the members of the block. */
export function* mcpRules(mcp: NonNullable<McpDoc["mcp"]>): Iterable<UnplacedProblem> {
  if (mcp.server && mcp.client) yield errorAt(["mcp"], 'has both "server" and "client", must have exactly one');
  if (!mcp.server && !mcp.client) yield errorAt(["mcp"], 'is empty, must have "server" or "client"');
  const oauth = mcp.server?.upstream_oauth2;
  if (!oauth) return;
  const path = ["mcp", "server", "upstream_oauth2"];
  if (hasSecret(oauth, "client_secret") && oauth.client_id === undefined)
    yield errorAt(path, 'has "client_secret" but no "client_id"');
  if (oauth.endpoint && oauth.client_id === undefined) {
    yield errorAt(
      [...path, "endpoint"],
      'needs "client_id" beside it, or must be left out so that everything is discovered',
    );
  }
}

/** True when endpoints come from discovery rather than from the route. */
export function usesDiscovery(server: McpServerDoc): boolean {
  return server.upstream_oauth2?.endpoint === undefined;
}
