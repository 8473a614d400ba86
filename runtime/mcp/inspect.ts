/**
 * Reads what a request to an MCP server route carries, before anything of it is decided or forwarded.
 *
 * Untrusted input: the whole request. Promise: when the result is good, either there is no body, or all of it is in
 * `message.bytes` and was understood. `done` is called exactly once.
 */
import type { Exchange } from "../http/exchange.ts";
import { parseMessage } from "./message.ts";
import type { McpMessage, MessageOptions } from "./message.ts";
import { readMessageHeaders } from "./message-headers.ts";
import { bodyTooLarge, refusal } from "./refusals.ts";
import type { McpRefusal } from "./refusals.ts";

/** `message` is absent for GET, HEAD and DELETE, which have no body and pass by identity policy. */
export type Inspection = { readonly ok: true; readonly message: McpMessage | undefined } | McpRefusal;

/**
 * @param maxBytes `max_request_bytes` of the route; a longer body is refused (413), by its Content-Length before it is read
 * @param done gets the result, possibly before this call returns
 */
export function inspect(
  exchange: Exchange,
  maxBytes: number,
  done: (result: Inspection) => void,
  options: MessageOptions = {},
): void {
  const { method } = exchange;
  const isBodyless = method === "GET" || method === "HEAD" || method === "DELETE";
  if (!isBodyless && method !== "POST") return done(refusal("mcp-http-method"));
  if (!exchange.hasBody) {
    return done(isBodyless ? BODYLESS : read(exchange, NOTHING, options));
  }
  // A length that is no number is the server's matter; here it only must not pass as small.
  if (!isWithin(exchange.header("content-length"), maxBytes)) return done(bodyTooLarge(maxBytes));
  readBytes(exchange, maxBytes, (bytes) => {
    if (!Buffer.isBuffer(bytes)) done(bytes);
    else if (isBodyless) done(bytes.length === 0 ? BODYLESS : refusal("mcp-unexpected-body"));
    else done(read(exchange, bytes, options));
  });
}

const BODYLESS: Inspection = { ok: true, message: undefined };
const NOTHING = Buffer.alloc(0);

function read(exchange: Exchange, bytes: Buffer, options: MessageOptions): Inspection {
  const message = parseMessage(bytes, readMessageHeaders(exchange.rawHeaders), options);
  return message.ok ? { ok: true, message } : message;
}

function isWithin(contentLength: string | undefined, maxBytes: number): boolean {
  return contentLength === undefined || Number(contentLength) <= maxBytes;
}

/** Collects the body; listeners instead of a promise, since this stands in the way of every message. */
function readBytes(exchange: Exchange, maxBytes: number, done: (bytes: Buffer | McpRefusal) => void): void {
  const { body } = exchange;
  const chunks: Buffer[] = [];
  let length = 0;
  body.on("data", take);
  body.on("end", finish);
  body.on("error", fail);
  body.on("close", fail);

  function take(chunk: Buffer): void {
    length += chunk.length;
    if (length <= maxBytes) {
      chunks.push(chunk);
      return;
    }
    stop();
    body.pause();
    done(bodyTooLarge(maxBytes));
  }

  function finish(): void {
    stop();
    const [only] = chunks;
    done(only && chunks.length === 1 ? only : Buffer.concat(chunks, length));
  }

  function fail(): void {
    stop();
    done(refusal("mcp-body-incomplete"));
  }

  function stop(): void {
    body.off("data", take);
    body.off("end", finish);
    body.off("close", fail);
    body.off("error", fail);
    // The connection may still fail while the answer is under way; without a listener that would end the process.
    body.on("error", ignore);
  }
}

function ignore(): void {}
