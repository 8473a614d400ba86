/** JSON-RPC messages of MCP clients: refused, or read like everybody reads them. */
import { parseMessage, toolArguments } from "../../../runtime/mcp/message.ts";
import { readMessageHeaders } from "../../../runtime/mcp/message-headers.ts";
import { must, mustEqual, utf8 } from "../oracle.ts";

const headers = readMessageHeaders([
  "Content-Type",
  "application/json",
  "Accept",
  "application/json, text/event-stream",
]);

interface Loose {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown };
}

export function fuzz(data: Uint8Array): void {
  const message = parseMessage(Buffer.from(data), headers);
  if (!message.ok) return;
  const seen = JSON.parse(utf8(data)) as Loose;
  must(!Array.isArray(seen), "a list was taken for a message");
  mustEqual(message.facts.method ?? null, seen.method ?? null, "another method");
  if (seen.method === "tools/call") mustEqual(message.facts.tool ?? null, seen.params?.name ?? null, "another tool");
  else must(message.facts.tool === undefined, "a tool that nobody calls", message.facts);
  mustEqual(message.id === undefined ? null : (JSON.parse(message.id) as unknown), seen.id ?? null, "another id");
  const given = toolArguments(message);
  if (given !== undefined) mustEqual(JSON.parse(given), seen.params?.arguments ?? null, "other arguments");
  must(message.bytes.equals(Buffer.from(data)), "other bytes go on");
}
