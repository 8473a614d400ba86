/** Figures of the curves, as their JSON file has them. */
import type { Spread } from "../common/statistics.ts";
import type { Machine } from "../report/machine.ts";

export interface CurveLine<Point> {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface CpuPoint {
  readonly x: number;
  readonly cpuMicros: Spread;
}

export interface MemoryPoint {
  readonly x: number;
  /** Resident, after a collection of garbage. */
  readonly mebibytes: number;
}

export interface CurveFigures {
  readonly name: string;
  /** Processor time a request, or of what the name of the line says. */
  readonly lines: readonly CurveLine<CpuPoint>[];
  readonly memory: readonly CurveLine<MemoryPoint>[];
}

export interface Curves {
  /** ISO 8601. */
  readonly made: string;
  readonly command: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly seconds: number;
  readonly isQuick: boolean;
  readonly tookSeconds: number;
  /** Of all cores, used by others before the first measurement and during all, 0 to 1. */
  readonly othersBefore: number;
  readonly othersMeanwhile: number;
  readonly curves: readonly CurveFigures[];
  /** Points that were not measured, and why. */
  readonly missing: readonly string[];
}
