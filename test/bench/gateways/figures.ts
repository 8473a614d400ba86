/** What a comparison found, as its JSON file has it. */
import type { Spread } from "../common/statistics.ts";
import type { Machine } from "../report/machine.ts";
import type { Containers } from "./containers/figures.ts";
import type { WorkName } from "./contender.ts";
import type { Tail } from "./tail/figures.ts";

/** Of one work with so many connections. */
export interface Cell {
  /** User and system time of all processes, a request; medians and quartiles of the rounds. */
  readonly cpuMicros: Spread;
  readonly requestsPerSecond: number;
  /** Microseconds, medians of the rounds. */
  readonly p50: number;
  readonly p99: number;
  readonly residentMebibytes: number;
  readonly requests: number;
  /** Connections that the upstream accepted meanwhile. */
  readonly upstreamConnections: number;
}

export interface WorkFigures {
  /** By number of connections. */
  readonly cells: Readonly<Record<string, Cell>>;
  /** Why there are none. */
  readonly missing?: string;
}

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly versions: readonly string[];
  readonly identity: string;
  readonly policy: string;
  readonly record: string;
  readonly notes: string;
  readonly showsAllTools: boolean;
  readonly isSlow: boolean;
  /** Why it was not measured at all. */
  readonly missing?: string;
  /** What was seen during the load that its row does not promise. */
  readonly remarks: readonly string[];
  readonly processes: number;
  readonly idleMillisPerSecond?: number;
  readonly works: Partial<Readonly<Record<WorkName, WorkFigures>>>;
}

/** When and where figures were made. */
export interface Run {
  /** ISO 8601. */
  readonly made: string;
  readonly command: string;
  readonly machine: Machine;
  readonly isQuick: boolean;
  readonly tookSeconds: number;
  readonly loadBefore: string;
  /** Of all cores, used by others before the first measurement and during all, 0 to 1. */
  readonly othersBefore: number;
  readonly othersMeanwhile: number;
}

export interface Comparison extends Run {
  readonly rounds: number;
  readonly seconds: number;
  readonly works: readonly {
    readonly name: WorkName;
    readonly title: string;
    readonly connections: readonly number[];
  }[];
  readonly rows: readonly Row[];
  /** Latency at fixed rates. */
  readonly tail?: Tail;
  readonly containers?: Containers;
}
