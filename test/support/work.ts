/**
 * What work costs, in units that are measured in the same run: CPU time of this thread, so that neither a slow machine nor
 * busy neighbours change it. A unit is some 0.5 to 2 ms.
 */

/** In the nature of what a gateway does: texts, maps, JSON, sorting. */
function oneUnit(): number {
  const known = new Map<string, number>();
  for (let index = 0; index < 2000; index += 1) known.set(`name-${index * 7919}`, index);
  const text = JSON.stringify([...known]);
  const read = JSON.parse(text) as [string, number][];
  return read.sort(([one], [other]) => (one < other ? -1 : 1)).length + text.split(",").length;
}

export function cpuMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function costOf(work: () => unknown): number {
  const before = cpuMicros();
  work();
  return cpuMicros() - before;
}

let unit: number | undefined;

/** Systems that count CPU time in ticks show nothing of one run. */
const MEASURED_MICROS = 200_000;

/** In microseconds, as the mean of many. */
export function unitNow(): number {
  for (let index = 0; index < 20; index += 1) oneUnit();
  const before = cpuMicros();
  let runs = 0;
  let spent = 0;
  for (; spent < MEASURED_MICROS; runs += 1) {
    oneUnit();
    spent = cpuMicros() - before;
  }
  return spent / runs;
}

export function unitMicros(): number {
  return (unit ??= unitNow());
}

/** The cheaper of two runs: the first one pays for compilers and the collector. */
export function unitsOf(work: () => unknown): number {
  const micros = unitMicros();
  return Math.min(costOf(work), costOf(work)) / micros;
}
