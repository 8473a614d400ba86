/** Latency at fixed rates, as the JSON file has it. */
import type { WorkName } from "../contender.ts";
import type { Run } from "../figures.ts";

/** "own": half of what the gateway can serve. "common": a rate for all that can serve it. */
export type RateKind = "own" | "common";

export interface TailCell {
  readonly work: WorkName;
  readonly kind: RateKind;
  readonly ratePerSecond: number;
  /** Of all rounds. */
  readonly requests: number;
  readonly errors: number;
  /** Milliseconds by share ("0.999"); without percentiles with fewer than ten requests beyond them. */
  readonly millis: Readonly<Record<string, number>>;
  /** How much too late the client itself sent requests: p99, milliseconds. */
  readonly latenessMillis: number;
}

export interface TailRow {
  readonly name: string;
  readonly title: string;
  /** Why it was not measured. */
  readonly missing?: string;
  /** Requests a second without a fixed rate. */
  readonly saturation: Partial<Readonly<Record<WorkName, number>>>;
  readonly cells: readonly TailCell[];
}

export interface Tail {
  readonly run: Run;
  readonly rounds: number;
  readonly connections: number;
  readonly rows: readonly TailRow[];
}
