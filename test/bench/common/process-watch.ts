/** What a short-lived process and those that it starts cost: processor time and memory, looked at while they run. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessCost {
  /** Of the process itself. */
  readonly ownCpuSeconds: number;
  /** Of all that it started, together. */
  readonly childrenCpuSeconds: number;
  /** Of the largest of those at its largest. */
  readonly childPeakMebibytes: number;
}

/** Linux counts processor time in these. */
const TICKS_PER_SECOND = 100;
const LOOK_EVERY_MS = 10;

/** Watches until `stop()`; zero everywhere without /proc. */
export function watchProcess(pid: number): { stop(): ProcessCost } {
  const cpuOf = new Map<number, number>();
  let peak = 0;
  const look = (): void => {
    cpuOf.set(pid, cpuSeconds(pid) ?? cpuOf.get(pid) ?? 0);
    for (const child of childrenOf(pid)) {
      cpuOf.set(child, cpuSeconds(child) ?? cpuOf.get(child) ?? 0);
      peak = Math.max(peak, peakMebibytes(child));
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      const own = cpuOf.get(pid) ?? 0;
      const all = [...cpuOf.values()].reduce((sum, seconds) => sum + seconds, 0);
      return { ownCpuSeconds: own, childrenCpuSeconds: all - own, childPeakMebibytes: Math.round(peak) };
    },
  };
}

/** User and system time; undefined when the process is gone. */
function cpuSeconds(pid: number): number | undefined {
  // Behind the name, which may hold anything, in parentheses.
  const fields = read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, "")
    .split(" ");
  const [user, system] = [Number(fields?.[11]), Number(fields?.[12])];
  return Number.isFinite(user + system) && user + system > 0 ? (user + system) / TICKS_PER_SECOND : undefined;
}

function peakMebibytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? 0) / 1024;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      (read(`/proc/${pid}/task/${task}/children`) ?? "").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
