/**
 * Cancels streams to upstreams, with RST_STREAM (CANCEL).
 *
 * Not by `close()`: node:http2 ends the body first, and half of one would look complete. And not immediately: Node 26 aborts
 * the process, with corrupted nghttp2 memory, when a stream is reset in the turn of the event loop in which its connection
 * was written to, and the peer also resets it. Writes of that turn have left when this phase of the next one begins, and no
 * other code of ours writes to these connections in it (pool.ts).
 */
import type { ClientHttp2Stream } from "node:http2";
import { addAbortSignal, PassThrough } from "node:stream";
import { ignore } from "../../shared/ignore.ts";
import { task } from "../../shared/faults/guard.ts";

let queued: ClientHttp2Stream[] = [];

export function resetSoon(stream: ClientHttp2Stream): void {
  if (queued.push(stream) === 1) setImmediate(resetAll);
}

function resetAll(): void {
  const all = queued;
  queued = [];
  for (const stream of all) resetOne(stream);
}

const resetOne = task("the reset of a stream", (stream: ClientHttp2Stream): void => {
  if (!stream.destroyed) stream.destroy(CANCELLED);
});

/** The only error for which node:http2 sends CANCEL: the one of an AbortSignal. */
const CANCELLED = cancelledError();

function cancelledError(): Error {
  const stream = new PassThrough();
  stream.on("error", ignore);
  addAbortSignal(AbortSignal.abort(), stream);
  return stream.errored ?? new Error("cancelled");
}
