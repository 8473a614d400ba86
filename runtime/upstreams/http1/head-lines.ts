/**
 * Reads the lines of an answer's head, and what they say about where its body ends.
 *
 * Untrusted input: every character. Promise: a line that two readers could take for different things is refused.
 *
 * @see RFC 9112 §4, §5, §6
 */
import { headerTraits, trimBlanks } from "../../shared/http/header-traits.ts";

const CR = 13;
const LF = 10;

/** What the fields say about the message. */
export interface Framing {
  /** -1: not declared. */
  length: number;
  chunked: boolean;
  closes: boolean;
  keepsAlive: boolean;
  idleMs: number | undefined;
}

/** "HTTP/1.1 200 OK". @returns -1 when it is something else */
export function parseStatusLine(text: string): number {
  if (!text.startsWith("HTTP/1.") || text.charCodeAt(8) !== 0x20) return -1;
  const minor = text.charCodeAt(7);
  if (minor !== 0x30 && minor !== 0x31) return -1;
  let status = 0;
  for (let at = 9; at < 12; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return -1;
    status = status * 10 + digit;
  }
  if (status < 100 || status > 999) return -1;
  let at = 12;
  let code = text.charCodeAt(at);
  // The reason may be missing, with its blank too: some servers write no more than the number.
  if (code !== 0x20 && code !== CR) return -1;
  while (code !== CR) {
    if (!(code < 256) || VALUE[code] === 0) return -1;
    at += 1;
    code = text.charCodeAt(at);
  }
  return text.charCodeAt(at + 1) === LF ? status : -1;
}

/**
 * @param start of the first field line
 * @param end behind the CR LF of the last one
 * @param framing gets what the fields say about the message; undefined: they are trailers
 */
export function parseFields(
  text: string,
  start: number,
  end: number,
  headers: string[],
  framing: Framing | undefined,
): string | undefined {
  let at = start;
  while (at < end) {
    const nameStart = at;
    while (TOKEN[text.charCodeAt(at)] === 1) at += 1;
    // A line that begins with a blank would go on with the one before it: refused like any other name that is none.
    if (at === nameStart || text.charCodeAt(at) !== 0x3a) return "a header field has no name";
    const { lower } = headerTraits(text.slice(nameStart, at));
    const rawStart = (at += 1);
    while (VALUE[text.charCodeAt(at)] === 1) at += 1;
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return "a header field has a control character";
    const raw = text.slice(rawStart, at);
    const value = trimBlanks(raw);
    at += 2;
    headers.push(lower, value);
    if (framing === undefined) continue;
    const problem = noteFraming(framing, lower, value, raw);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @param raw the value with the blanks around it: there are readers that do not take a tab behind it away */
function noteFraming(framing: Framing, lower: string, value: string, raw: string): string | undefined {
  switch (lower) {
    case "content-length":
      if (framing.length >= 0) return "it has two Content-Lengths";
      // At most 15 digits: below 2^53.
      if (!/^[0-9]{1,15}$/.test(value) || raw.includes("\t")) return "its Content-Length is no number";
      framing.length = Number(value);
      return undefined;
    case "transfer-encoding":
      if (framing.chunked || value.toLowerCase() !== "chunked" || raw.includes("\t")) {
        return "its Transfer-Encoding is not just chunked";
      }
      framing.chunked = true;
      return undefined;
    case "connection": {
      const tokens = value.toLowerCase();
      if (tokens === "keep-alive") framing.keepsAlive = true;
      else if (/(?:^|,)[ \t]*close[ \t]*(?:,|$)/.test(tokens)) framing.closes = true;
      else if (/(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/.test(tokens)) framing.keepsAlive = true;
      return undefined;
    }
    case "keep-alive": {
      const seconds = /(?:^|,)[ \t]*timeout[ \t]*=[ \t]*([0-9]{1,6})/i.exec(value)?.[1];
      if (seconds !== undefined) framing.idleMs = Number(seconds) * 1_000;
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Characters of names (RFC 9110 §5.6.2). */
const TOKEN = tableOf((code) => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(code)));
/** Characters of values: blanks, visible ones, and bytes above ASCII (RFC 9110 §5.5). */
export const VALUE: Uint8Array = tableOf((code) => code === 0x09 || (code >= 0x20 && code !== 0x7f));
function tableOf(has: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (has(code) ? 1 : 0));
}
