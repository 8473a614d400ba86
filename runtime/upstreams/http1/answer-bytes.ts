/**
 * The body of one answer on its way from what a connection reads to whoever receives it.
 *
 * Small pieces of a read go on together, or each would cost the client's side a write. What is short is copied out of the buffer
 * that all connections read into. A long body is read into a buffer of its own instead, and goes on in it; another one
 * follows unless the receiver says that nobody holds on to the bytes any more. Memory outside V8's heap is dear: some
 * hundred buffers of it make V8 mark the whole heap, which was more than half of what a long download cost.
 *
 * Promise: no byte is read over while anybody may still look at it.
 */
import type { UpstreamReceiver } from "../transport-types.ts";

/** As long as what the system gives at once: a read of so much may have left more behind. */
export const READ_BYTES = 65_536;
/** So much at once is handed on in the buffer that it was read into; less would keep a whole buffer for little. */
const LONG_READ_BYTES = READ_BYTES / 4;
/** Buffers that nobody holds on to, of bodies that have ended. */
const MAX_SPARE = 16;
const spare: Buffer[] = [];

export class AnswerBytes {
  /** Of the present read, not yet handed on. */
  #piece: Buffer | undefined = undefined;
  #pieces: Buffer[] | undefined = undefined;
  /** Read into now or next; nobody else holds on to it. */
  #own: Buffer | undefined = undefined;
  #isLongRead = false;
  #isLongBody = false;

  /** @param piece of what was read; only valid until the next read */
  add(piece: Buffer): void {
    if (this.#piece === undefined) this.#piece = piece;
    else (this.#pieces ??= [this.#piece]).push(piece);
  }

  /** Nobody waits for what was added. */
  drop(): void {
    this.#piece = undefined;
    this.#pieces = undefined;
  }

  /** A read begins. */
  begin(length: number): void {
    this.#isLongRead = length >= LONG_READ_BYTES;
  }

  /** @param isOurs what was read lies in memory that nothing is read into again */
  handOn(receiver: Pick<UpstreamReceiver, "onData"> | undefined, isOurs: boolean): void {
    const piece = this.#piece;
    if (piece === undefined) return;
    const bytes = this.#pieces === undefined ? piece : joinInPlace(this.#pieces);
    this.drop();
    if (isOurs) receiver?.onData(bytes);
    else if (!this.#isLongRead) receiver?.onData(Buffer.from(bytes));
    else if (receiver?.onData(this.#inOwn(bytes)) !== true) this.#own = undefined;
  }

  /** Where the next read goes. @param goesOn with the body of this answer @param shared by all connections */
  bufferFor(shared: Buffer, goesOn: boolean): Buffer {
    if (goesOn && this.#isLongBody) return (this.#own ??= takeBuffer());
    this.#isLongBody = false;
    if (this.#own !== undefined && spare.length < MAX_SPARE) spare.push(this.#own);
    this.#own = undefined;
    return shared;
  }

  #inOwn(bytes: Buffer): Buffer {
    this.#isLongBody = true;
    // It was read there.
    if (this.#own !== undefined) return bytes;
    this.#own = takeBuffer();
    bytes.copy(this.#own);
    return this.#own.subarray(0, bytes.length);
  }
}

function takeBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
}

/** Without memory for it: they lie in one buffer, in this order, and what lies between has been read. */
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
