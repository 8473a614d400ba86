/**
 * The head of an HTTP/1.1 request, and the framing of its body.
 *
 * Untrusted input: every character. Promise: a head that two readers could read differently is rejected.
 *
 * @see RFC 9112 §3, §5, §6
 */
import { METHODS } from "node:http";

import {
  isJustChunked,
  noteConnection,
  parseContentLength,
  parseFields,
  tableOf,
  type FieldTaker,
  type Persistence,
} from "../../shared/http/field-lines.ts";
import { problemOfLines } from "../../shared/http/head-text.ts";
import type { HeaderTraits } from "../../shared/http/header-traits.ts";
import type { RequestRefusal } from "../listener/accept-h1.ts";

const CR = 13;
const LF = 10;
const SPACE = 32;
const ZERO = 48;
const ONE = 49;

/** Old clients send one after a body. It is ignored, once (RFC 9112 §2.2). */
export const EMPTY_LINE = "\r\n";
/** One shared string per method, so that later comparisons are cheap. */
const KNOWN: ReadonlyMap<string, string> = new Map(METHODS.map((method) => [method, method]));
const LONGEST_METHOD = Math.max(...METHODS.map(({ length }) => length));
/**
 * Caches keep values of the head (credentials, hosts). A slice of a string keeps the whole head in memory, which is cheaper
 * than copying each value. Values of longer heads are copied: otherwise a client could choose how much memory a cached value
 * takes.
 */
const KEPT_TEXT_BYTES = 4_096;
/** Canonicalization checks the target's characters; here no other character may end the target. */
const TARGET = tableOf((code) => code > SPACE && code !== 0x7f);

const OTHER_CODING = "its Transfer-Encoding is not just chunked";
const OLD_CODING = "it has a Transfer-Encoding in HTTP/1.0";
const TWO_CODINGS = "it has two Transfer-Encodings";

/** Problems that get a code of their own, as in `checkHead()`. */
export const REASONS: ReadonlyMap<string, RequestRefusal> = new Map([
  [OTHER_CODING, "transfer-encoding"],
  [OLD_CODING, "transfer-encoding"],
  [TWO_CODINGS, "duplicate-header"],
]);

export class RequestHead implements FieldTaker, Persistence {
  readonly method: string;
  readonly target: string;
  readonly isHttp10: boolean;
  /** Name, value, … as received, without the whitespace around values. */
  readonly rawHeaders: string[] = [];
  /** Traits of each name, in order. */
  readonly traits: HeaderTraits[] = [];
  /** Length of the body; -1: not declared. */
  length = -1;
  isChunked = false;
  closes = false;
  keepsAlive: boolean;
  expect: string | undefined = undefined;
  upgrade: string | undefined = undefined;
  readonly #keepsText: boolean;

  /** @param keepsText slices of the text may keep all of it in memory */
  constructor(method: string, target: string, isHttp10: boolean, keepsText: boolean) {
    this.#keepsText = keepsText;
    this.method = method;
    this.target = target;
    this.isHttp10 = isHttp10;
    this.keepsAlive = !isHttp10;
  }

