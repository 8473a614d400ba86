/** Time steps in which traffic is stored, and the records of each. */
import { firstFormats } from "../store/formats.ts";

export interface Tier {
  /** Also the name of the range in an address. */
  readonly name: "1h" | "6h" | "48h";
  readonly stepSeconds: number;
  /** Number of steps in the range. */
  readonly steps: number;
}

export const TIERS: readonly [Tier, ...Tier[]] = [
  { name: "1h", stepSeconds: 60, steps: 60 },
  { name: "6h", stepSeconds: 300, steps: 72 },
  { name: "48h", stepSeconds: 1800, steps: 96 },
];

export const HEALTH_FORMATS = firstFormats(["health", "traffic"]);

/** Steps whose records are listed together. */
const BLOCK_STEPS = 15;

/** Start of the step that contains this second. */
export function stepOf({ stepSeconds }: Tier, seconds: number): number {
  return Math.floor(seconds / stepSeconds) * stepSeconds;
}

export interface TrafficRecord {
  readonly key: string;
  readonly tag: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** The record with one process's counts of one step. */
export function recordOf(tier: Tier, start: number, process: string): TrafficRecord {
  const block = blockOf(tier, start);
  return {
    key: `traffic:${tier.name}:${start}:${process}`,
    tag: block.tag,
    // The whole block, for as long as its first step may be requested together with earlier ones.
    expiresAt: block.end + tier.steps * tier.stepSeconds,
  };
}

export interface TierBlock {
  readonly tag: string;
  /** Epoch seconds. */
  readonly start: number;
  readonly end: number;
}

function blockOf({ name, stepSeconds }: Tier, seconds: number): TierBlock {
  const length = stepSeconds * BLOCK_STEPS;
  const start = Math.floor(seconds / length) * length;
  return { tag: `traffic:${name}:${start}`, start, end: start + length };
}

/** All blocks that overlap a range, the oldest first. */
export function blocksOf(tier: Tier, fromSeconds: number, untilSeconds: number): readonly TierBlock[] {
  const blocks: TierBlock[] = [];
  for (let at = fromSeconds; at < untilSeconds; at = (blocks.at(-1) as TierBlock).end) blocks.push(blockOf(tier, at));
  return blocks;
}
