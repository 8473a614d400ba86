/** Upstreams of the fault injection: over HTTP/1.1 with upgrades, and over HTTP/2 in the clear. Paths choose what they do. */
import { createHash } from "node:crypto";
import { createServer as createSecure } from "node:https";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createSecureServer,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

import { makeTestCertificate } from "./certificates.ts";

export const BIG = "0123456789abcdef".repeat(40_000);
export const SHORT = "whole answer";
/** An answer to `tools/list`. */
export const TOOLS = '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}';
export const EVENTS = ["data: one\n\n", "data: two\n\n"] as const;
export const HELD = ["first half, ", "second half"] as const;

/** An answer of gRPC's health protocol. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);

export interface FaultUpstream {
  /** HTTP/1.1 and HTTP/2, and both over TLS. */
  readonly origins: readonly [string, string, string, string];
  /** Authority of both certificates. */
  readonly authority: string;
  /** Second segments of the paths that came: ids of requests. */
  readonly seen: ReadonlySet<string>;
  /** Finishes the answers that were held. */
  finish(): void;
  close(): Promise<void>;
}

export async function startFaultUpstream(): Promise<FaultUpstream> {
  const seen = new Set<string>();
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();

  const { cert, key } = makeTestCertificate({ name: "upstream", dns: ["localhost"] });
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const [, path = "", id = ""] = (request.url ?? "").split("/");
    seen.add(id);
    answer(`/${path}`, request, response);
  };
  const server = createServer(take);
  const secure = createSecure({ cert, key }, take);
  // Each request gets a connection of its own.
  secure.maxRequestsPerSocket = 1;
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    seen.add(request.url?.split("/")[2] ?? "");
    socket.on("error", () => {});
    if (request.url?.startsWith("/no")) {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
      return;
    }
    if (request.url?.startsWith("/never")) return;
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    socket.on("data", (chunk: Buffer) => socket.write(chunk));
    socket.on("end", () => socket.end());
  });

  const http2 = createHttp2();
  const secureHttp2 = createSecureServer({ cert, key });
  const takeStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const [, path = "", id = ""] = (headers[":path"] ?? "").split("/");
    seen.add(id);
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    if (path === "hold") {
      stream.write(HELD[0]);
      held.push(() => stream.end(HELD[1]));
      return;
    }
    // Each call gets a connection of its own.
    const { session } = stream;
    stream.once("close", () => session?.close());
    if (path === "reset") stream.close(2);
    else if (path === "grpc.health.v1.Health") stream.end(SERVING);
    else stream.pipe(stream);
  };
  http2.on("stream", takeStream);
  secureHttp2.on("stream", takeStream);

  function answer(path: string, request: IncomingMessage, response: ServerResponse): void {
    request.on("error", () => {});
    response.on("error", () => {});
    if (path === "/hold") {
      response.writeHead(
        200,
        request.headers.accept === "text/event-stream" ? { "content-type": "text/event-stream" } : {},
      );
      response.write(HELD[0]);
      held.push(() => response.end(HELD[1]));
    } else if (path === "/sse") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(EVENTS[0]);
      setImmediate(() => response.end(EVENTS[1]));
    } else if (path === "/tools") response.writeHead(200, { "content-type": "application/json" }).end(TOOLS);
    // Each check gets a connection of its own.
    else if (path === "/check") response.writeHead(200, { connection: "close" }).end();
    else if (path === "/big") response.end(BIG);
    else if (path === "/echo") request.pipe(response);
    else if (path === "/reset") request.socket.destroy();
    else if (path === "/half") {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => request.socket.destroy());
    } else if (path === "/never") request.resume();
    else if (path === "/chunks") {
      response.write(SHORT, () => {
        response.addTrailers({ "x-late": "1" });
        response.end();
      });
    } else {
      request.resume();
      response.end(SHORT);
    }
  }

  const servers = [server, http2, secure, secureHttp2];
  const ports = await Promise.all(
    servers.map(async (each) => {
      each.on("connection", (socket: Socket) => sockets.add(socket));
      await new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve));
      return (each.address() as AddressInfo).port;
    }),
  );
  return {
    origins: [
      `http://127.0.0.1:${ports[0]}`,
      `http://127.0.0.1:${ports[1]}`,
      `https://127.0.0.1:${ports[2]}`,
      `https://127.0.0.1:${ports[3]}`,
    ],
    authority: cert,
    seen,
    finish: () => {
      for (const end of held.splice(0)) end();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((each) => new Promise<unknown>((resolve) => each.close(resolve))));
    },
  };
}
