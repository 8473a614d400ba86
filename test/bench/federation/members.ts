/**
 * MCP servers on raw sockets: `node members.ts` prints the port. The first part of the path chooses the server: `modern` (revision
 * 2026-07-28), `events` (the same, with responses in event streams), `sessions` (2025-11-25), and `N-tools` with that many tools,
 * whose lists may be kept for five minutes. The argument `size` of a call is the length of the text in its result.
 */
import type { Socket } from "node:net";

import { benchTools, serveRaw } from "../common/raw-server.ts";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly size?: number } };
}

function resultOf(server: string, { method, params }: Message): object | undefined {
  const isModern = server !== "sessions";
  switch (method) {
    case "server/discover":
      return isModern
        ? { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
        : undefined;
    case "initialize":
      return isModern
        ? undefined
        : { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    case "tools/list":
      return {
        resultType: "complete",
        ttlMs: 300_000,
        cacheScope: "private",
        tools: benchTools(Number(/^\d+/.exec(server)?.[0] ?? 4)),
      };
    case "tools/call": {
      const size = params?.arguments?.size ?? 1_000;
      return { content: [{ type: "text", text: "x".repeat(size) }], ...(isModern && { resultType: "complete" }) };
    }
    default:
      return undefined;
  }
}

const kept = new Map<string, string>();

function bodyOf(server: string, message: Message): string {
  const { method, params } = message;
  const key = JSON.stringify([server, method, params?.arguments?.size]);
  let rest = kept.get(key);
  if (rest === undefined) {
    const result = resultOf(server, message);
    rest = result ? `"result":${JSON.stringify(result)}}` : '"error":{"code":-32601,"message":"Method not found"}}';
    kept.set(key, rest);
  }
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},${rest}`;
}

function answer(socket: Socket, head: string, body: string): void {
  const server = /^\S+ \/([^/ ]*)/.exec(head)?.[1] ?? "";
  const message = (body === "" ? {} : JSON.parse(body)) as Message;
  if (message.id === undefined) return void socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
  const json = bodyOf(server, message);
  const session = message.method === "initialize" ? "mcp-session-id: its-session\r\n" : "";
  const [type, sent] =
    server === "events" ? ["text/event-stream", `event: message\ndata: ${json}\n\n`] : ["application/json", json];
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${session}content-length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`,
  );
}

serveRaw(answer);
