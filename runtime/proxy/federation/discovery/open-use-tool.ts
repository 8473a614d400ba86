/**
 * Step: a call of `use_tool` becomes the plain call of the tool, and a call of `find_tools` counts as a list of tools, which it
 * is. All later steps, records and members see nothing else.
 */
import type { Blocks } from "../../../identity/blocks.ts";
import { clearTools } from "../../../mcp/clear-tools.ts";
import { FIND_TOOLS, plainCall, USE_TOOL } from "../../../mcp/federation/discovery.ts";
import type { Inspection } from "../../../mcp/inspect.ts";
import { parseMessage, type McpMessage } from "../../../mcp/message.ts";
import { encodeMirror, readMessageHeaders } from "../../../mcp/message-headers.ts";
import { refusal } from "../../../mcp/refusals.ts";
import type { RequestContext } from "../../request-context.ts";
import type { Step } from "../../steps.ts";

export function openUseTool({ blocks }: { readonly blocks?: Pick<Blocks, "hasTools" | "blockedTools"> }): Step {
  return (context) => {
    const { inspection, prepared } = context;
    const { mcp } = prepared.route;
    if (mcp?.kind !== "server" || mcp.searchToolsAbove === undefined) return "next";
    const message = inspection?.ok === true ? inspection.message : undefined;
    if (message?.facts.tool === FIND_TOOLS) context.inspection = { ok: true, message: asList(message) };
    else if (message?.facts.tool === USE_TOOL) context.inspection = opened(context, message, blocks);
    return "next";
  };
}

function asList(message: McpMessage): McpMessage {
  return { ...message, facts: { method: "tools/list" } };
}

function opened(
  { exchange, prepared }: RequestContext,
  message: McpMessage,
  blocks: Pick<Blocks, "hasTools" | "blockedTools"> | undefined,
): Inspection {
  const call = plainCall(message.bytes);
  // A use of a use would be decided as what it is not.
  if (!call || call.name === USE_TOOL || call.name === FIND_TOOLS) return refusal("mcp-invalid-tool-call", message.id);
  const { params: _params, ...headers } = readMessageHeaders(exchange.rawHeaders);
  const mcpName = headers.mcpName === undefined ? undefined : encodeMirror(call.name);
  const plain = parseMessage(call.bytes, { ...headers, mcpName }, clearTools(prepared.route, blocks));
  return plain.ok ? { ok: true, message: plain } : plain;
}
