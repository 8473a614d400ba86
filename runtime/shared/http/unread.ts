/**
 * What a stream of node:http2 has taken in and nobody has read yet.
 *
 * Node keeps each DATA frame apart, as a view of the whole piece that came from the network. A body that nobody reads just
 * now may come in frames of one byte: 256 KiB of it, which the window allows, took 32 MiB each.
 */
import type { Readable } from "node:stream";

const MAX_PIECES = 32;
/** From here on a piece is worth what it takes. */
const LARGE_BYTES = 16_384;

/** As Node 20 and later keep it; test/hostile/http2-pieces.test.ts fails when that changes. */
interface ReadableState {
  buffer: Buffer[];
  bufferIndex: number;
  length: number;
}

const stateOf = (stream: Readable): ReadableState =>
  (stream as unknown as { readonly _readableState: ReadableState })._readableState;

/** Makes one piece of the latest small ones, once they are many. Call it when one has come. */
export function joinUnread(stream: Readable): void {
  const state = stateOf(stream);
  const { buffer, bufferIndex } = state;
  if (buffer.length - bufferIndex <= MAX_PIECES) return;
  let first = buffer.length;
  while (first > bufferIndex && (buffer[first - 1] as Buffer).length < LARGE_BYTES) first -= 1;
  if (buffer.length - first < 2) return;
  buffer.push(Buffer.concat(buffer.splice(first)));
}

/** Of a stream that is closed: it gives nothing out any more. */
export function takeUnread(stream: Readable): readonly Buffer[] {
  const state = stateOf(stream);
  return state.buffer.slice(state.bufferIndex);
}
