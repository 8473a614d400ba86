/**
 * Reads HTTP/1.1 requests from the bytes of one connection: one state machine.
 *
 * Untrusted input: every byte. Promises: a request has one end or is refused, and nothing behind a problem is looked at. What RFC
 * 9112 lets a recipient repair is refused instead (bare line feeds, folded lines, a Content-Length beside a Transfer-Encoding,
 * codings other than "chunked", escapes in chunk extensions); Node's parser, which reads the same bytes in test/fuzz, refuses no more.
 *
 * @see RFC 9112 §2.2, §3, §5, §6, §7
 */
import { parseFields } from "../../shared/http/field-lines.ts";
import { ChunkLines, LONG_EXTENSIONS } from "./chunk-lines.ts";
import {
  parseRequestHead,
  problemOfBeginning,
  problemOfLines,
  TrailerFields,
  EMPTY_LINE,
  type RequestHead,
} from "./request-head.ts";

/** Hears of requests: head, data…, end. Nothing after a problem. */
export interface RequestSink {
  /** @param isWhole there is no body, and no end follows */
  onHead(head: RequestHead, isWhole: boolean): void;
  /** @param chunk of the bytes that were given */
  onData(chunk: Buffer): void;
  /** @param trailers flat, as received; undefined: none came @param closes they say that nothing follows */
  onEnd(trailers: string[] | undefined, closes: boolean): void;
}

/** Why nothing more is read. */
export interface ReadProblem {
  readonly status: 400 | 431;
  readonly detail: string;
}

/** Request line and fields together, and the trailers again as much. */
export const MAX_HEAD_BYTES = 32_768;
export const MAX_TRAILERS = 200;
/** Most heads are shorter: only so much is made text at first. */
const USUAL_HEAD_BYTES = 2_048;

/** Where the next byte belongs. */
const HEAD = 0;
const BODY_OF_LENGTH = 1;
const CHUNKS = 2;
const TRAILERS = 3;

export class RequestReader {
  problem: ReadProblem | undefined;
  readonly #sink: RequestSink;
  #phase = HEAD;
  /** The beginning of a head, or of trailers, whose end has not come. */
  #text = "";
  /** Bytes that are missing from the body. */
  #left = 0;
  #chunks: ChunkLines | undefined;

  constructor(sink: RequestSink) {
    this.#sink = sink;
  }

  /** The head of a request has come, and its end has not. */
  get isInBody(): boolean {
    return this.#phase !== HEAD;
  }

  /** The beginning of a head has come, and its end has not. */
  get isInHead(): boolean {
    return this.#phase === HEAD && !EMPTY_LINE.startsWith(this.#text);
  }

  /**
   * Takes what has come, at most up to the end of a request.
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
    this.problem = { status, detail };
  }

  #end(trailers: string[] | undefined, closes = false): void {
    this.#phase = HEAD;
    this.#sink.onEnd(trailers, closes);
  }

  /** @returns where the head ends, or `end` */
  #readHead(bytes: Buffer, start: number, end: number): number {
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
    if (headEnd > MAX_HEAD_BYTES || (headEnd < 0 && text.length > MAX_HEAD_BYTES + 4)) {
      this.#refuse("its head is too long", 431);
      return end;
    }
    if (headEnd < 0) {
      const problem = problemOfBeginning(text, before);
      if (problem !== undefined) this.#refuse(problem);
      this.#text = text;
      return taken;
    }
    this.#text = "";
    const head = parseRequestHead(text, headEnd);
    if (typeof head === "string") this.#refuse(head);
    else this.#begin(head);
    return start + headEnd + 4 - before;
  }

  #begin(head: RequestHead): void {
    const isWhole = !head.isChunked && head.length <= 0;
    if (head.isChunked) {
      this.#phase = CHUNKS;
      this.#chunks ??= new ChunkLines();
      this.#chunks.begin();
    } else if (!isWhole) {
      this.#phase = BODY_OF_LENGTH;
      this.#left = head.length;
    }
    this.#sink.onHead(head, isWhole);
  }

  #readChunks(bytes: Buffer, start: number, end: number): number {
    const chunks = this.#chunks as ChunkLines;
    let at = start;
    while (at < end) {
      if (chunks.isInData) {
        const next = Math.min(at + chunks.left, end);
        chunks.took(next - at);
        this.#sink.onData(bytes.subarray(at, next));
        at = next;
        continue;
      }
      const problem = chunks.take(bytes[at] as number);
      at += 1;
      if (problem !== undefined) {
        this.#refuse(problem, problem === LONG_EXTENSIONS ? 431 : 400);
        return at;
      }
      if (chunks.isOver) {
        this.#phase = TRAILERS;
        return at;
      }
    }
    return at;
  }

  #readTrailers(bytes: Buffer, start: number, end: number): number {
    const before = this.#text.length;
    const text = this.#text + bytes.toString("latin1", start, Math.min(end, start + MAX_HEAD_BYTES + 4));
    const trailersEnd = text.startsWith("\r\n") ? -2 : text.indexOf("\r\n\r\n", Math.max(0, before - 3));
    if (trailersEnd === -1) {
      if (text.length > MAX_HEAD_BYTES) this.#refuse("its trailers are too long", 431);
      const problem = problemOfLines(text, before);
      if (problem !== undefined) this.#refuse(problem);
      this.#text = text;
      return end;
    }
    this.#text = "";
    const next = start + trailersEnd + 4 - before;
    const fields = new TrailerFields();
    const problem = trailersEnd > 0 ? parseFields(text, 0, trailersEnd + 2, fields) : undefined;
    if (problem !== undefined) this.#refuse(problem);
    else if (fields.raw.length > 2 * MAX_TRAILERS) this.#refuse("it has too many trailers", 431);
    else this.#end(trailersEnd > 0 ? fields.raw : undefined, fields.closes);
    return next;
  }
}
