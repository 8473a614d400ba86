/** What two checkouts' figures say, and how surely. Pure. */
import { medianInterval, pairedRatios, type Spread, spreadOf } from "../common/statistics.ts";

/** So many times the old processor time a request. */
export const MOST = 1.05;

export interface GuardFigure {
  readonly title: string;
  readonly old: Spread;
  readonly now: Spread;
  /** Round by round, the new over the old. */
  readonly ratio: Spread;
  /** Of the ratio's median. */
  readonly interval: { readonly low: number; readonly high: number };
}

/** What was measured while both were running since the same start; CPU µs a request, a value for each round. */
export interface Start {
  readonly old: readonly number[];
  readonly now: readonly number[];
}

export function judge(title: string, starts: readonly Start[]): GuardFigure {
  const ratios = starts.map(({ old, now }) => pairedRatios(now, old));
  return {
    title,
    old: spreadOf(starts.flatMap(({ old }) => old)),
    now: spreadOf(starts.flatMap(({ now }) => now)),
    ratio: spreadOf(ratios.flat()),
    interval: medianInterval(ratios),
  };
}

/** The median decides; the interval says whether another run would say the same. */
export function verdictOf({ ratio, interval }: GuardFigure): string {
  if (ratio.median > MOST) {
    return interval.low > MOST ? "slower, surely" : "slower, not surely: more rounds would tell";
  }
  if (interval.high > MOST) return "within 5 %, not surely: more rounds would tell";
  if (interval.high < 1) return "faster, surely";
  return "within 5 %, surely";
}
