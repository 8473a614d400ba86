/**
 * The head of a request of HTTP/1.1, and what it says about where its body ends.
 *
 * Untrusted input: every character. Promise: a head that two readers could take for different things is refused.
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

/** Old clients send one behind a body: it is passed over (RFC 9112 §2.2), once. */
export const EMPTY_LINE = "\r\n";
/** Each by itself, so that what is compared later is one string for all. */
const KNOWN: ReadonlyMap<string, string> = new Map(METHODS.map((method) => [method, method]));
const LONGEST_METHOD = Math.max(...METHODS.map(({ length }) => length));
/**
 * Credentials, hosts and the like are kept by caches. As parts of the head they keep the whole head, which costs less than to
 * copy each; of a longer one they are copied, or a client could choose how much memory a kept word takes.
 */
const KEPT_TEXT_BYTES = 4_096;
/** What may stand in a target is looked at where it is made canonical; nothing here may end it elsewhere. */
const TARGET = tableOf((code) => code > SPACE && code !== 0x7f);

const OTHER_CODING = "its Transfer-Encoding is not just chunked";
const OLD_CODING = "it has a Transfer-Encoding in HTTP/1.0";
const TWO_CODINGS = "it has two Transfer-Encodings";

/** Problems that are told by a code of their own, as `checkHead()` would. */
export const REASONS: ReadonlyMap<string, RequestRefusal> = new Map([
  [OTHER_CODING, "transfer-encoding"],
  [OLD_CODING, "transfer-encoding"],
  [TWO_CODINGS, "duplicate-header"],
]);

export class RequestHead implements FieldTaker, Persistence {
  readonly method: string;
  readonly target: string;
  readonly isHttp10: boolean;
  /** Name, value, … as received, without the blanks around values. */
  readonly rawHeaders: string[] = [];
  /** Of each name, in their order. */
  readonly traits: HeaderTraits[] = [];
  /** Of the body; -1: not declared. */
  length = -1;
  isChunked = false;
  closes = false;
  keepsAlive: boolean;
  expect: string | undefined = undefined;
  upgrade: string | undefined = undefined;
  readonly #keepsText: boolean;

  /** @param keepsText what is cut out of the text may keep all of it in memory */
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
        return this.length < 0 ? "its Content-Length is no number" : undefined;
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
  const methodEnd = text.indexOf(" ", lineStart);
  if (methodEnd < 0 || methodEnd - lineStart > LONGEST_METHOD) return NO_REQUEST_LINE;
  const method = KNOWN.get(text.slice(lineStart, methodEnd));
  if (method === undefined) return NO_REQUEST_LINE;
  const start = methodEnd + 1;
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

/** With its own characters: a part of a text has those of the whole. */
function copyOf(part: string): string {
  return Buffer.from(part, "latin1").toString("latin1");
}

const NO_REQUEST_LINE = "it does not begin with a request line of HTTP/1";

/** Of a head whose end has not come: refused now, not when the time is up. @param known so much of it was looked at before */
export function problemOfBeginning(text: string, known: number): string | undefined {
  if (known <= EMPTY_LINE.length + LONGEST_METHOD && !EMPTY_LINE.startsWith(text)) {
    const start = text.startsWith(EMPTY_LINE) ? EMPTY_LINE.length : 0;
    const methodEnd = text.indexOf(" ", start);
    const method = text.slice(start, methodEnd < 0 ? undefined : methodEnd);
    if (methodEnd < 0 ? !METHODS.some((each) => each.startsWith(method)) : !KNOWN.has(method)) return NO_REQUEST_LINE;
  }
  return problemOfLines(text, known);
}

/** Takes trailers. Which of the others mean anything is for others to say (shared/http/trailers.ts). */
export class TrailerFields implements FieldTaker {
  readonly raw: string[] = [];
  closes = false;

  takeField({ name, lower }: HeaderTraits, value: string): string | undefined {
    this.raw.push(name, value);
    if (lower === "connection" || lower === "proxy-connection") this.closes ||= saysClose(value);
    // MUST NOT (RFC 9110 §6.5.1): there are readers who would look for another end.
    const isFraming = lower === "content-length" || lower === "transfer-encoding";
    return isFraming ? "a trailer says where the message ends" : undefined;
  }
}

/** Where it means nothing (RFC 9110 §6.5.1, §7.6.1) there are still readers who take it for the end of the connection. */
function saysClose(value: string): boolean {
  const said = { closes: false, keepsAlive: false };
  noteConnection(said, value);
  return said.closes;
}
