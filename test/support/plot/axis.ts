/** Axes whose values differ by factors, with round numbers close around them. Pure. */
import type { Scale } from "../../../runtime/pages/console/charts/scale.ts";

const MOST_TICKS = 9;

/** From the next of 1, 2, 5, 10, 20 … below the lowest value to the next above the highest one. */
export function factorScale(lowest: number, highest: number): Scale {
  if (!(lowest > 0)) throw new RangeError(`Cannot place ${lowest} on an axis of factors, must be above 0`);
  const series: number[] = [];
  for (let power = Math.floor(Math.log10(lowest)); series.length < 100; power += 1) {
    for (const factor of [1, 2, 5]) series.push(Number((factor * 10 ** power).toPrecision(6)));
    if ((series.at(-2) ?? 0) >= highest) break;
  }
  const first = series.findLastIndex((value) => value <= lowest * (1 + 1e-9));
  let last = series.findIndex((value) => value >= highest * (1 - 1e-9));
  if (last <= first) last = first + 1;
  const ticks = series.slice(first, last + 1);
  const [from, to] = [Math.log(ticks[0] ?? 1), Math.log(ticks.at(-1) ?? 10)];
  return {
    ticks: ticks.length <= MOST_TICKS ? ticks : ticks.filter((value) => Number.isInteger(round9(Math.log10(value)))),
    place: (value) => Math.min(1, Math.max(0, (Math.log(Math.max(value, Number.MIN_VALUE)) - from) / (to - from))),
  };
}

function round9(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}
