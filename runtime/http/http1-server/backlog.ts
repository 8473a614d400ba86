/**
 * What a client has sent behind a request that is not answered yet: bytes, to be read when it is their turn.
 *
 * Promises: bounded in bytes and requests. Of more, those that had come whole are answered, the last of them is told `close`, and
 * all behind is as if it had never come (RFC 9112 §9.3.2).
 */
import { RequestReader, type RequestSink } from "./request-reader.ts";

/** More than that is not kept, but for the piece that makes it more. */
const MAX_BYTES = 65_536;
/** What a piece costs beside its bytes, about: they may come one by one. */
const PIECE_BYTES = 128;
/** So many of those that waited together are answered. */
const MAX_WAITING = 32;

export class Backlog {
  #pieces: Buffer[] = [];
  #size = 0;
  /** Bytes that were taken last. */
  #taken = 0;
  /** What is left of the bytes that waited together. */
  #together = 0;
  /** Requests that began out of them. */
  #begun = 0;
  /** So many may still begin. */
  #left = Infinity;

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** What is held, with what pieces cost. */
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

  /** All of it, for the next request. */
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

  /** What the request did not need of it. */
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

  /** Takes nothing more. @returns false when no request has come whole */
  close(): boolean {
    const bytes = this.#join();
    this.#pieces = [bytes];
    this.#left = requestsIn(bytes).whole;
    return this.#left > 0;
  }

  /** How many requests wait: their heads have come. */
  count(): number {
    return Math.min(requestsIn(this.#join()).begun, this.#left);
  }

  #join(): Buffer {
    const pieces = this.#pieces;
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}

/** Nothing else is done about them. More than may be answered are not counted. */
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
