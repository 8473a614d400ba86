/** The path of the upstream request (D5). */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { Passage } from "../request-context.ts";

/**
 * Ordinary routes forward the path, rewritten where they say so (rewrite-path.ts), behind the path of `to`. An MCP server
 * route owns its base, which is cut off, and forwards few paths (mcp-paths.ts).
 *
 * @returns path with query
 */
export function upstreamPath(passage: Passage, upstream: Upstream): string {
  const { exchange, plan, rewrittenPath, messageAddress } = passage;
  if (!plan.isMcpServer) return upstream.basePath + (rewrittenPath ?? exchange.path) + exchange.query;
  if (messageAddress !== undefined) return messageAddress.path;
  if (passage.mcpPath === undefined) throw new TypeError("a path of an MCP server route that nobody has judged");
  const path = upstream.basePath + passage.mcpPath;
  return (path === "" ? "/" : path) + exchange.query;
}
