/**
 * Writes to a node:http2 stream, also bounded by their number. Node counts only bytes, and needs 100 bytes or more for
 * each one-byte write that a slow peer has not read.
 */
import type { Writable } from "node:stream";

const MAX_WRITES = 256;

export class PendingWrites {
  readonly #stream: Writable;
  #pending = 0;
  #isAwaited = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** @returns false when the caller must wait for the stream's "drain" */
  write(chunk: Buffer | string): boolean {
    this.#pending += 1;
    const takesMore = this.#stream.write(chunk, this.#left);
    if (!takesMore || this.#pending <= MAX_WRITES) return takesMore;
    this.#isAwaited = true;
    return false;
  }

  readonly #left = (): void => {
    this.#pending -= 1;
    if (!this.#isAwaited || this.#pending > 0) return;
    this.#isAwaited = false;
    // The stream itself still had space, so it emits nothing.
    if (!this.#stream.destroyed && !this.#stream.writableNeedDrain) this.#stream.emit("drain");
  };
}
