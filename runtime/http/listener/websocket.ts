/** The opening handshake of WebSocket for one connection (RFC 6455 §4, RFC 8441). */
import { createHash, randomBytes } from "node:crypto";

import type { Exchange } from "../exchange.ts";
import { respondError } from "../respond.ts";
import { findHeader } from "../../shared/http/header-lookup.ts";
import { connectionTokens } from "../../shared/http/header-traits.ts";

/** @see RFC 6455 §1.3 */
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export const WEBSOCKET_VERSION = "13";

/** Header names of the handshake that belong to one connection: each hop creates its own. */
export const HANDSHAKE_NAMES: ReadonlySet<string> = new Set([
  "connection",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-accept",
  "sec-websocket-version",
  "content-length",
  "transfer-encoding",
]);

/** The required response to a key (RFC 6455 §4.2.2). */
export function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}${MAGIC}`).digest("base64");
}

/** The acceptance over HTTP/1.1, up to where other fields may follow. */
export function handshakeAnswer(key: string): string {
  return `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${acceptOf(key)}\r\n`;
}

export function newKey(): string {
  return randomBytes(16).toString("base64");
}

/** Base64 of 16 bytes (RFC 6455 §4.1). */
export function isKey(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9+/]{21}[AQgw]==$/.test(text.trim());
}

/** Checks the two fields that offer WebSocket. */
export function isWebSocketOffer(upgrade: string | undefined, connection: string): boolean {
  return upgrade?.trim().toLowerCase() === "websocket" && connectionTokens(connection).includes("upgrade");
}

/** @returns the key of an opening handshake; undefined if it was rejected, with a response */
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
