/**
 * Reads HTTP/1.1 responses from the bytes of one connection: one state machine.
 *
 * Untrusted input: every byte. Promises: a response has one end or is rejected. Repairs that RFC 9112 allows are rejected
 * instead (bare line feeds, folded lines, a Content-Length next to a Transfer-Encoding, two Content-Lengths, codings other
 * than "chunked"): the client would get our repair, and another reader perhaps a different one. Bytes after the end of a
 * response never count as the next one.
 *
 * @see RFC 9112 §2.2, §4, §5, §6, §7
 */
import { ChunkLines, type ChunkExtensions } from "../../shared/http/chunk-lines.ts";
import { parseFields, VALUE } from "../../shared/http/field-lines.ts";
import { HeadText, problemOfLines } from "../../shared/http/head-text.ts";
import { AnswerFields, parseStatusLine, TrailerFields } from "./head-lines.ts";

/** Receives one response: head, data…, end. Nothing after a problem. */
export interface AnswerSink {
  /** @param headers flat: lower-case name, value, …; values as latin1 text */
  onHead(status: number, headers: string[]): void;
  /** @param chunk only valid during the call */
  onData(chunk: Buffer): void;
  /** @param trailers like the headers; undefined: none came */
  onEnd(trailers: string[] | undefined): void;
}

/** Limit for status line and fields together, and again for the trailers. */
export const MAX_HEAD_BYTES = 65_536;
/** Later readers may search all fields for each one: 64 KiB have room for 16,000. */
export const MAX_FIELDS = 1_000;
/** Most interim responses before the final one; they cost the upstream nothing. */
export const MAX_INTERIM = 32;

/** Position of the next byte. Plain numbers, not enums: Node runs our source without compiling it. */
const IDLE = 0;
const HEAD = 1;
const BODY_OF_LENGTH = 2;
const BODY_UNTIL_CLOSE = 3;
const CHUNKS = 4;
const TRAILERS = 5;

export class AnswerReader {
  /** The connection can carry another request after the response. */
  keepsOpen = false;
  /** The upstream's timeout for idle connections, in ms; undefined if it names none. */
  idleMs: number | undefined;
  readonly #sink: AnswerSink;
  #phase = IDLE;
  #isHeadRequest = false;
  #interim = 0;
  /** Text of an incomplete head, or of incomplete trailers. */
  readonly #lines: HeadText = new HeadText(MAX_HEAD_BYTES);
  /** Missing bytes of the body. */
  #left = 0;
  #chunks: ChunkLines | undefined;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Expects a response from now on. */
  begin(method: string): void {
    this.#phase = HEAD;
    this.#isHeadRequest = method === "HEAD";
    this.#interim = 0;
    this.#lines.clear();
    this.keepsOpen = false;
    this.idleMs = undefined;
  }

  /** True between the head and the end of a response. */
  get isInBody(): boolean {
    return this.#phase > HEAD;
  }

  /**
   * Reads bytes, up to the end of the response.
   *
   * @param end number of valid bytes in `bytes`
   * @returns the problem; undefined if there is none
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
        case BODY_OF_LENGTH: {
          const next = Math.min(at + this.#left, end);
          this.#left -= next - at;
          this.#sink.onData(bytes.subarray(at, next));
          at = next;
          if (this.#left === 0) this.#end(at < end);
          break;
        }
        case BODY_UNTIL_CLOSE:
          this.#sink.onData(bytes.subarray(at, end));
          return undefined;
        case CHUNKS: {
          const chunks = this.#chunks as ChunkLines;
          at = chunks.read(bytes, at, end, this.#sink);
          if (chunks.problem !== undefined) return chunks.problem;
          if (chunks.isOver) this.#phase = TRAILERS;
          break;
        }
        case TRAILERS: {
          const next = this.#readTrailers(bytes, at, end);
          if (typeof next === "string") return next;
          at = next;
          break;
        }
        default:
          return "there are bytes that belong to no request";
      }
    }
    return undefined;
  }

  /**
   * Called when no more bytes will come.
   *
   * @returns false when the response was not complete
   */
  close(): boolean {
    if (this.#phase !== BODY_UNTIL_CLOSE) return this.#phase === IDLE;
    this.#end(false);
    return true;
  }

  /** @param hasMore unsolicited bytes follow */
  #end(hasMore: boolean, trailers?: string[]): void {
    this.#phase = IDLE;
    if (hasMore) this.keepsOpen = false;
    this.#sink.onEnd(trailers);
  }

