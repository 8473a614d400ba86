/** An upstream that takes WebSocket handshakes and sends every byte back; paths choose its failures. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface WebSocketUpstream {
  readonly origin: string;
  readonly handshakes: readonly IncomingMessage[];
  /** Connections that are open after a handshake. */
  readonly open: ReadonlySet<Duplex>;
  /** Resolves when no connection is open any more. */
  allClosed(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `/no` refuses with 403 and a body, `/wrong` answers with another key's accept, `/other` upgrades to something else,
 * `/hello` speaks first, in one packet with its head; anything else echoes.
 */
export async function startWebSocketUpstream(): Promise<WebSocketUpstream> {
  const handshakes: IncomingMessage[] = [];
  const open = new Set<Duplex>();
  const waiting: (() => void)[] = [];
  const server = createServer((_request, response) => response.writeHead(200).end("plain"));
  server.on("upgrade", (request, socket) => {
    handshakes.push(request);
    socket.on("error", () => {});
    if (request.url === "/no") {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nx-why: upstream\r\n\r\nno");
      return;
    }
    const key = request.url === "/wrong" ? "another" : (request.headers["sec-websocket-key"] ?? "");
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (open.size === 0) for (const done of waiting.splice(0)) done();
    });
    const protocol = request.headers["sec-websocket-protocol"];
    socket.write(
      [
        "HTTP/1.1 101 Switching Protocols",
        "connection: upgrade",
        `upgrade: ${request.url === "/other" ? "h2c" : "websocket"}`,
        `sec-websocket-accept: ${accept}`,
        ...(protocol === undefined ? [] : [`sec-websocket-protocol: ${protocol.split(",")[0]}`]),
        "",
        request.url === "/hello" ? "hello" : "",
      ].join("\r\n"),
    );
    socket.on("data", (chunk: Buffer) => socket.write(chunk));
    socket.on("end", () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handshakes,
    open,
    allClosed: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    close() {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
