/**
 * Clients that take nothing of what is sent to them. Such a client holds its connection, and with it the upstream's, for
 * as long as TCP lives: its acknowledgements say that it is there, and that its window is closed.
 *
 * Looked at from time to time, so that a request pays nothing for it. Who has taken everything is idle, not stalled,
 * however long: event streams and WebSockets live on.
 */
import { task } from "../shared/faults/guard.ts";
export interface Writer {
  /** Bytes that were given to it and not taken by the other side's. */
  readonly writableLength: number;
}

export interface StallOptions<T extends Writer> {
  /** Longest time without any progress. */
  readonly stallMs: number;
  /** All there are now. */
  readonly writers: () => Iterable<T>;
  /** Changes whenever bytes are taken; asked only of writers that have some left. */
  readonly progressOf: (writer: T) => number | string;
  /** Ends it. */
  readonly onStall: (writer: T) => void;
}

/** Parts of the time after which somebody looks: what has stalled is ended at most one of them late. */
const LOOKS = 5;

/** @returns stops looking; with a time of 0 nobody looks */
export function watchStalls<T extends Writer>(options: StallOptions<T>): () => void {
  const { stallMs, writers, progressOf, onStall } = options;
  if (stallMs === 0) return () => {};
  /** Of writers with bytes left: how far they were, and since when. */
  let stuck = new Map<T, { readonly progress: number | string; readonly sinceMs: number }>();
  const endStalled = task("the end of a stalled client", onStall);
  const look = task("the look at stalled clients", (): void => {
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
  const timer = setInterval(look, Math.ceil(stallMs / LOOKS));
  timer.unref();
  return () => clearInterval(timer);
}