  /** @returns the start of the body, or the end of the head so far, or a problem */
  #readHead(bytes: Buffer, start: number, end: number): number | string {
    const lines = this.#lines;
    const known = lines.text.length;
    const text = lines.take(bytes, start, end);
    const { next, end: headEnd } = lines;
    if (lines.isTooLong) return HEAD_TOO_LARGE;
    if (headEnd < 0) return problemOfBeginning(text, known) ?? next;
    return this.#parseHead(text, headEnd, next < end) ?? next;
  }

  /** @param end of the last field line, before the empty line */
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
      // The gateway never requests an upgrade here.
      if (status === 101) return "it changes to another protocol unasked";
      this.#interim += 1;
      return this.#interim > MAX_INTERIM ? "it has too many interim answers" : undefined;
    }
    if (fields.chunked && fields.length >= 0) return "it has both Content-Length and Transfer-Encoding";
    if (fields.chunked && isHttp10) return "it has a Transfer-Encoding in HTTP/1.0";
    this.keepsOpen = fields.keepsAlive && !fields.closes;
    this.idleMs = fields.idleMs;
    const hasNoBody = this.#isHeadRequest || status === 204 || status === 304;
    // A server that declares a body for a 204 may also send it.
    if (status === 204 && (fields.chunked || fields.length > 0)) this.keepsOpen = false;
    if (hasNoBody || fields.length === 0) {
      this.#sink.onHead(status, headers);
      this.#end(hasMore);
      return undefined;
    }
    if (fields.chunked) {
      this.#phase = CHUNKS;
      this.#chunks ??= new ChunkLines(new AnswerExtensions());
      this.#chunks.begin();
    } else if (fields.length > 0) {
      this.#phase = BODY_OF_LENGTH;
      this.#left = fields.length;
    } else {
      this.#phase = BODY_UNTIL_CLOSE;
      this.keepsOpen = false;
    }
    this.#sink.onHead(status, headers);
    return undefined;
  }

  /**
   * Validates trailers like fields, but keeps them separate: they may not have the meaning of a head's field (RFC 9110
   * §6.5.1).
   */
  #readTrailers(bytes: Buffer, start: number, end: number): number | string {
    const lines = this.#lines;
    const known = lines.text.length;
    const text = lines.take(bytes, start, end, true);
    const { next, end: linesEnd } = lines;
    if (lines.isTooLong) return HEAD_TOO_LARGE;
    if (linesEnd < 0) return problemOfLines(text, known) ?? next;
    let trailers: string[] | undefined;
    if (linesEnd > 0) {
      const fields = new TrailerFields();
      const problem = parseFields(text, 0, linesEnd + 2, fields);
      if (problem !== undefined) return problem;
      trailers = fields.headers;
    }
    this.#end(next < end, trailers);
    return next;
  }
}

export const HEAD_TOO_LARGE = `its header fields are longer than ${MAX_HEAD_BYTES} bytes`;

/** Checks an incomplete head. @param known number of characters checked before */
function problemOfBeginning(text: string, known: number): string | undefined {
  if (!text.startsWith("HTTP/1.".slice(0, text.length))) return "it does not begin with a status line of HTTP/1";
  return problemOfLines(text, known);
}

/** Limit for one chunk. */
const MAX_BYTES = 4_096;

/** Chunk extensions of a response: they are dropped here, so they may contain any text. */
class AnswerExtensions implements ChunkExtensions {
  #bytes = 0;

  reset(): void {}

  begin(): void {
    this.#bytes = 0;
  }

  take(byte: number): string | undefined {
    this.#bytes += 1;
    if (VALUE[byte] === 0) return "a chunk extension has a control character";
    return this.#bytes > MAX_BYTES ? "a chunk extension is too long" : undefined;
  }

  end(): undefined {}
}
