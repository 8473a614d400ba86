/**
 * The head of a response over HTTP/1.1.
 *
 * Promise: a response has the fields that the caller passed, and those about its connection and its end.
 *
 * @see RFC 9112 §4, §6, §9
 */
import { STATUS_CODES } from "node:http";

import { TOKEN, VALUE } from "../../shared/http/field-lines.ts";

/** How the end of a response is marked. Plain numbers, not enums: Node runs our source without compiling it. */
export const NO_BODY = 0;
export const OF_LENGTH = 1;
export const CHUNKED = 2;
export const UNTIL_CLOSE = 3;

/** The head without its Connection field and the empty line. */
export interface AnswerHead {
  readonly text: string;
  readonly framing: number;
  /** Length of the body; meaningful if it marks the body's end. */
  readonly length: number;
}

/** @throws TypeError as `fieldText()` */
export function answerHead(
  status: number,
  headers: readonly string[],
  mayHaveBody: boolean,
  isHttp10: boolean,
): AnswerHead {
  const { text, length, hasDate } = fieldText(headers);
  const head = (STATUS_LINES[status] ?? `HTTP/1.1 ${status} unknown\r\n`) + text + (hasDate ? "" : dateLine());
  if (!mayHaveBody) return { text: head, framing: NO_BODY, length: 0 };
  if (length >= 0) return { text: head, framing: OF_LENGTH, length };
  // HTTP/1.0 clients cannot read chunks (RFC 9112 §6.1).
  if (isHttp10) return { text: head, framing: UNTIL_CLOSE, length: 0 };
  return { text: `${head}Transfer-Encoding: chunked\r\n`, framing: CHUNKED, length: 0 };
}

/** Header fields as text, and the facts that the caller needs. */
export interface FieldText {
  text: string;
  /** -1: not declared. */
  length: number;
  hasDate: boolean;
}

const BAD_FIELD = "a header field of the response has an invalid character";
const BAD_LENGTH = "the Content-Length of the response is not a number";
const OWN_FIELD = "a header field of the response concerns the connection, which only the listener sets";

/** @param headers flat @throws TypeError for a field that would be read differently; its text is not quoted */
export function fieldText(headers: readonly string[]): FieldText {
  const fields: FieldText = { text: "", length: -1, hasDate: false };
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    if (name === "" || !isMadeOf(name, TOKEN) || !isMadeOf(value, VALUE)) throw new TypeError(BAD_FIELD);
    // The length of the name rules out nearly all others.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "date") fields.hasDate = true;
        break;
      case 10:
        if (name.toLowerCase() === "connection") throw new TypeError(OWN_FIELD);
        break;
      case 14:
        if (name.toLowerCase() === "content-length") {
          if (fields.length >= 0 || !/^[0-9]{1,15}$/.test(value)) throw new TypeError(BAD_LENGTH);
          fields.length = Number(value);
        }
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") throw new TypeError(OWN_FIELD);
        break;
      default:
    }
    fields.text += `${name}: ${value}\r\n`;
  }
  return fields;
}

/** Text is written one byte for each character: wider characters are not in the table, like a line feed. */
function isMadeOf(text: string, table: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) if (table[text.charCodeAt(at)] !== 1) return false;
  return true;
}

/** @throws TypeError as `fieldText()` */
export function trailerText(trailers: readonly string[]): string {
  return fieldText(trailers).text;
}

const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([status, text]) => [status, `HTTP/1.1 ${status} ${text}\r\n`]),
);

let second = 0;
let line = "";

/** Made once a second. */
function dateLine(): string {
  const now = Math.floor(Date.now() / 1_000);
  if (now !== second) {
    second = now;
    line = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`;
  }
  return line;
}
