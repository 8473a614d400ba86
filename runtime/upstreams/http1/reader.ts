/**
 * Reads HTTP/1.1 answers from the bytes of one connection: one state machine.
 *
 * Untrusted input: every byte. Promises: an answer has one end or is refused. What RFC 9112 lets a recipient repair is
 * refused instead (bare line feeds, folded lines, a Content-Length beside a Transfer-Encoding, two Content-Lengths,
 * codings other than "chunked"): the client behind us would read our repair, the next reader perhaps another one. What
 * comes behind the end of an answer is never taken for the next one.
 *
 * @see RFC 9112 §2.2, §4, §5, §6, §7
 */
import { HEX, parseFields, VALUE } from "../../shared/http/field-lines.ts";
import { AnswerFields, parseStatusLine, TrailerFields } from "./head-lines.ts";

/** Hears of one answer: head, data…, end. Nothing after a problem. */
export interface AnswerSink {
  /** @param headers flat: lower-case name, value, …; values as latin1 text */
  onHead(status: number, headers: string[]): void;
  /** @param chunk only valid during the call */
  onData(chunk: Buffer): void;
  /** @param trailers as the headers; undefined: none came */
  onEnd(trailers: string[] | undefined): void;
}

/** Status line and fields together, and the trailers again as much. */
export const MAX_HEAD_BYTES = 65_536;
/** What reads them behind us may look through all for each: 64 KiB have room for 16,000. */
export const MAX_FIELDS = 1_000;
/** Most heads are shorter: only so much is made text at first. */
const USUAL_HEAD_BYTES = 2_048;
/** Interim answers before the final one; each costs the upstream nothing. */
export const MAX_INTERIM = 32;
const MAX_CHUNK_EXTENSION_BYTES = 4_096;
/** 13 hexadecimal digits are below 2^53. */
const MAX_CHUNK_SIZE_DIGITS = 13;

/** Where the next byte belongs. Plain numbers: Node runs our source as it stands, without enums. */
const IDLE = 0;
const HEAD = 1;
const BODY_OF_LENGTH = 2;
const BODY_UNTIL_CLOSE = 3;
const CHUNK_SIZE = 4;
const CHUNK_EXTENSION = 5;
const CHUNK_SIZE_LF = 6;
const CHUNK_DATA = 7;
const CHUNK_DATA_CR = 8;
const CHUNK_DATA_LF = 9;
const TRAILERS = 10;

const CR = 13;
const LF = 10;

export class AnswerReader {
  /** The connection may carry another request once the answer has ended. */
  keepsOpen = false;
  /** What the upstream says of idle connections, in ms; undefined when it says nothing. */
  idleMs: number | undefined;
  readonly #sink: AnswerSink;
  #phase = IDLE;
  #isHeadRequest = false;
  #interim = 0;
  /** The beginning of a head, or of trailers, whose end has not come. */
  #text = "";
  /** Bytes that are missing from the body, or from the chunk. */
  #left = 0;
  #digits = 0;
  #extensionBytes = 0;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** An answer is expected from now on. */
  begin(method: string): void {
    this.#phase = HEAD;
    this.#isHeadRequest = method === "HEAD";
    this.#interim = 0;
    this.#text = "";
    this.keepsOpen = false;
    this.idleMs = undefined;
  }

  /** The head has come, and the end has not. */
  get isInBody(): boolean {
    return this.#phase > HEAD;
  }

