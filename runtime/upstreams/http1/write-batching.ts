/**
 * Delays requests on connections that were idle, until all input that had arrived by then was read.
 *
 * One poll of the sockets may return a client's request and, on the connection that it gets, an unsolicited response or the
 * upstream's close. Written immediately, the request would take that response as its own, or be lost with the connection.
 * Costs one immediate for all requests of one turn of the event loop, and no time: they wait for our own work, before which
 * their responses could not be read.
 */
import { guardEach, type Guarded } from "../../shared/faults/guard.ts";

let waiting: BatchedWriter[] = [];

export interface BatchedWriter extends Guarded {
  writeNow(): void;
}

export function writeSoon(writer: BatchedWriter): void {
  if (waiting.push(writer) === 1) setImmediate(writeAll);
}

function writeAll(): void {
  const all = waiting;
  waiting = [];
  for (const each of all) writeOne(each);
}

const writeOne = guardEach((writer: BatchedWriter) => writer.writeNow());
