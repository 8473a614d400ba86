/**
 * Gives streams to upstreams up, with RST_STREAM (CANCEL).
 *
 * Not by `close()`: node:http2 ends the body first, and half of one would look whole. And not at once: Node 26 aborts the
 * process, its memory of nghttp2 spoilt, when a stream is reset in the turn of the event loop in which its connection was
 * written to, and the peer resets it, too. What was written in the turn has left when this phase of the next one begins, and
 * nothing else of ours writes to these connections in it (pool.ts).
 */
import type { ClientHttp2Stream } from "node:http2";
import { addAbortSignal, PassThrough } from "node:stream";
import { ignore } from "../../shared/ignore.ts";
import { task } from "../../shared/faults/guard.ts";

let given: ClientHttp2Stream[] = [];

export function resetSoon(stream: ClientHttp2Stream): void {
  if (given.push(stream) === 1) setImmediate(resetAll);
}

function resetAll(): void {
  const all = given;
  given = [];
  for (const stream of all) resetOne(stream);
}

const resetOne = task("the reset of a stream", (stream: ClientHttp2Stream): void => {
  if (!stream.destroyed) stream.destroy(CANCELLED);
});

/** What node:http2 says CANCEL for, and no other error: the one that an AbortSignal makes. */
const CANCELLED = cancelledError();

function cancelledError(): Error {
  const stream = new PassThrough();
  stream.on("error", ignore);
  addAbortSignal(AbortSignal.abort(), stream);
  return stream.errored ?? new Error("cancelled");
}
