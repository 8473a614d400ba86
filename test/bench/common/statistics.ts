/** What is said of several values of one quantity. Pure. */
import { median } from "./table.ts";

export interface Spread {
  readonly median: number;
  /** Quartiles: half of the values lie between them. */
  readonly low: number;
  readonly high: number;
}

/** By linear interpolation between the values beside it. @param share 0 to 1 */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("Cannot tell a quantile of no values");
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? 0;
  return below + ((sorted[Math.ceil(at)] ?? below) - below) * (at - Math.floor(at));
}

/** Fewer tell nothing of what is beyond them. */
const BEYOND = 10;

/** @returns undefined with fewer than ten values beyond it */
export function percentileOf(values: readonly number[], share: number): number | undefined {
  return Math.floor(values.length * (1 - share) + 1e-6) < BEYOND ? undefined : quantile(values, share);
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}

/** Of values that were measured side by side, so that what the machine did to a pair of them falls out. */
export function pairedRatios(above: readonly number[], below: readonly number[]): readonly number[] {
  if (above.length !== below.length) {
    throw new RangeError(`Cannot pair ${above.length} values with ${below.length}`);
  }
  return above.map((value, index) => value / (below[index] ?? Number.NaN));
}

const DRAWS = 2_000;

/**
 * Between what the median of such values lies in 95 of 100 cases. Values of one group have something in common (a process that
 * was started once): groups are drawn again and again, then values from each. The same values give the same answer.
 */
export function medianInterval(groups: readonly (readonly number[])[]): {
  readonly low: number;
  readonly high: number;
} {
  let state = 0x2545f491;
  const random = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const draw = <T>(from: readonly T[]): readonly T[] => from.map(() => from[Math.floor(random() * from.length)] as T);
  const medians = Array.from({ length: DRAWS }, () => median(draw(groups).flatMap(draw)));
  return { low: quantile(medians, 0.025), high: quantile(medians, 0.975) };
}

/** What each more of `x` adds to `y`, by least squares. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const across = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  return across / points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
}
