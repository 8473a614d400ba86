/**
 * Bytes that a client sent after a request that is not answered yet, to be read in their turn.
 *
 * Promises: bounded in bytes and requests. Above the bounds, the complete requests are answered, the last of them with
 * `close`, and all that follows is ignored, as if it had never come (RFC 9112 §9.3.2).
 */
import { RequestReader, type RequestSink } from "./request-reader.ts";

/** Most bytes that are held, except that the piece that exceeds this is also held. */
const MAX_BYTES = 65_536;
/** Approximate cost of a piece in addition to its bytes: they may come one by one. */
const PIECE_BYTES = 128;
/** Most requests that are answered of those that waited together. */
const MAX_WAITING = 32;

export class Backlog {
  #pieces: Buffer[] = [];
  #size = 0;
  /** Bytes of the last `take()`. */
  #taken = 0;
  /** Unread rest of the bytes that waited together. */
  #together = 0;
  /** Requests that began out of them. */
  #begun = 0;
  /** Requests that may still begin. */
  #left = Infinity;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Held bytes, including the cost of the pieces. */
  get size(): number {
    return this.#size;
  }

  /** @returns false when there is no room for more */
  add(bytes: Buffer): boolean {
    if (this.#left !== Infinity) return true;
    this.#size += bytes.length + PIECE_BYTES;
    this.#pieces.push(bytes);
    return this.#size <= MAX_BYTES;
  }

  /** Takes all bytes, for the next request. */
  take(): Buffer {
    const bytes = this.#join();
    this.#pieces = [];
    this.#size = 0;
    if (this.#together <= 0) {
      this.#together = bytes.length;
      this.#begun = 0;
    }
    this.#taken = bytes.length;
    return bytes;
  }

  /** Returns the bytes after the request to the backlog. */
  giveBack(rest: Buffer): void {
    this.#together -= this.#taken - rest.length;
    this.#pieces.push(rest);
    this.#size = rest.length + PIECE_BYTES;
  }

  /** A request begins. @returns whether it is the last one that may */
  begins(): boolean {
    this.#begun += 1;
    this.#left -= 1;
    return this.#begun >= MAX_WAITING || this.#left <= 0;
  }

  /** Accepts no more bytes. @returns whether a complete request waits */
  close(): boolean {
    const bytes = this.#join();
    this.#pieces = [bytes];
    this.#left = requestsIn(bytes).whole;
    return this.#left > 0;
  }

  /** Number of waiting requests whose head is complete. */
  count(): number {
    return Math.min(requestsIn(this.#join()).begun, this.#left);
  }

  #join(): Buffer {
    const pieces = this.#pieces;
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}

/** Only counts requests, at most as many as may be answered. */
function requestsIn(bytes: Buffer): { readonly begun: number; readonly whole: number } {
  const seen = { begun: 0, whole: 0 };
  const sink: RequestSink = {
    onHead(_head, isWhole) {
      seen.begun += 1;
      if (isWhole) seen.whole += 1;
    },
    onData() {},
    onEnd: () => void (seen.whole += 1),
  };
  const reader = new RequestReader(sink);
  let at = 0;
  while (at < bytes.length && seen.whole < MAX_WAITING && reader.problem === undefined) {
    at = reader.read(bytes, at, bytes.length);
  }
  return seen;
}
