/** The upstreams of a soak: a web application with event streams and WebSockets, and an MCP server, whose manners can be changed. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

import type { ReachedUpstream, SoakUpstream, UpstreamManner } from "./types.ts";

export interface RunningUpstream extends SoakUpstream {
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const LATE_MS = 2_000;
const EVENT_EVERY_MS = 500;

/** @param now of the soak */
export function startWebUpstream(now: () => number): Promise<RunningUpstream> {
  return startUpstream(now, (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://upstream");
    if (pathname.endsWith("/events")) return streamEvents(response);
    const requestId = request.headers["x-request-id"];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ seen: request.headers, url: request.url, requestId }));
    return undefined;
  });
}

/** Its tools: `echo` and `delete_item`, with a text `tag`. Both eras. */
export async function startMcpUpstream(now: () => number): Promise<RunningUpstream> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "soak", version: "1.0.0" });
    const inputSchema = fromJsonSchema<{ readonly tag: string }>({
      type: "object",
      properties: { tag: { type: "string" } },
      required: ["tag"],
    });
    for (const name of ["echo", "delete_item"]) {
      server.registerTool(name, { description: name, inputSchema }, (input) => ({
        content: [{ type: "text" as const, text: JSON.stringify(input) }],
      }));
    }
    return server;
  });
  const serve = toNodeHandler(handler);
  const upstream = await startUpstream(now, (request, response, body) => {
    // The cast: Node types `method` as "string or undefined", the SDK as optional.
    void serve(request as NodeIncomingMessageLike, response, body === "" ? undefined : parsed(body));
  });
  return {
    ...upstream,
    async close() {
      await handler.close();
      await upstream.close();
    },
  };
}

async function startUpstream(now: () => number, answer: Answer): Promise<RunningUpstream> {
  let manner: UpstreamManner = "ok";
  let turn = 0;
  const reached: ReachedUpstream[] = [];
  const hanging = new Set<Socket>();
  const upgraded = new Set<Socket>();

  const server = createServer({ noDelay: true }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      reached.push(noted(now(), request, body));
      treat(request, response, () => answer(request, response, body));
    });
  });
  // The gateway decides how long connections are kept.
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => {
    socket.on("error", () => {});
    if (manner === "refuse") socket.resetAndDestroy();
  });
  server.on("upgrade", (request, socket: Socket) => {
    reached.push(noted(now(), request, ""));
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    echo(request, socket);
  });

  function treat(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { socket } = request;
    turn += 1;
    switch (manner) {
      case "ok":
        return serve();
      case "late":
        return void setTimeout(serve, LATE_MS);
      case "hang":
        return void hanging.add(socket);
      case "refuse":
        return void socket.resetAndDestroy();
      case "reset":
        return turn % 2 === 0 ? void socket.resetAndDestroy() : serve();
      case "close":
        response.once("finish", () => socket.destroySoon());
        return serve();
      default:
        return manner satisfies never;
    }
  }

  await listens(server);
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached,
    behave(next) {
      manner = next;
      for (const socket of hanging) socket.destroy();
      hanging.clear();
      if (next === "refuse") server.closeAllConnections();
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of upgraded) socket.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listens(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
}

function noted(at: number, request: IncomingMessage, body: string): ReachedUpstream {
  const message = parsed(body) as { readonly method?: unknown; readonly params?: Readonly<Record<string, unknown>> };
  const isCall = message?.method === "tools/call";
  return {
    at,
    method: request.method ?? "",
    url: request.url ?? "",
    requestId: request.headers["x-request-id"] as string | undefined,
    tool: isCall ? String(message.params?.["name"]) : undefined,
    arguments: isCall ? message.params?.["arguments"] : undefined,
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function streamEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let count = 0;
  const send = (): void => void response.write(`data: ${(count += 1)}\n\n`);
  send();
  const timer = setInterval(send, EVENT_EVERY_MS);
  response.once("close", () => clearInterval(timer));
}

/** Sends every byte of a WebSocket back, frames with the mask that they came with. */
function echo(request: IncomingMessage, socket: Socket): void {
  const key = request.headers["sec-websocket-key"] ?? "";
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "connection: upgrade", "upgrade: websocket"];
  socket.write([...head, `sec-websocket-accept: ${accept}`, "", ""].join("\r\n"));
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => socket.write(chunk));
  socket.on("end", () => socket.end());
}
