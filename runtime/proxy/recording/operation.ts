/** Reports the message of an MCP client as an operation, when it is over: from its first byte to the end of its response. */
import type { McpMessage } from "../../mcp/message.ts";
import { Operation } from "../../mcp/operations/operation.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { RequestContext } from "../request-context.ts";

/** A client's response to a question of the server is part of another operation. */
export function followOperation(metrics: ProxyMetrics | undefined, context: RequestContext, message: McpMessage): void {
  const { exchange, prepared, trace, beganMs } = context;
  const { method } = message.facts;
  if (method === undefined || (metrics === undefined && trace === undefined)) return;
  const operation = new Operation(message, method, exchange.header("mcp-protocol-version"), exchange.httpVersion);
  context.operation = operation;
  trace?.operates(operation);
  if (metrics === undefined) return;
  exchange.onClose((isComplete) => {
    const labels = operation.labels(isComplete ? exchange.status : 0);
    metrics.operated(prepared.route, labels, performance.now() - beganMs);
  });
}
