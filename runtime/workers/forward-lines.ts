/**
 * Authorization records of several workers on one standard output.
 *
 * Workers write batches, and the kernel may mix the writes of several processes to one pipe in the middle of a line. So
 * they write to the supervisor, which passes on whole lines. It stops reading while its output is blocked, and the
 * workers' own bounded queues do the rest.
 */
import type { Readable, Writable } from "node:stream";
import { task } from "../shared/faults/guard.ts";

const LINE_END = 0x0a;

/** @returns a promise that resolves when everything received is passed on */
export function forwardLines(from: Readable, to: Writable): Promise<void> {
  let partial: Buffer[] = [];
  return new Promise((resolve) => {
    from.on(
      "data",
      task("the output of a worker", (chunk: Buffer) => {
        const end = chunk.lastIndexOf(LINE_END) + 1;
        if (end === 0) {
          partial.push(chunk);
          return;
        }
        const lines = Buffer.concat([...partial, chunk.subarray(0, end)]);
        partial = end < chunk.length ? [chunk.subarray(end)] : [];
        from.pause();
        // A closed output must not prevent the workers from ending.
        to.write(lines, () => from.resume());
      }),
    );
    from.once(
      "close",
      task("the output of a worker", () => {
        // A worker was killed in the middle of a line: the next line must start on its own.
        if (partial.length > 0) to.write(Buffer.concat([...partial, Buffer.from("\n")]));
        resolve();
      }),
    );
  });
}
