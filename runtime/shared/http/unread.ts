/**
 * Data that a node:http2 stream has received and that has not been read.
 *
 * Node stores each DATA frame separately, as a view of the whole piece that came from the network. An unread body may
 * come in frames of one byte: 256 KiB, which the window allows, took 32 MiB.
 */
import type { Readable } from "node:stream";

const MAX_PIECES = 32;
/** From this size on, a piece is worth the memory it takes. */
const LARGE_BYTES = 16_384;

/** Internal state of Node 20 and later; test/hostile/http2-pieces.test.ts fails when it changes. */
interface ReadableState {
  buffer: Buffer[];
  bufferIndex: number;
  length: number;
}

const stateOf = (stream: Readable): ReadableState =>
  (stream as unknown as { readonly _readableState: ReadableState })._readableState;

/** Joins the latest small pieces once there are many. Call it after each piece. */
export function joinUnread(stream: Readable): void {
  const state = stateOf(stream);
  const { buffer, bufferIndex } = state;
  if (buffer.length - bufferIndex <= MAX_PIECES) return;
  let first = buffer.length;
  while (first > bufferIndex && (buffer[first - 1] as Buffer).length < LARGE_BYTES) first -= 1;
  if (buffer.length - first < 2) return;
  buffer.push(Buffer.concat(buffer.splice(first)));
}

/** Data of a closed stream, which no longer emits it. */
export function takeUnread(stream: Readable): readonly Buffer[] {
  const state = stateOf(stream);
  return state.buffer.slice(state.bufferIndex);
}
