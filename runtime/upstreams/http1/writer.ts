/**
 * Writes HTTP/1.1 requests to a connection.
 *
 * Promise: a request has the fields that the caller passed and no other.
 *
 * @see RFC 9112 §3, §6, §7.1
 */
import type { Readable } from "node:stream";
import type { Socket } from "node:net";

import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { isHeaderText } from "../../shared/http/header-traits.ts";
import type { BodySink } from "../body-sender.ts";
import type { UpstreamRequest } from "../transport-types.ts";
import { ignore } from "../../shared/ignore.ts";

/** Methods that usually have a body: without a length the upstream could wait for one (RFC 9110 §8.6). */
const EXPECTS_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export interface WrittenRequest {
  /** The head, one character per byte. */
  readonly text: string;
  /** A complete body to write after it. */
  readonly body: Buffer | undefined;
  readonly stream: Readable | undefined;
  /** Length of the stream; undefined: it is sent in chunks. */
  readonly streamLength: number | undefined;
}

/** @throws TypeError for input that would be read differently; its text is not quoted */
export function writeRequest({ method, path, headers, body }: UpstreamRequest): WrittenRequest {
  let head = `${method} ${path} HTTP/1.1\r\n`;
  let declared: string | undefined;
  // TE is a connection option and must be listed (RFC 9110 §10.1.4).
  let options = "keep-alive";
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    if (isFraming(name)) {
      // The writer sets the framing. Only for a stream does the caller know the length.
      if (name !== "content-length" || declared !== undefined || !isStream(body) || !LENGTH.test(value)) {
        throw new TypeError(BAD_FRAMING);
      }
      declared = value;
    }
    if (name === "te") options = "keep-alive, te";
    head += `${name}: ${value}\r\n`;
  }
  head += `connection: ${options}\r\n`;
  if (body !== undefined && !isStream(body)) {
    checkHead(head, method, path, headers.length / 2 + 2);
    const text = `${head}content-length: ${body.length}\r\n\r\n`;
    return { text, body: body.length === 0 ? undefined : body, stream: undefined, streamLength: undefined };
  }
  const framing = framingLine(method, body, declared);
  // With its end: V8 joins the text for this, and would join it again for a piece behind it.
  head += `${framing}\r\n`;
  checkHead(head, method, path, headers.length / 2 + (framing === "" ? 3 : 4));
  const streamLength = declared === undefined ? undefined : Number(declared);
  return { text: head, body: undefined, stream: body, streamLength };
}

function framingLine(method: string, body: Readable | undefined, declared: string | undefined): string {
  if (body === undefined) return EXPECTS_BODY.has(method) ? "content-length: 0\r\n" : "";
  return declared === undefined ? "transfer-encoding: chunked\r\n" : "";
}

function isStream(body: UpstreamRequest["body"]): body is Readable {
  return body !== undefined && !Buffer.isBuffer(body);
}

/** In any spelling. The length of the name rules out nearly all other headers. */
function isFraming(name: string): boolean {
  switch (name.length) {
    case 14:
      return name.toLowerCase() === "content-length";
    case 17:
      return name.toLowerCase() === "transfer-encoding";
    default:
      return false;
  }
}

/** The fields were checked before; a bug there must not become a second request on a shared connection. */
function checkHead(head: string, method: string, path: string, expected: number): void {
  let lines = 0;
  for (let at = head.indexOf("\n"); at >= 0; at = head.indexOf("\n", at + 1)) {
    if (head.charCodeAt(at - 1) !== 13) throw new TypeError(BAD_FIELD);
    lines += 1;
  }
  let returns = 0;
  for (let at = head.indexOf("\r"); at >= 0; at = head.indexOf("\r", at + 1)) returns += 1;
  if (lines !== expected || returns !== expected || head.includes("\0") || WIDE.test(head)) {
    throw new TypeError(BAD_FIELD);
  }
  // "GET /a HTTP/1.1 HTTP/1.1": the upstream would have to guess the end of the target.
  if (method.includes(" ") || path.includes(" ") || path === "") throw new TypeError(BAD_TARGET);
}

const BAD_FIELD = "a header field of the request has an invalid character";
const BAD_FRAMING = "a header field of the request sets the body length, which is already set";
const BAD_TARGET = "the request line has not just a method and a target";
/**
 * Text is written one byte per character: a wider character would lose its upper half and could become a line feed. V8 knows
 * without a search that a one-byte string has none; a class of control characters would cost a microsecond.
 */
const WIDE = /[^\0-\xff]/;
const LENGTH = /^[0-9]{1,15}$/;

/** Writes a body after its head. @param length undefined: in chunks, followed by trailers */
export function bodySink(socket: Socket, length: number | undefined): BodySink {
  if (length !== undefined) return { target: socket, write: (chunk) => socket.write(chunk), end: ignore };
  return {
    target: socket,
    write(chunk) {
      socket.cork();
      socket.write(`${chunk.length.toString(16)}\r\n`, "latin1");
      socket.write(chunk);
      const takesMore = socket.write("\r\n", "latin1");
      socket.uncork();
      return takesMore;
    },
    end: (trailers) => void socket.write(`0\r\n${trailerLines(trailers)}\r\n`, "latin1"),
  };
}

/** @throws TypeError like `writeRequest()` */
function trailerLines(trailers: readonly string[]): string {
  let lines = "";
  for (let index = 0; index < trailers.length; index += 2) {
    const name = trailers[index] as string;
    const value = trailers[index + 1] as string;
    if (!isHeaderName(name) || !isHeaderText(value)) throw new TypeError(BAD_TRAILER);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

const BAD_TRAILER = "a trailer of the request has an invalid character";
