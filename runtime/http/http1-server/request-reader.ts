/**
 * Reads HTTP/1.1 requests from the bytes of one connection: one state machine.
 *
 * Untrusted input: every byte. Promises: a request has one end or is rejected, and no byte after a problem is read. Repairs
 * that RFC 9112 allows are rejected instead (bare line feeds, folded lines, a Content-Length next to a Transfer-Encoding,
 * codings other than "chunked", escapes in chunk extensions). Node's parser, which reads the same bytes in test/fuzz, rejects
 * no more than this.
 *
 * @see RFC 9112 §2.2, §3, §5, §6, §7
 */
import { ChunkLines } from "../../shared/http/chunk-lines.ts";
import { parseFields } from "../../shared/http/field-lines.ts";
import { HeadText, problemOfLines } from "../../shared/http/head-text.ts";
import { LONG_EXTENSIONS, RequestExtensions } from "./chunk-extensions.ts";
import type { RequestRefusal } from "../listener/accept-h1.ts";
import {
  REASONS,
  parseRequestHead,
  problemOfBeginning,
  TrailerFields,
  EMPTY_LINE,
  type RequestHead,
} from "./request-head.ts";

/** Receives the parts of requests: head, data…, end. Nothing after a problem. */
export interface RequestSink {
  /** @param isWhole neither data nor an end follows @param body the complete body, if it came with the head */
  onHead(head: RequestHead, isWhole: boolean, body?: Buffer): void;
  /** @param chunk part of the bytes that `read()` got */
  onData(chunk: Buffer): void;
  /** @param trailers flat, as received; undefined: none came @param closes they announce that nothing follows */
  onEnd(trailers: string[] | undefined, closes: boolean): void;
}

/** The reason for not reading further. */
export interface ReadProblem {
  readonly status: 400 | 405 | 408 | 431 | 503;
  readonly detail: string;
  /** Set if it is a request that only cannot be served. */
  readonly reason?: RequestRefusal | undefined;
}

/** Limit for request line and fields together, and again for the trailers. */
export const MAX_HEAD_BYTES = 32_768;
export const MAX_TRAILERS = 200;

/** Position of the next byte. */
const HEAD = 0;
const BODY_OF_LENGTH = 1;
const CHUNKS = 2;
const TRAILERS = 3;

export class RequestReader {
  problem: ReadProblem | undefined;
  readonly #sink: RequestSink;
  #phase = HEAD;
  /** Text of an incomplete head, or of incomplete trailers. */
  readonly #lines: HeadText = new HeadText(MAX_HEAD_BYTES);
  /** Missing bytes of the body. */
  #left = 0;
  #chunks: ChunkLines | undefined;

  constructor(sink: RequestSink) {
    this.#sink = sink;
  }

  /** True between the end of a request's head and the end of the request. */
  get isInBody(): boolean {
    return this.#phase !== HEAD;
  }

  /** True between the first byte of a head and its end. */
  get isInHead(): boolean {
    return this.#phase === HEAD && !EMPTY_LINE.startsWith(this.#lines.text);
  }

  /** Held bytes of incomplete lines. */
  get heldBytes(): number {
    return this.#lines.text.length;
  }

  /** Stops reading. */
  close(): void {
    this.#lines.clear();
  }

  /**
   * Reads bytes, at most up to the end of a request.
   *
   * @returns where it stopped; `problem` may be set then
   */
  read(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && this.problem === undefined) {
      switch (this.#phase) {
        case HEAD:
          at = this.#readHead(bytes, at, end);
          if (this.#phase === HEAD) return at;
          break;
        case BODY_OF_LENGTH: {
          const next = Math.min(at + this.#left, end);
          this.#left -= next - at;
          this.#sink.onData(bytes.subarray(at, next));
          at = next;
          if (this.#left > 0) break;
          this.#end(undefined);
          return at;
        }
        case CHUNKS:
          at = this.#readChunks(bytes, at, end);
          break;
        default:
          at = this.#readTrailers(bytes, at, end);
          if (this.#phase === HEAD) return at;
      }
    }
    return at;
  }

  #refuse(detail: string, status: 400 | 431 = 400): void {
    this.problem = { status, detail, reason: REASONS.get(detail) };
  }

  #end(trailers: string[] | undefined, closes = false): void {
    this.#phase = HEAD;
    this.#sink.onEnd(trailers, closes);
  }

  #readHead(bytes: Buffer, start: number, end: number): number {
    const lines = this.#lines;
    const known = lines.text.length;
    const text = lines.take(bytes, start, end);
    const { next } = lines;
    if (lines.isTooLong) this.#refuse("its headers are too long", 431);
    else if (lines.end < 0) {
      const problem = problemOfBeginning(text, known);
      if (problem !== undefined) this.#refuse(problem);
    } else {
      const head = parseRequestHead(text, lines.end);
      if (typeof head === "string") this.#refuse(head);
      else return this.#begin(head, bytes, next, end);
    }
    return next;
  }

  /** @returns where it stopped */
  #begin(head: RequestHead, bytes: Buffer, start: number, end: number): number {
    const { length, isChunked, expect } = head;
    const isWhole = !isChunked && length <= 0;
    const bodyEnd = start + length;
    // Small bodies mostly come with their head. With `expect` the body's reader decides whether the client shall send it.
    if (!isChunked && length > 0 && bodyEnd <= end && expect === undefined) {
      this.#sink.onHead(head, true, bytes.subarray(start, bodyEnd));
      return bodyEnd;
    }
    if (isChunked) {
      this.#phase = CHUNKS;
      this.#chunks ??= new ChunkLines(new RequestExtensions());
      this.#chunks.begin();
    } else if (!isWhole) {
      this.#phase = BODY_OF_LENGTH;
      this.#left = length;
    }
    this.#sink.onHead(head, isWhole);
    return start;
  }

  #readChunks(bytes: Buffer, start: number, end: number): number {
    const chunks = this.#chunks as ChunkLines;
    const next = chunks.read(bytes, start, end, this.#sink);
    const { problem } = chunks;
    if (problem !== undefined) this.#refuse(problem, problem === LONG_EXTENSIONS ? 431 : 400);
    else if (chunks.isOver) this.#phase = TRAILERS;
    return next;
  }

  #readTrailers(bytes: Buffer, start: number, end: number): number {
    const lines = this.#lines;
    const known = lines.text.length;
    const text = lines.take(bytes, start, end, true);
    const { next, end: linesEnd } = lines;
    if (lines.isTooLong) this.#refuse("its trailers are too long", 431);
    else if (linesEnd < 0) {
      const problem = problemOfLines(text, known);
      if (problem !== undefined) this.#refuse(problem);
    } else this.#endTrailers(text, linesEnd);
    return next;
  }

  /** @param end of the last line; 0: no lines */
  #endTrailers(text: string, end: number): void {
    const fields = new TrailerFields();
    const problem = end > 0 ? parseFields(text, 0, end + 2, fields) : undefined;
    if (problem !== undefined) this.#refuse(problem);
    else if (fields.raw.length > 2 * MAX_TRAILERS) this.#refuse("it has too many trailers", 431);
    else this.#end(end > 0 ? fields.raw : undefined, fields.closes);
  }
}
