/**
 * The body of one response on its way from a connection's reads to its receiver.
 *
 * Small pieces of one read are passed on together; otherwise each would cost the client's side a write. Short bodies are
 * copied out of the buffer that all connections read into. A long body is read into a separate buffer and passed on in it.
 * The next read gets a new buffer unless the receiver has released the bytes. Memory outside V8's heap is expensive: some
 * hundred buffers of it make V8 mark the whole heap, which was more than half of the cost of a long download.
 *
 * Promise: no bytes are overwritten while a receiver may still read them.
 */
import type { UpstreamReceiver } from "../transport-types.ts";

/** The system's maximum for one read: after a read of this size, more may be available. */
export const READ_BYTES = 65_536;
/** Reads of this size are passed on in their own buffer. Less is copied: it would keep a whole buffer for little data. */
export const LONG_READ_BYTES = READ_BYTES / 4;
/** Free buffers of bodies that have ended. */
const MAX_SPARE = 16;
const spare: Buffer[] = [];

export class AnswerBytes {
  /** Piece of the current read, not passed on yet. */
  #piece: Buffer | undefined = undefined;
  #pieces: Buffer[] | undefined = undefined;
  /** Buffer of the current or next read; no receiver holds it. */
  #own: Buffer | undefined = undefined;
  /** The last buffer of this body that a receiver holds. */
  #lent: Buffer | undefined = undefined;
  #isLongRead = false;
  #isLongBody = false;

  /** @param piece of the read; only valid until the next read */
  add(piece: Buffer): void {
    if (this.#piece === undefined) this.#piece = piece;
    else (this.#pieces ??= [this.#piece]).push(piece);
  }

  /** Discards the added pieces. */
  drop(): void {
    this.#piece = undefined;
    this.#pieces = undefined;
  }

  /** Starts a read. */
  begin(length: number): void {
    this.#isLongRead = length >= LONG_READ_BYTES;
  }

  /** @param isOurs the bytes are in memory that is not read into again */
  handOn(receiver: Pick<UpstreamReceiver, "onData"> | undefined, isOurs: boolean): void {
    const piece = this.#piece;
    if (piece === undefined) return;
    const bytes = this.#pieces === undefined ? piece : joinInPlace(this.#pieces);
    this.drop();
    if (isOurs) receiver?.onData(bytes);
    else if (!this.#isLongRead) receiver?.onData(Buffer.from(bytes));
    else if (receiver?.onData(this.#inOwn(bytes)) !== true) {
      this.#lent = this.#own;
      this.#own = undefined;
    }
  }

  /** The body has ended. @param isReleased its receivers no longer read its bytes */
  over(isReleased: boolean): void {
    if (isReleased && this.#lent !== undefined) keepSpare(this.#lent);
    this.#lent = undefined;
  }

  /**
   * The buffer for the next read. @param goesOn the read continues the body of this response @param shared by all connections
   */
  bufferFor(shared: Buffer, goesOn: boolean): Buffer {
    if (goesOn && this.#isLongBody) return (this.#own ??= takeBuffer());
    this.#isLongBody = false;
    if (this.#own !== undefined) keepSpare(this.#own);
    this.#own = undefined;
    return shared;
  }

  #inOwn(bytes: Buffer): Buffer {
    this.#isLongBody = true;
    // The bytes were read into it.
    if (this.#own !== undefined) return bytes;
    this.#own = takeBuffer();
    bytes.copy(this.#own);
    return this.#own.subarray(0, bytes.length);
  }
}

function keepSpare(buffer: Buffer): void {
  if (spare.length < MAX_SPARE) spare.push(buffer);
}

function takeBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
}

/** Joins without allocation: the pieces are in one buffer, in order, and the bytes between them have been read. */
function joinInPlace([first, ...rest]: readonly Buffer[]): Buffer {
  const { buffer, byteOffset, length } = first as Buffer;
  const all = new Uint8Array(buffer, byteOffset);
  let end = length;
  for (const piece of rest) {
    all.set(piece, end);
    end += piece.length;
  }
  return Buffer.from(buffer, byteOffset, end);
}
