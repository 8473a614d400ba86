/** Attributes of a span about an operation of an MCP client. */
import { short, type Span } from "./span.ts";

/** Attributes of a request in the conventions for MCP, names as the client wrote them. */
export interface TracedOperation {
  /** @param status of the response; 0 when it was aborted */
  labels(status: number): {
    readonly method: string;
    readonly tool: string | undefined;
    readonly prompt: string | undefined;
    readonly protocolVersion: string | undefined;
    readonly httpVersion: string;
    readonly code: string | undefined;
    readonly errorType: string | undefined;
  };
}

/** @see OpenTelemetry, Semantic conventions for Model Context Protocol */
export function operationAttributes(operation: ReturnType<TracedOperation["labels"]>): Span["attributes"] {
  const { method, tool, prompt, protocolVersion, httpVersion, code, errorType } = operation;
  return {
    "mcp.method.name": method,
    ...(tool !== undefined && { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": short(tool) }),
    ...(prompt !== undefined && { "gen_ai.prompt.name": short(prompt) }),
    ...(protocolVersion !== undefined && { "mcp.protocol.version": protocolVersion }),
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "network.protocol.version": httpVersion,
    ...(code !== undefined && { "rpc.response.status_code": code }),
    ...(errorType !== undefined && { "error.type": errorType }),
  };
}
