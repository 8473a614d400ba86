/** Bytes that arrive in pieces: even one-byte pieces take no more space and time than their bytes. */
export class GrowingBytes {
  #room = NOTHING;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(length, 2 * this.#room.length));
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
    }
    piece.copy(this.#room, this.#length);
    this.#length = length;
  }

  /** Returns all bytes, and empties the buffer. */
  take(): Buffer {
    const bytes = this.#room.subarray(0, this.#length);
    this.#room = NOTHING;
    this.#length = 0;
    return bytes;
  }
}

const NOTHING = Buffer.alloc(0);
