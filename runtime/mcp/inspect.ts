/**
 * Reads the content of a request to an MCP server route, before any decision or forwarding.
 *
 * Untrusted input: the whole request. Promise: when the result is good, either there is no body, or all of it is in
 * `message.bytes` and was understood. `done` is called exactly once.
 */
import { readBodyInto, type BodyRefusal, type BodyResult } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { isUnclear, parseMessage } from "./message.ts";
import type { McpMessage, MessageOptions } from "./message.ts";
import { readMessageHeaders } from "./message-headers.ts";
import { bodyTooLarge, refusal } from "./refusals.ts";
import type { McpRefusal } from "./refusals.ts";

/** `message` is absent for GET, HEAD and DELETE, which have no body, and are decided by identity policy. */
export type Inspection = { readonly ok: true; readonly message: McpMessage | undefined } | McpRefusal;

/**
 * @param maxBytes `max_request_bytes` of the route; a longer body is rejected (413), by its Content-Length before it
 *   is read
 * @param done gets the result, possibly before this call returns
 * @param written the message, if the gateway wrote the body from another one that was read
 */
export function inspect(
  exchange: Exchange,
  maxBytes: number,
  done: (result: Inspection) => void,
  options: MessageOptions = {},
  written?: McpMessage,
): void {
  const { method } = exchange;
  const isBodyless = method === "GET" || method === "HEAD" || method === "DELETE";
  if (!isBodyless && method !== "POST") return done(refusal("mcp-http-method"));
  const finish = (body: BodyResult): void => {
    if (!body.ok) done(bodyRefusal(body.reason, maxBytes));
    else if (isBodyless) done(body.bytes.length === 0 ? BODYLESS : refusal("mcp-unexpected-body"));
    else done(written?.bytes === body.bytes ? readAgain(written, options) : read(exchange, body.bytes, options));
  };
  // Without a separate timer per message.
  readBodyInto(exchange, maxBytes, finish, Infinity);
}

function bodyRefusal(reason: BodyRefusal, maxBytes: number): McpRefusal {
  if (reason === "too-large") return bodyTooLarge(maxBytes);
  return refusal(reason === "overloaded" ? "mcp-overloaded" : "mcp-body-incomplete");
}

const BODYLESS: Inspection = { ok: true, message: undefined };

/** Rules of the member's route, not of the one that the client called. */
function readAgain(message: McpMessage, options: MessageOptions): Inspection {
  const { tool } = message.facts;
  if (tool !== undefined && isUnclear(tool, options)) return refusal("mcp-unclear-tool-name", message.id);
  return { ok: true, message };
}

function read(exchange: Exchange, bytes: Buffer, options: MessageOptions): Inspection {
  const message = parseMessage(bytes, readMessageHeaders(exchange.rawHeaders), options);
  return message.ok ? { ok: true, message } : message;
}
