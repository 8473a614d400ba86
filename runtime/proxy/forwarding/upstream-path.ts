/** The path of the upstream request (D5). */
import type { Upstream } from "../../features/connection/compiled.ts";
import { rewritePath as rewrite } from "../../features/routing/apply-rewrite.ts";
import { respondError } from "../../http/respond.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";

/** Step: rejects a path whose meaning the rewrite would change. */
export function rewritePath({ metrics }: { readonly metrics?: ProxyMetrics }): Step {
  return (context) => {
    const { exchange, prepared } = context;
    if (prepared.route.rewrite === undefined) return "next";
    context.rewrittenPath = rewrite(exchange.path, prepared.route, prepared.route.rewrite);
    if (context.rewrittenPath !== undefined) return "next";
    respondError(exchange, 400, {
      code: "request.rewritten-path",
      message: "The path of this request cannot be written in the way this address needs",
    });
    metrics?.answered(prepared.route, 400, 0);
    return "done";
  };
}

/**
 * Ordinary routes forward the path, rewritten if configured (`rewritePath`), after the path of `to`. An MCP server route owns
 * its base, which is removed, and forwards few paths (mcp-paths.ts).
 *
 * @returns path with query
 */
export function upstreamPath(context: RequestContext, upstream: Upstream): string {
  const { exchange, prepared, rewrittenPath, messageAddress } = context;
  if (!prepared.isMcpServer) return upstream.basePath + (rewrittenPath ?? exchange.path) + exchange.query;
  if (messageAddress !== undefined) return messageAddress.path;
  if (context.mcpPath === undefined) throw new TypeError("a path of an MCP server route without a policy decision");
  const path = upstream.basePath + context.mcpPath;
  return (path === "" ? "/" : path) + exchange.query;
}