  takeField(traits: HeaderTraits, value: string, raw: string): string | undefined {
    this.rawHeaders.push(traits.name, this.#keepsText ? value : copyOf(value));
    this.traits.push(traits);
    switch (traits.lower) {
      case "content-length":
        if (this.length >= 0) return "it has two Content-Lengths";
        this.length = parseContentLength(value, raw);
        return this.length < 0 ? "its Content-Length is not a number" : undefined;
      case "transfer-encoding":
        if (this.isChunked) return TWO_CODINGS;
        if (!isJustChunked(value, raw)) return OTHER_CODING;
        this.isChunked = true;
        return undefined;
      case "connection":
        noteConnection(this, value);
        return undefined;
      case "proxy-connection":
        this.closes ||= saysClose(value);
        return undefined;
      case "expect":
        this.expect = value;
        return undefined;
      case "upgrade":
        this.upgrade = value;
        return undefined;
      default:
        return undefined;
    }
  }
}

/**
 * @param text one character for each byte
 * @param end of the last line, before its CR LF
 * @returns a problem, or the head
 */
export function parseRequestHead(text: string, end: number): RequestHead | string {
  const lineStart = text.startsWith(EMPTY_LINE) ? EMPTY_LINE.length : 0;
  const method = usualMethodAt(text, lineStart) ?? methodAt(text, lineStart);
  if (method === undefined) return NO_REQUEST_LINE;
  const start = lineStart + method.length + 1;
  let at = start;
  while (TARGET[text.charCodeAt(at)] === 1) at += 1;
  if (at === start || !text.startsWith(" HTTP/1.", at)) return NO_REQUEST_LINE;
  const keepsText = text.length <= KEPT_TEXT_BYTES;
  const target = keepsText ? text.slice(start, at) : copyOf(text.slice(start, at));
  const minor = text.charCodeAt(at + 8);
  if (minor !== ZERO && minor !== ONE) return NO_REQUEST_LINE;
  if (text.charCodeAt(at + 9) !== CR || text.charCodeAt(at + 10) !== LF) return NO_REQUEST_LINE;
  const head = new RequestHead(method, target, minor === ZERO, keepsText);
  const problem = parseFields(text, at + 11, end + 2, head);
  if (problem !== undefined) return problem;
  if (head.isChunked && head.length >= 0) return "it has both Content-Length and Transfer-Encoding";
  if (head.isChunked && head.isHttp10) return OLD_CODING;
  return head;
}

/** Found without a look-up, for which V8 would hash the new text. */
function usualMethodAt(text: string, start: number): string | undefined {
  if (text.startsWith("GET ", start)) return "GET";
  return text.startsWith("POST ", start) ? "POST" : undefined;
}

function methodAt(text: string, start: number): string | undefined {
  const end = text.indexOf(" ", start);
  return end < 0 || end - start > LONGEST_METHOD ? undefined : KNOWN.get(text.slice(start, end));
}

/** Copies a slice, which otherwise keeps the whole text in memory. */
function copyOf(part: string): string {
  return Buffer.from(part, "latin1").toString("latin1");
}

const NO_REQUEST_LINE = "it does not begin with a request line of HTTP/1";

/** Rejects an incomplete head as early as possible, before its timeout. @param known number of characters checked before */
export function problemOfBeginning(text: string, known: number): string | undefined {
  if (known <= EMPTY_LINE.length + LONGEST_METHOD && !EMPTY_LINE.startsWith(text)) {
    const start = text.startsWith(EMPTY_LINE) ? EMPTY_LINE.length : 0;
    const methodEnd = text.indexOf(" ", start);
    const method = text.slice(start, methodEnd < 0 ? undefined : methodEnd);
    if (methodEnd < 0 ? !METHODS.some((each) => each.startsWith(method)) : !KNOWN.has(method)) return NO_REQUEST_LINE;
  }
  return problemOfLines(text, known);
}

/** Takes trailers. shared/http/trailers.ts decides which of them have a meaning. */
export class TrailerFields implements FieldTaker {
  readonly raw: string[] = [];
  closes = false;

  takeField({ name, lower }: HeaderTraits, value: string): string | undefined {
    this.raw.push(name, value);
    if (lower === "connection" || lower === "proxy-connection") this.closes ||= saysClose(value);
    // MUST NOT (RFC 9110 §6.5.1): other readers would derive another end of the message from them.
    const isFraming = lower === "content-length" || lower === "transfer-encoding";
    return isFraming ? "a trailer sets the length of the message" : undefined;
  }
}

/** Some readers close the connection for this header even where it has no meaning (RFC 9110 §6.5.1, §7.6.1). */
function saysClose(value: string): boolean {
  const said = { closes: false, keepsAlive: false };
  noteConnection(said, value);
  return said.closes;
}
