/** Rounds over several cases in turn, so that a slow minute of the machine hits all alike. */
import { cpuNanoseconds } from "./cpu.ts";
import type { LoadResult } from "./load.ts";

export interface Case {
  readonly name: string;
  /** Whose processor time counts, its children's included. */
  readonly pid: number;
  run(durationMs: number): Promise<LoadResult>;
}

/** A value for each round. */
export interface Samples {
  readonly name: string;
  readonly cpuMicros: readonly number[];
  readonly requestsPerSecond: readonly number[];
  readonly p50: readonly number[];
  readonly p99: readonly number[];
  /** Of all rounds. */
  readonly errors: number;
}

export interface RoundsOptions {
  readonly rounds: number;
  readonly durationMs: number;
  /** Before the first round; default 1 s. */
  readonly warmUpMs?: number;
  /** Each second round goes over the cases from the last one to the first. */
  readonly isMirrored?: boolean;
  /** All cases run at the same time instead of in turn: what the machine does within milliseconds hits all alike. */
  readonly isTogether?: boolean;
}

export async function measureRounds(cases: readonly Case[], options: RoundsOptions): Promise<readonly Samples[]> {
  const { rounds, durationMs, warmUpMs = 1000, isMirrored = false, isTogether = false } = options;
  const all = cases.map(({ name }) => ({
    name,
    cpuMicros: [] as number[],
    requestsPerSecond: [] as number[],
    p50: [] as number[],
    p99: [] as number[],
    errors: 0,
  }));
  const order = cases.map((each, index) => ({ each, row: all[index] }));
  for (let round = warmUpMs > 0 ? -1 : 0; round < rounds; round += 1) {
    const measure = async ({ each, row }: (typeof order)[number]): Promise<void> => {
      const before = cpuNanoseconds(each.pid);
      const result = await each.run(round < 0 ? warmUpMs : durationMs);
      const cpu = cpuNanoseconds(each.pid) - before;
      if (round < 0 || row === undefined) return;
      row.cpuMicros.push(cpu / 1000 / Math.max(1, result.requests));
      row.requestsPerSecond.push(result.requests / result.seconds);
      row.p50.push(result.p50);
      row.p99.push(result.p99);
      row.errors += result.errors;
    };
    if (isTogether) await Promise.all(order.map(measure));
    else for (const each of isMirrored && round % 2 === 1 ? order.toReversed() : order) await measure(each);
  }
  return all;
}