  /**
   * Takes what has come, up to the end of the answer.
   *
   * @param end how many bytes of `bytes` count
   * @returns what is wrong; undefined when nothing is
   */
  read(bytes: Buffer, end: number): string | undefined {
    let at = 0;
    while (at < end) {
      switch (this.#phase) {
        case HEAD: {
          const next = this.#readHead(bytes, at, end);
          if (typeof next === "string") return next;
          at = next;
          break;
        }
        case BODY_OF_LENGTH:
          at = this.#readData(bytes, at, end);
          if (this.#left === 0) this.#end(at < end);
          break;
        case BODY_UNTIL_CLOSE:
          this.#sink.onData(bytes.subarray(at, end));
          return undefined;
        case CHUNK_DATA:
          at = this.#readData(bytes, at, end);
          if (this.#left === 0) this.#phase = CHUNK_DATA_CR;
          break;
        case TRAILERS: {
          const next = this.#readTrailers(bytes, at, end);
          if (typeof next === "string") return next;
          at = next;
          break;
        }
        case IDLE:
          return "there are bytes that belong to no request";
        default: {
          const problem = this.#readChunkByte(bytes[at] as number);
          if (problem !== undefined) return problem;
          at += 1;
        }
      }
    }
    return undefined;
  }

  /**
   * No more bytes will come.
   *
   * @returns false when the answer was not complete
   */
  close(): boolean {
    if (this.#phase !== BODY_UNTIL_CLOSE) return this.#phase === IDLE;
    this.#end(false);
    return true;
  }

  /** @param hasMore bytes follow that nobody asked for */
  #end(hasMore: boolean, trailers?: string[]): void {
    this.#phase = IDLE;
    if (hasMore) this.keepsOpen = false;
    this.#sink.onEnd(trailers);
  }

  /** @returns where the next byte is that is no data of this body, or chunk; `end` when none is */
  #readData(bytes: Buffer, start: number, end: number): number {
    const next = Math.min(start + this.#left, end);
    this.#left -= next - start;
    this.#sink.onData(bytes.subarray(start, next));
    return next;
  }

  /** @returns where the body begins, or `end` while the head goes on, or a problem */
  #readHead(bytes: Buffer, start: number, end: number): number | string {
    const before = this.#text.length;
    let taken = Math.min(end, start + USUAL_HEAD_BYTES);
    let text = bytes.toString("latin1", start, taken);
    if (before > 0) text = this.#text + text;
    // The end may lie across the border of what had come before.
    let headEnd = text.indexOf("\r\n\r\n", Math.max(0, before - 3));
    if (headEnd < 0 && taken < end) {
      taken = Math.min(end, start + MAX_HEAD_BYTES + 4);
      text = this.#text + bytes.toString("latin1", start, taken);
      headEnd = text.indexOf("\r\n\r\n", Math.max(0, before - 3));
    }
    if (headEnd < 0) {
      // Refused now, not when the time is up: an end that is written otherwise would never be found.
      const problem = problemOfBeginning(text, before);
      if (problem !== undefined) return problem;
      this.#text = text;
      return taken;
    }
    if (headEnd > MAX_HEAD_BYTES) return HEAD_TOO_LARGE;
    this.#text = "";
    const problem = this.#parseHead(text, headEnd, start + headEnd + 4 - before < end);
    return problem ?? start + headEnd + 4 - before;
  }

  /** @param end of the last field line, which the empty line follows */
  #parseHead(text: string, end: number, hasMore: boolean): string | undefined {
    const status = parseStatusLine(text);
    if (status < 0) return "it does not begin with a status line of HTTP/1";
    const lineEnd = text.indexOf("\r\n");
    const isHttp10 = text.charCodeAt(7) === 0x30;
    const fields = new AnswerFields(!isHttp10);
    const { headers } = fields;
    const problem = lineEnd < end ? parseFields(text, lineEnd + 2, end + 2, fields) : undefined;
    if (problem !== undefined) return problem;
    if (headers.length > 2 * MAX_FIELDS) return "it has too many header fields";
    if (status < 200) {
      // We never ask for another protocol.
      if (status === 101) return "it changes to another protocol unasked";
      this.#interim += 1;
      return this.#interim > MAX_INTERIM ? "it has too many interim answers" : undefined;
    }
    if (fields.chunked && fields.length >= 0) return "it has both Content-Length and Transfer-Encoding";
    if (fields.chunked && isHttp10) return "it has a Transfer-Encoding in HTTP/1.0";
    this.keepsOpen = fields.keepsAlive && !fields.closes;
    this.idleMs = fields.idleMs;
    const hasNoBody = this.#isHeadRequest || status === 204 || status === 304;
    // Who declares one all the same may send it, too.
    if (status === 204 && (fields.chunked || fields.length > 0)) this.keepsOpen = false;
    if (hasNoBody || fields.length === 0) {
      this.#sink.onHead(status, headers);
      this.#end(hasMore);
      return undefined;
    }
    if (fields.chunked) this.#startChunk();
    else if (fields.length > 0) {
      this.#phase = BODY_OF_LENGTH;
      this.#left = fields.length;
    } else {
      this.#phase = BODY_UNTIL_CLOSE;
      this.keepsOpen = false;
    }
    this.#sink.onHead(status, headers);
    return undefined;
  }

