/**
 * Ends clients that do not read what is sent to them. Such a client holds its connection, and with it the upstream's, as long
 * as TCP lives: its acknowledgements say that it is there, and that its window is closed.
 *
 * Clients are checked from time to time, so that a request pays nothing for it. A client that has read everything is idle,
 * not stalled, however long: event streams and WebSockets stay open.
 */
import { task } from "../shared/faults/guard.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface Writer {
  /** Bytes that were written to it and that the other side has not read. */
  readonly writableLength: number;
}

export interface StallOptions<T extends Writer> {
  /** Longest time without any progress. */
  readonly stallMs: number;
  /** All current writers. */
  readonly writers: () => Iterable<T>;
  /** Changes whenever bytes are read; called only for writers with bytes left. */
  readonly progressOf: (writer: T) => number | string;
  readonly onStall: (writer: T) => void;
}

/** Checks per `stallMs`: a stalled writer is ended at most one check late. */
const CHECKS = 5;

/** @returns stops the checks; with `stallMs` 0 there are none */
export function watchStalls<T extends Writer>(options: StallOptions<T>): () => void {
  const { stallMs, writers, progressOf, onStall } = options;
  if (stallMs === 0) return () => {};
  /** Writers with bytes left: their progress, and when it was first seen. */
  let stuck = new Map<T, { readonly progress: number | string; readonly sinceMs: number }>();
  const endStalled = task("the end of a stalled client", onStall);
  return recur("the look at stalled clients", Math.ceil(stallMs / CHECKS), () => {
    const nowMs = performance.now();
    const now: typeof stuck = new Map();
    for (const writer of writers()) {
      if (writer.writableLength === 0) continue;
      const progress = progressOf(writer);
      const before = stuck.get(writer);
      if (before?.progress !== progress) now.set(writer, { progress, sinceMs: nowMs });
      else if (nowMs - before.sinceMs < stallMs) now.set(writer, before);
      else endStalled(writer);
    }
    stuck = now;
  });
}
