/** The path of the upstream request (D5). */
import type { Upstream } from "../config/compiled.ts";
import type { Passage } from "./passage.ts";

/**
 * Ordinary routes forward the path, rewritten where they say so (rewrite-path.ts), behind the path of `to`. An MCP server
 * route owns its base, which is cut off; at the base itself stands the MCP endpoint, `to` + `mcp.server.path`.
 *
 * @returns path with query
 */
export function upstreamPath({ exchange, plan, rewrittenPath }: Passage, upstream: Upstream): string {
  const { mcp, base } = plan.route;
  if (mcp?.kind !== "server") return upstream.basePath + (rewrittenPath ?? exchange.path) + exchange.query;
  const rest = exchange.path.slice(base.length);
  // A rest that begins with the server's path by itself must not get it twice; any other rest stands as it is.
  const path = rest === "" || rest === "/" ? upstream.basePath + mcp.path : upstream.basePath + rest;
  return (path === "" ? "/" : path) + exchange.query;
}
