/** What was found in small containers, as the JSON file has it. */
import type { Run } from "../figures.ts";

export interface ContainerSize {
  /** Of one core. */
  readonly cpus: number;
  readonly mebibytes: number;
}

/** Requests at one rate, or all at once. */
export interface ContainerStep {
  readonly ratePerSecond?: number;
  /** Of a burst. */
  readonly count?: number;
  readonly requests: number;
  /** With the right response. */
  readonly served: number;
  /** Others, by status ("503") or by why there is no response ("closed", "timeout"). */
  readonly failures: Readonly<Record<string, number>>;
  /** Milliseconds of served requests; absent with fewer than ten beyond it. */
  readonly p50?: number;
  readonly p99?: number;
  /** Largest working set: memory of the processes, and files in use. */
  readonly peakMebibytes: number;
  readonly isKilled: boolean;
}

export interface ContainerRow {
  readonly name: string;
  readonly title: string;
  readonly size: ContainerSize;
  /** Why it does not run. */
  readonly missing?: string;
  /** Until it listens. */
  readonly startSeconds?: number;
  /** It was at its limit and killed before or while it was measured. */
  readonly kills: number;
  readonly steps: readonly ContainerStep[];
}

export interface Containers {
  readonly run: Run;
  /** Why nothing was measured. */
  readonly missing?: string;
  readonly timeoutSeconds: number;
  /** Of the disk. */
  readonly readAheadKibibytes?: number;
  readonly rows: readonly ContainerRow[];
}
