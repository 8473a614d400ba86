/**
 * A chunked body: its data, and what separates it (sizes, extensions, line ends).
 *
 * Untrusted input: every byte. The caller decides which extensions are allowed.
 *
 * @see RFC 9112 §7.1
 */
import { HEX } from "./field-lines.ts";

/**
 * Reads the extensions of chunks, which the gateway ignores: a reader that misunderstands them finds another end of the
 * body.
 */
export interface ChunkExtensions {
  /** Starts a body. */
  reset(): void;
  /** Starts after the first ";" of a chunk. */
  begin(): void;
  /** @returns the problem */
  take(byte: number): string | undefined;
  /** Ends the line. @returns the problem */
  end(): string | undefined;
}

/** 13 hexadecimal digits are below 2^53. */
const MAX_SIZE_DIGITS = 13;

const CR = 13;
const LF = 10;
const SEMICOLON = 59;

/**
 * Part of the chunk that the next byte belongs to. Plain numbers: Node strips types only, so enums are not available.
 */
const SIZE = 0;
const EXTENSIONS = 1;
const SIZE_LF = 2;
const DATA = 3;
const DATA_CR = 4;
const DATA_LF = 5;
const LAST = 6;

export class ChunkLines {
  /** Set: nothing more is read. */
  problem: string | undefined = undefined;
  readonly #extensions: ChunkExtensions;
  #phase = SIZE;
  /** Bytes of data that are missing from the chunk. */
  #left = 0;
  #digits = 0;

  constructor(extensions: ChunkExtensions) {
    this.#extensions = extensions;
  }

  /** Starts a body. */
  begin(): void {
    this.#extensions.reset();
    this.#next();
  }

  /** The trailers follow. */
  get isOver(): boolean {
    return this.#phase === LAST;
  }

  /** @returns where it stopped: at `end`, after the last chunk, or at a problem */
  read(bytes: Buffer, start: number, end: number, sink: { onData(chunk: Buffer): void }): number {
    let at = start;
    while (at < end && this.#phase !== LAST && this.problem === undefined) {
      if (this.#phase !== DATA) {
        this.problem = this.#take(bytes[at] as number);
        at += 1;
        continue;
      }
      const next = Math.min(at + this.#left, end);
      this.#left -= next - at;
      if (this.#left === 0) this.#phase = DATA_CR;
      sink.onData(bytes.subarray(at, next));
      at = next;
    }
    return at;
  }

  /** Takes a byte that is not data. @returns the problem */
  #take(byte: number): string | undefined {
    switch (this.#phase) {
      case SIZE: {
        const digit = HEX[byte] as number;
        if (digit < 0) return this.#endSize(byte);
        this.#left = this.#left * 16 + digit;
        this.#digits += 1;
        return this.#digits > MAX_SIZE_DIGITS ? "a chunk is too large" : undefined;
      }
      case EXTENSIONS:
        if (byte !== CR) return this.#extensions.take(byte);
        this.#phase = SIZE_LF;
        return this.#extensions.end();
      case SIZE_LF:
        if (byte !== LF) return "a chunk size does not end with CR LF";
        this.#phase = this.#left === 0 ? LAST : DATA;
        return undefined;
      case DATA_CR:
        if (byte !== CR) return "a chunk is longer than its size";
        this.#phase = DATA_LF;
        return undefined;
      default:
        if (byte !== LF) return "a chunk does not end with CR LF";
        this.#next();
        return undefined;
    }
  }

  #endSize(byte: number): string | undefined {
    if (this.#digits === 0) return "a chunk has no size";
    if (byte === CR) this.#phase = SIZE_LF;
    else if (byte === SEMICOLON) {
      this.#phase = EXTENSIONS;
      this.#extensions.begin();
    } else return "a chunk size is not a hexadecimal number";
    return undefined;
  }

  #next(): void {
    this.#phase = SIZE;
    this.#left = 0;
    this.#digits = 0;
  }
}
