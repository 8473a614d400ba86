/**
 * Connections of HTTP/1.1 that ask for WebSocket. node:http lets go of them with the request: from there on they are
 * ours, with an end for each: accepted, they belong to whoever accepted; answered otherwise, they close with the answer;
 * left by the client, they close at once.
 */
import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";

import type { Http1Exchange } from "./exchange-h1.ts";
import type { Exchange } from "./exchange.ts";
import { findHeader } from "../shared/http/header-lookup.ts";
import { closeLingering } from "./linger.ts";
import type { Http1Options } from "./listener/connections-h1.ts";
import { respondError } from "./respond.ts";
import { isKey, WEBSOCKET_VERSION } from "./listener/websocket.ts";
import { ignore } from "../shared/ignore.ts";
import { guardSocket } from "../shared/faults/guard.ts";

export interface Upgrades {
  /** Cuts all that are open. */
  destroy(): void;
}

/** What a client may send before it knows whether it may; more waits in its own buffers. */
const MAX_EARLY_BYTES = 65_536;

/** @param accept checks the request; undefined when it was answered @param handle must not throw */
export function takeUpgrades(
  server: Server | SecureServer,
  accept: (request: IncomingMessage, response: ServerResponse) => Http1Exchange | undefined,
  handle: (exchange: Exchange) => void,
  options: Http1Options,
): Upgrades {
  const open = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, rest: Buffer) =>
    guardSocket(socket, take)(request, socket, rest),
  );

  function take(request: IncomingMessage, socket: Duplex, rest: Buffer): void {
    let exchange: Http1Exchange | undefined;
    open.add(socket);
    socket.once(
      "close",
      guardSocket(socket, () => {
        open.delete(socket);
        if (exchange?.started === false)
          options.onUnanswered?.(socket.readableEnded || socket.errored ? "client" : "gateway", 1);
      }),
    );
    const response = new ServerResponse(request);
    const takeEarly = readEarly(socket, rest);
    response.assignSocket(request.socket);
    response.once(
      "finish",
      guardSocket(socket, () => closeLingering(socket)),
    );
    // As node does it for the connections that it keeps.
    socket.on(
      "drain",
      guardSocket(socket, () => response.emit("drain")),
    );
    exchange = accept(request, response);
    if (exchange) begin(exchange, takeEarly);
  }

  function begin(exchange: Http1Exchange, takeEarly: () => Buffer): void {
    exchange.closesConnection = true;
    const key = handshakeKey(exchange);
    if (key === undefined) return;
    exchange.offerWebSocket(key, takeEarly);
    handle(exchange);
  }

  return {
    destroy() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** @returns the key of an opening handshake; undefined when it cannot be met, and was answered */
export function handshakeKey(exchange: Exchange): string | undefined {
  const { rawHeaders } = exchange;
  const key = findHeader(rawHeaders, "sec-websocket-key");
  if (findHeader(rawHeaders, "sec-websocket-version") !== WEBSOCKET_VERSION) {
    respondError(
      exchange,
      426,
      { code: "request.websocket-version", message: "This version of WebSocket is not supported" },
      ["sec-websocket-version", WEBSOCKET_VERSION],
    );
  } else if (!isKey(key)) {
    respondError(exchange, 400, {
      code: "request.websocket-key",
      message: "The WebSocket handshake has no valid key",
    });
  } else return key.trim();
  return undefined;
}

/** Reads on, so that a client that goes away is noticed. @returns takes what has come, and leaves the socket to its caller */
function readEarly(socket: Duplex, rest: Buffer): () => Buffer {
  const chunks = [rest];
  let size = rest.length;
  const onData = guardSocket(socket, (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_EARLY_BYTES) socket.pause();
  });
  const onEnd = guardSocket(socket, () => socket.destroy());
  socket.on("error", ignore);
  socket.on("end", onEnd);
  socket.on("data", onData);
  return () => {
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.pause();
    return Buffer.concat(chunks);
  };
}
