/**
 * The fastest upstream Node gives: raw sockets, one fixed small JSON answer. `node upstream.ts` prints its port. What a path
 * ends with may ask for more: `/bytes/N` for so many bytes, `/tools/N` for a list of so many MCP tools, `/events` for events
 * every two seconds without end, `/silence` for one event and a stream that stays open; a POST, whose path may be fixed, asks by `x-answer: tools/N`.
 */
import type { Socket } from "node:net";

import { benchTools, chunkOf, EVENTS_HEAD, responseOf, serveRaw } from "./raw-server.ts";

const EVENT_EVERY_MS = 2_000;
const WANTED = /^GET \S*\/(bytes|tools|events|silence)(?:\/(\d+))? /;
const WANTED_BY_HEADER = /\r\nx-answer: (bytes|tools)\/(\d+)/i;

const small = responseOf('{"ok":true,"items":[1,2,3],"message":"hello from the upstream of the benchmark"}');
const made = new Map<string, Buffer>();
const streams = new Set<Socket>();

function make(what: string, count: number): Buffer {
  if (what === "bytes") return responseOf("x".repeat(count), "application/octet-stream");
  return responseOf(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools: benchTools(count) } }));
}

function answer(socket: Socket, head: string): void {
  const [, what, count = ""] = (head.startsWith("POST") ? WANTED_BY_HEADER : WANTED).exec(head) ?? [];
  if (what === undefined) {
    socket.write(small);
  } else if (what === "events" || what === "silence") {
    socket.write(EVENTS_HEAD);
    tell(socket);
    if (what === "silence") return;
    streams.add(socket);
    socket.on("close", () => streams.delete(socket));
  } else {
    const key = `${what}/${count}`;
    const bytes = made.get(key) ?? make(what, Number(count));
    made.set(key, bytes);
    socket.write(bytes);
  }
}

function tell(socket: Socket): void {
  const event = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n';
  socket.write(chunkOf(event));
}

setInterval(() => streams.forEach(tell), EVENT_EVERY_MS);

serveRaw(answer);
