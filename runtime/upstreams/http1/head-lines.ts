/**
 * Reads the lines of a response's head, including the framing of its body.
 *
 * Untrusted input: every character. Promise: a line that two readers could read differently is rejected.
 *
 * @see RFC 9112 §4, §5, §6
 */
import {
  isJustChunked,
  noteConnection,
  parseContentLength,
  VALUE,
  type FieldTaker,
  type Persistence,
} from "../../shared/http/field-lines.ts";
import type { HeaderTraits } from "../../shared/http/header-traits.ts";

const CR = 13;
const LF = 10;

/** Framing and persistence, from the fields. */
export interface Framing extends Persistence {
  /** -1: not declared. */
  length: number;
  chunked: boolean;
  idleMs: number | undefined;
}

/** Parses "HTTP/1.1 200 OK". @returns -1 for anything else */
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
  // Statuses above 599 must not be forwarded (shared/http/status.ts).
  if (status < 100 || status > 599) return -1;
  let at = 12;
  let code = text.charCodeAt(at);
  // The reason may be missing, even with its space: some servers write only the number.
  if (code !== 0x20 && code !== CR) return -1;
  while (code !== CR) {
    if (!(code < 256) || VALUE[code] === 0) return -1;
    at += 1;
    code = text.charCodeAt(at);
  }
  return text.charCodeAt(at + 1) === LF ? status : -1;
}

/** Takes the fields of a response's head. */
export class AnswerFields implements FieldTaker, Framing {
  readonly headers: string[] = [];
  length = -1;
  chunked = false;
  closes = false;
  keepsAlive: boolean;
  idleMs: number | undefined;

  constructor(keepsAlive: boolean) {
    this.keepsAlive = keepsAlive;
  }

  takeField({ lower }: HeaderTraits, value: string, raw: string): string | undefined {
    this.headers.push(lower, value);
    return noteFraming(this, lower, value, raw);
  }
}

/** Takes trailers, which cannot change the framing. */
export class TrailerFields implements FieldTaker {
  readonly headers: string[] = [];

  takeField({ lower }: HeaderTraits, value: string): undefined {
    this.headers.push(lower, value);
  }
}

function noteFraming(framing: Framing, lower: string, value: string, raw: string): string | undefined {
  switch (lower) {
    case "content-length":
      if (framing.length >= 0) return "it has two Content-Lengths";
      framing.length = parseContentLength(value, raw);
      return framing.length < 0 ? "its Content-Length is not a number" : undefined;
    case "transfer-encoding":
      if (framing.chunked || !isJustChunked(value, raw)) return "its Transfer-Encoding is not just chunked";
      framing.chunked = true;
      return undefined;
    case "connection":
      noteConnection(framing, value);
      return undefined;
    case "keep-alive": {
      const seconds = /(?:^|,)[ \t]*timeout[ \t]*=[ \t]*([0-9]{1,6})/i.exec(value)?.[1];
      if (seconds !== undefined) framing.idleMs = Number(seconds) * 1_000;
      return undefined;
    }
    default:
      return undefined;
  }
}
