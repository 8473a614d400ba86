/** MCP messages for tests: bytes and headers as clients send them. */
import { parseMessage } from "../../runtime/mcp/message.ts";
import type { McpMessage, MessageOptions } from "../../runtime/mcp/message.ts";
import { readMessageHeaders } from "../../runtime/mcp/message-headers.ts";
import type { McpRefusal } from "../../runtime/mcp/refusals.ts";

export const jsonHeaders: readonly string[] = ["Content-Type", "application/json"];

/** Headers of revision 2026-07-28 for a message with this method and name. */
export function modernHeaders(method: string, name?: string, version = "2026-07-28"): readonly string[] {
  const all = [...jsonHeaders, "MCP-Protocol-Version", version, "Mcp-Method", method];
  return name === undefined ? all : [...all, "Mcp-Name", name];
}

/** `_meta` of revision 2026-07-28. */
export function modernMeta(version = "2026-07-28"): Readonly<Record<string, unknown>> {
  return {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
}

export function toolCallBody(name: unknown, args: unknown = {}, id: unknown = 1): Readonly<Record<string, unknown>> {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

/** @param body a value to be written as JSON, JSON text, or bytes */
export function readMessage(
  body: unknown,
  rawHeaders: readonly string[] = jsonHeaders,
  options: MessageOptions = {},
): McpMessage | McpRefusal {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return parseMessage(bytes, readMessageHeaders(rawHeaders), options);
}
