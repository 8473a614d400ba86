/**
 * Returns the memory of short-lived objects to the system while a process is idle: 11 MiB after the start or a burst.
 *
 * V8 makes the young generation smaller when it collects it, and it collects it when it is full. An idle process fills it in
 * an hour. Node has no other way to ask for a collection than a flag of V8. A collection of an idle process takes 4 ms.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { recur } from "./recurring.ts";

const LOOK_EVERY_MS = 5_000;
/** A hundredth of the time, of all threads. V8 does not make the young generation smaller for a process that allocates much. */
const MAX_IDLE_CPU_MICROS = (LOOK_EVERY_MS * 1_000) / 100;
/** A smaller one is not worth a collection. */
const MIN_YOUNG_BYTES = 4 * 1024 * 1024;
/** V8 keeps free pages for 8 seconds, and returns them with the next collection. */
const LOOKS_UNTIL_RETURN = 2;

export interface IdleMemoryParts {
  /** Processor time of the process so far. */
  readonly cpuMicros: () => number;
  /** Memory that the young generation has taken from the system. */
  readonly youngBytes: () => number;
  readonly collect: () => void;
}

/** Called once, for as long as the process runs. Its start counts as activity. */
export function returnIdleMemory(): void {
  recur("the return of idle memory", LOOK_EVERY_MS, idleCollection());
}

/** @returns a look at what the process did since the last look */
export function idleCollection({ cpuMicros, youngBytes, collect }: IdleMemoryParts = REAL): () => void {
  let before = 0;
  let looksUntilReturn = 0;
  return () => {
    const now = cpuMicros();
    const isIdle = now - before < MAX_IDLE_CPU_MICROS;
    before = now;
    if (looksUntilReturn > 0) looksUntilReturn -= 1;
    else if (isIdle && youngBytes() >= MIN_YOUNG_BYTES) looksUntilReturn = LOOKS_UNTIL_RETURN;
    else return;
    if (looksUntilReturn === LOOKS_UNTIL_RETURN || looksUntilReturn === 0) collect();
  };
}

/** Collects the young generation of this thread. */
export function collectYoung(): void {
  collector ??= findCollector();
  collector({ type: "minor" });
}

type Collector = (options: { readonly type: "minor" }) => void;
let collector: Collector | undefined;

/** Only a context that is made while the flag is set has the function. */
function findCollector(): Collector {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as Collector;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}

/** Bytes in this thread: from the system, or used by objects. */
export function youngGeneration(of: "physical_space_size" | "space_used_size" = "physical_space_size"): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.[of] ?? 0;
}

const REAL: IdleMemoryParts = {
  cpuMicros() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  youngBytes: () => youngGeneration(),
  collect: collectYoung,
};
