/**
 * Put before a gateway's program (`node --import`): watches the main thread's event loop and writes what it saw where it is
 * told. A signal ends one window and begins the next.
 *
 * LOOP_WATCH: a directory, for one file of each process.
 */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

export interface LoopWindow {
  /** How many windows ended; the first has 1. */
  readonly number: number;
  /** Longest time that the loop was not there for anybody, milliseconds. */
  readonly stallMs: number;
  /** Processor time of the longest turn: the part that is not somebody else's processes. */
  readonly busyMs: number;
  /** Longest collection of garbage. */
  readonly collectionMs: number;
}

const directory = process.env["LOOP_WATCH"];
if (isMainThread && directory !== undefined) watch(directory);

function watch(into: string): void {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let number = 0;
  let [busyMs, collectionMs] = [0, 0];
  let last = cpuMs();
  setInterval(() => {
    const now = cpuMs();
    busyMs = Math.max(busyMs, now - last);
    last = now;
  }, 1).unref();
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collectionMs = Math.max(collectionMs, duration);
  });
  collections.observe({ entryTypes: ["gc"] });
  process.on("SIGUSR2", () => {
    number += 1;
    const seen: LoopWindow = { number, stallMs: delay.max / 1e6, busyMs, collectionMs };
    delay.reset();
    [busyMs, collectionMs] = [0, 0];
    const file = join(into, String(process.pid));
    writeFileSync(`${file}.tmp`, JSON.stringify(seen));
    renameSync(`${file}.tmp`, file);
  });
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
