/**
 * CPU time of work, in units that are measured in the same run: time of this thread, so that neither a slow host nor other
 * processes change it. A unit is about 0.5 to 2 ms.
 */

/** In the nature of what a gateway does: texts, maps, JSON, sorting. */
function oneUnit(): number {
  const known = new Map<string, number>();
  for (let index = 0; index < 2000; index += 1) known.set(`name-${index * 7919}`, index);
  const text = JSON.stringify([...known]);
  const read = JSON.parse(text) as [string, number][];
  return read.sort(([one], [other]) => (one < other ? -1 : 1)).length + text.split(",").length;
}

/** CPU time of this thread, with a resolution of about 1 µs. */
export function cpuMicros(): number {
  // Linux updates the thread's own counter at ticks of 4 ms, and whenever a process reads the sum of its threads.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function costOf(work: () => unknown): number {
  const before = cpuMicros();
  work();
  return cpuMicros() - before;
}

/** Long enough for systems that count CPU time in ticks only. */
const BATCH_MICROS = 40_000;
const BATCHES = 3;

/** In microseconds, the cheapest of some batches: neighbours that share caches or a core make all work dearer for a while. */
export function unitNow(): number {
  for (let index = 0; index < 20; index += 1) oneUnit();
  return Math.min(...Array.from({ length: BATCHES }, meanOfBatch));
}

function meanOfBatch(): number {
  const before = cpuMicros();
  let runs = 0;
  let spent = 0;
  for (; spent < BATCH_MICROS; runs += 1) {
    oneUnit();
    spent = cpuMicros() - before;
  }
  return spent / runs;
}

const UNIT = Symbol.for("gateway.test.unit-micros");
/** Shared in the process: measured once, although Vitest loads set-up files as separate modules. */
const measured = globalThis as unknown as { [UNIT]?: number };

export function unitMicros(): number {
  return (measured[UNIT] ??= unitNow());
}

/** After the first, which pays for compilers and the collector. */
const MORE_RUNS = 4;

/**
 * Cost of the cheapest of several runs, in units; no more runs than needed to get below the limit. Real cost shows in every
 * run, and a busy host's addition does not.
 */
export function unitsOf(work: () => unknown, mostUnits: number): number {
  let units = costOf(work) / unitMicros();
  for (let run = 0; run < MORE_RUNS && units >= mostUnits; run += 1) {
    const micros = costOf(work);
    // Measure the unit again, right after: the host may be slower than when the process began.
    units = Math.min(units, micros / unitMicros());
    if (units >= mostUnits) units = Math.min(units, micros / unitNow());
  }
  return units;
}