  #startChunk(): void {
    this.#phase = CHUNK_SIZE;
    this.#left = 0;
    this.#digits = 0;
    this.#extensionBytes = 0;
  }

  #readChunkByte(byte: number): string | undefined {
    switch (this.#phase) {
      case CHUNK_SIZE: {
        const digit = HEX[byte] as number;
        if (digit >= 0) {
          this.#left = this.#left * 16 + digit;
          this.#digits += 1;
          return this.#digits > MAX_CHUNK_SIZE_DIGITS ? "a chunk is too large" : undefined;
        }
        if (this.#digits === 0) return "a chunk has no size";
        if (byte === CR) this.#phase = CHUNK_SIZE_LF;
        else if (byte === 0x3b) this.#phase = CHUNK_EXTENSION;
        else return "a chunk size is no hexadecimal number";
        return undefined;
      }
      case CHUNK_EXTENSION:
        if (byte === CR) this.#phase = CHUNK_SIZE_LF;
        else if (VALUE[byte] === 0) return "a chunk extension has a control character";
        this.#extensionBytes += 1;
        return this.#extensionBytes > MAX_CHUNK_EXTENSION_BYTES ? "a chunk extension is too long" : undefined;
      case CHUNK_SIZE_LF:
        if (byte !== LF) return "a chunk size does not end with CR LF";
        this.#phase = this.#left === 0 ? TRAILERS : CHUNK_DATA;
        return undefined;
      case CHUNK_DATA_CR:
        if (byte !== CR) return "a chunk is longer than its size";
        this.#phase = CHUNK_DATA_LF;
        return undefined;
      default:
        if (byte !== LF) return "a chunk does not end with CR LF";
        this.#startChunk();
        return undefined;
    }
  }

  /** Checked like fields, and told apart from them: what is there may not mean what it would in a head (RFC 9110 §6.5.1). */
  #readTrailers(bytes: Buffer, start: number, end: number): number | string {
    const before = this.#text.length;
    const text = this.#text + bytes.toString("latin1", start, Math.min(end, start + MAX_HEAD_BYTES + 4));
    const trailersEnd = text.startsWith("\r\n") ? -2 : text.indexOf("\r\n\r\n", Math.max(0, before - 3));
    if (trailersEnd === -1) {
      const problem = text.length > MAX_HEAD_BYTES ? HEAD_TOO_LARGE : problemOfLines(text, before);
      if (problem !== undefined) return problem;
      this.#text = text;
      return end;
    }
    this.#text = "";
    let trailers: string[] | undefined;
    if (trailersEnd > 0) {
      const fields = new TrailerFields();
      const problem = parseFields(text, 0, trailersEnd + 2, fields);
      if (problem !== undefined) return problem;
      trailers = fields.headers;
    }
    const next = start + trailersEnd + 4 - before;
    this.#end(next < end, trailers);
    return next;
  }
}

export const HEAD_TOO_LARGE = `its header fields are longer than ${MAX_HEAD_BYTES} bytes`;

/** Of a head that has not come whole. @param known so much of it was looked at before */
function problemOfBeginning(text: string, known: number): string | undefined {
  if (text.length > MAX_HEAD_BYTES) return HEAD_TOO_LARGE;
  if (!text.startsWith("HTTP/1.".slice(0, text.length))) return "it does not begin with a status line of HTTP/1";
  return problemOfLines(text, known);
}

/** From `known` on alone: it may come byte by byte, and each time from the beginning would be seconds. */
function problemOfLines(text: string, known: number): string | undefined {
  for (let at = text.indexOf("\n", known); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (text.charCodeAt(at - 1) !== CR) return "a line does not end with CR LF";
  }
  return undefined;
}
