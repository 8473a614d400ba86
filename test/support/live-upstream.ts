/** An upstream with something for every way in: event streams without an end, WebSocket, JSON-RPC answers, plain pages. */
import { createHash } from "node:crypto";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";

export interface LiveUpstream {
  readonly origin: string;
  /** Requests that reached it. */
  readonly seen: number;
  close(): Promise<void>;
}

/** A GET that accepts only event streams gets one; POST is JSON-RPC; a handshake is WebSocket. */
export async function startLiveUpstream(): Promise<LiveUpstream> {
  let seen = 0;
  const server = createServer((request, response) => {
    seen += 1;
    // It protects nothing, and says so as any server does.
    if (request.url?.startsWith("/.well-known/")) {
      response.writeHead(404).end();
      return;
    }
    if (request.method === "GET" && request.headers.accept === "text/event-stream") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: begun\n\n");
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method !== "POST") {
        response.writeHead(200, { "content-type": "text/plain" }).end("plain");
        return;
      }
      const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: unknown };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
    });
  });
  server.on("upgrade", (request, socket) => {
    seen += 1;
    const text = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(text).digest("base64");
    socket.on("error", () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    socket.on("end", () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get seen() {
      return seen;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Something that stays open. */
export interface OpenAnswer {
  readonly status: number;
  /** Resolves when the gateway has ended it. */
  readonly ended: Promise<void>;
}

/** @param via port of the gateway @param headers with `upgrade` it is a WebSocket handshake */
export function openAnswer(
  via: number,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenAnswer> {
  const { host, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      host: "127.0.0.1",
      port: via,
      path: pathname,
      headers: { host, accept: "text/event-stream", ...headers },
      agent: false,
    });
    sent.on("response", (response) => {
      const ended = new Promise<void>((end) => response.once("close", end));
      response.on("error", () => {}).resume();
      resolve({ status: response.statusCode ?? 0, ended });
    });
    sent.on("upgrade", (response, socket) => {
      const ended = new Promise<void>((end) => socket.once("close", () => end()));
      socket.on("error", () => {}).resume();
      socket.on("end", () => socket.end());
      resolve({ status: response.statusCode ?? 0, ended });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** Headers of a handshake. */
export const HANDSHAKE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
} as const;
