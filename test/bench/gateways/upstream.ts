/**
 * The upstream of the comparison, on raw sockets: `node upstream.ts` prints its port. GET: 1,024 bytes of JSON, or with
 * /connections how many connections it has accepted. POST: an MCP server with 50 tools, 20 of which are named delete_…; the
 * tool stream_events answers with 100 events, one each 5 ms, any other one with 4 KiB.
 */
import type { Socket } from "node:net";

import { benchTools, chunkOf, EVENTS_HEAD, responseOf, serveRaw } from "../common/raw-server.ts";
import { EVENT_EVERY_MS, EVENTS, ITEMS_BYTES, RESULT_BYTES, TOOLS, toolName } from "./sizes.ts";

const METHOD = /"method":\s*"([^"]+)"/;
const ID = /"id":\s*("[^"]*"|\d+)/;

const items = responseOf(padded((text) => JSON.stringify({ ok: true, items: [1, 2, 3], text }), ITEMS_BYTES));
const tools = benchTools(TOOLS).map((tool, index) => ({ ...tool, name: toolName(index) }));
const streams = new Map<Socket, { id: string; sent: number }>();
let [connections, timer] = [0, undefined as NodeJS.Timeout | undefined];
/** By ID: clients repeat theirs. */
const results = new Map<string, Buffer>();
const lists = new Map<string, Buffer>();

function padded(make: (text: string) => string, bytes: number): string {
  return make("x".repeat(bytes - make("").length));
}

function message(id: string, result: object): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

function kept(known: Map<string, Buffer>, id: string, make: () => string): Buffer {
  const found = known.get(id) ?? responseOf(make());
  if (known.size < 64) known.set(id, found);
  return found;
}

function answer(socket: Socket, head: string, body: string): void {
  if (head.startsWith("GET")) {
    if (head.startsWith("GET /connections ")) socket.write(responseOf(String(connections)));
    else if (/\r\naccept: *text\/event-stream/i.test(head)) socket.write(responseOf("{}", undefined, "405 No"));
    else socket.write(items);
    return;
  }
  const [, method = ""] = METHOD.exec(body) ?? [];
  const [, id] = ID.exec(body) ?? [];
  if (id === undefined) socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
  else if (method === "tools/call" && body.includes("stream_events")) stream(socket, id);
  else if (method === "tools/call")
    socket.write(
      kept(results, id, () =>
        padded((text) => message(id, { content: [{ type: "text", text }], isError: false }), RESULT_BYTES),
      ),
    );
  else if (method === "tools/list") socket.write(kept(lists, id, () => message(id, { tools })));
  else if (method === "initialize") {
    const [, protocolVersion = "2025-06-18"] = /"protocolVersion":\s*"([^"]+)"/.exec(body) ?? [];
    const serverInfo = { name: "upstream", version: "1.0.0" };
    socket.write(responseOf(message(id, { protocolVersion, capabilities: { tools: {} }, serverInfo })));
  } else if (method === "ping") socket.write(responseOf(message(id, {})));
  else socket.write(responseOf(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`));
}

function stream(socket: Socket, id: string): void {
  socket.write(EVENTS_HEAD);
  streams.set(socket, { id, sent: 0 });
  timer ??= setInterval(sendEvents, EVENT_EVERY_MS);
}

function sendEvents(): void {
  for (const [socket, one] of streams) {
    if (socket.destroyed) {
      streams.delete(socket);
      continue;
    }
    one.sent += 1;
    const isLast = one.sent === EVENTS;
    const params = { progressToken: 1, progress: one.sent, total: EVENTS };
    const data = isLast
      ? message(one.id, { content: [{ type: "text", text: "done" }], isError: false })
      : JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params });
    const event = `event: message\ndata: ${data}\n\n`;
    socket.write(`${chunkOf(event)}${isLast ? chunkOf("") : ""}`);
    if (isLast) streams.delete(socket);
  }
  if (streams.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

serveRaw(answer, () => (connections += 1));
