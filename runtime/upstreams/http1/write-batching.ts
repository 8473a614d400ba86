/**
 * Requests on connections that were free for a while leave together, once all that had arrived by then was read.
 *
 * One look at the sockets may bring a client's request and, on the connection that it gets, an answer that nobody asked
 * for or the upstream's farewell: written at once, the request would take the first for its own and be lost to the second.
 * Costs one immediate for all requests of one turn of the event loop, and no time: what they wait for is our own work, and
 * their answers could not be read before it is done.
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
