/**
 * Bytes that arrive in pieces, stored until they are read as a whole.
 *
 * Untrusted input: how they are divided. A piece takes about 150 bytes of memory besides its own, and can keep the 64
 * KiB buffer that it was read with: a body in chunks of one byte took 100 times its size. Promise: small pieces are
 * joined, so that many take little more than their bytes.
 */
const SMALL_BYTES = 1024;
/** Number of small pieces in a row that are joined. */
const MANY = 256;

export class Pieces {
  readonly #pieces: Uint8Array[] = [];
  /** Start of the small ones at the end. */
  #firstSmall = 0;

  add(piece: Uint8Array): void {
    const pieces = this.#pieces;
    pieces.push(piece);
    if (piece.length < SMALL_BYTES) {
      if (pieces.length - this.#firstSmall < MANY) return;
      pieces.push(Buffer.concat(pieces.splice(this.#firstSmall)));
    }
    this.#firstSmall = pieces.length;
  }

  get count(): number {
    return this.#pieces.length;
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** The whole body of a message. The rest of a longer one is cancelled. @returns undefined when it is longer */
export async function readWhole(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const pieces = new Pieces();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    pieces.add(chunk);
  }
  return pieces.whole();
}
