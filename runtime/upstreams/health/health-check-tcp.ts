/**
 * A health check by connecting, and optionally by exchanged bytes.
 *
 * Untrusted input: the upstream's bytes, compared and dropped; at most `MAX_ANSWER_BYTES` of them are read.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { TcpProbe } from "../../features/balancing/compiled.ts";
import { openUpstreamSocket } from "../upstream-socket.ts";
import { errorText } from "../../shared/errors.ts";
import { guard } from "../../shared/faults/guard.ts";
import type { CheckDone } from "./check-budget.ts";

const MAX_ANSWER_BYTES = 65_536;

/** @returns cancels the check */
export function checkTcp(upstream: Upstream, probe: TcpProbe, over: CheckDone): () => void {
  const { socket, ready } = openUpstreamSocket(upstream);
  const expected = probe.receive.map((hex) => Buffer.from(hex, "hex"));
  const find = createFinder(expected);
  let bytes = 0;
  const end = (error: string): void => {
    over(error);
    socket.destroy();
  };
  const owner = { broke: (error: unknown) => end(errorText(error)) };
  socket.once(
    ready,
    guard(owner, () => {
      if (probe.send !== undefined) socket.write(Buffer.from(probe.send, "hex"));
      if (expected.length === 0) end("");
    }),
  );
  socket.on(
    "data",
    guard(owner, (chunk: Buffer) => {
      bytes += chunk.length;
      if (find(chunk) === expected.length) end("");
      else if (bytes > MAX_ANSWER_BYTES)
        end(`the answer is longer than ${MAX_ANSWER_BYTES} bytes without what is expected`);
    }),
  );
  socket.once(
    "end",
    guard(owner, () =>
      end(`the upstream closed the connection after ${find(NOTHING)} of ${expected.length} expected parts`),
    ),
  );
  socket.on(
    "error",
    guard(owner, (error: Error) => end(error.message)),
  );
  return () => socket.destroy();
}

const NOTHING = Buffer.alloc(0);

/** Searches parts in order, with any bytes between them. @returns the number of parts found so far */
export function createFinder(parts: readonly Buffer[]): (chunk: Buffer) => number {
  let found = 0;
  let tail = NOTHING;
  return (chunk) => {
    let bytes = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    let part = parts[found];
    while (part !== undefined) {
      const at = bytes.indexOf(part);
      if (at === -1) break;
      bytes = bytes.subarray(at + part.length);
      part = parts[(found += 1)];
    }
    // A part may begin in one chunk and end in the next.
    const kept = Math.min(bytes.length, (part?.length ?? 1) - 1);
    tail = Buffer.from(bytes.subarray(bytes.length - kept));
    return found;
  };
}
