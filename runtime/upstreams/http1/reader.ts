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
import { ChunkLines, type ChunkExtensions } from "../../shared/http/chunk-lines.ts";
import { parseFields, VALUE } from "../../shared/http/field-lines.ts";
import { HeadText, problemOfLines } from "../../shared/http/head-text.ts";
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
/** Interim answers before the final one; each costs the upstream nothing. */
export const MAX_INTERIM = 32;

/** Where the next byte belongs. Plain numbers: Node runs our source as it stands, without enums. */
const IDLE = 0;
const HEAD = 1;
const BODY_OF_LENGTH = 2;
const BODY_UNTIL_CLOSE = 3;
const CHUNKS = 4;
const TRAILERS = 5;

export class AnswerReader {
  /** The connection may carry another request once the answer has ended. */
  keepsOpen = false;
  /** What the upstream says of idle connections, in ms; undefined when it says nothing. */
  idleMs: number | undefined;
  readonly #sink: AnswerSink;
  #phase = IDLE;
  #isHeadRequest = false;
  #interim = 0;
  /** Of a head, or of trailers, whose end has not come. */
  readonly #lines: HeadText = new HeadText(MAX_HEAD_BYTES);
  /** Bytes that are missing from the body. */
  #left = 0;
  #chunks: ChunkLines | undefined;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** An answer is expected from now on. */
  begin(method: string): void {
    this.#phase = HEAD;
    this.#isHeadRequest = method === "HEAD";
    this.#interim = 0;
    this.#lines.clear();
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

  /** @returns where the body begins, or how far the head goes on, or a problem */
  #readHead(bytes: Buffer, start: number, end: number): number | string {
    const lines = this.#lines;
    const known = lines.text.length;
    const text = lines.take(bytes, start, end);
    const { next, end: headEnd } = lines;
    if (lines.isTooLong) return HEAD_TOO_LARGE;
    if (headEnd < 0) return problemOfBeginning(text, known) ?? next;
    return this.#parseHead(text, headEnd, next < end) ?? next;
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

  /** Checked like fields, and told apart from them: what is there may not mean what it would in a head (RFC 9110 §6.5.1). */
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

/** Of a head that has not come whole. @param known so much of it was looked at before */
function problemOfBeginning(text: string, known: number): string | undefined {
  if (!text.startsWith("HTTP/1.".slice(0, text.length))) return "it does not begin with a status line of HTTP/1";
  return problemOfLines(text, known);
}

/** Of one chunk. */
const MAX_BYTES = 4_096;

/** Extensions of the chunks of an answer: they end here, so that any text may be in them. */
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
