/** Paths of charts, one for each series. A step is 10 wide; the scale of the axis is TOP_Y high, with zero at the bottom. Pure. */
import type { Scale } from "./scale.ts";

/** More than any chart has pixels, so that whole numbers are fine enough. */
export const TOP_Y = 400;
const STEP_X = 10;

type Values = readonly (number | undefined)[];

/** Upright lines from the sums below, one for each value above zero; as wide as a column by the style. */
export function columnPath(values: Values, below: readonly number[], scale: Scale): string {
  const drawn = values.map((value, index) => {
    if (value === undefined || value <= 0) return "";
    const bottom = yOf(scale.place(below[index] ?? 0));
    // One of thousands must be visible.
    const height = Math.max(2, bottom - yOf(scale.place((below[index] ?? 0) + value)));
    return `M${index * STEP_X + STEP_X / 2} ${bottom}v${-height}`;
  });
  return drawn.join("");
}

/** @param place share of the height, 0 to 1 */
export function linePath(values: Values, place: (value: number) => number): string {
  const drawn = runs(values).map((run) => {
    const points = run.map(([index, value]) => `${index * STEP_X + STEP_X / 2} ${yOf(place(value))}`);
    // One value without neighbors is a dot.
    return `M${points.join("L")}${points.length === 1 ? "h.1" : ""}`;
  });
  return drawn.join("");
}

/** The area below each run of a line. */
export function areaPath(values: Values, place: (value: number) => number): string {
  const x = (index: number): number => index * STEP_X + STEP_X / 2;
  const drawn = runs(values).map((run) => {
    const points = run.map(([index, value]) => `L${x(index)} ${yOf(place(value))}`);
    return `M${x(run[0]?.[0] ?? 0)} ${TOP_Y}${points.join("")}L${x(run.at(-1)?.[0] ?? 0)} ${TOP_Y}Z`;
  });
  return drawn.join("");
}

/** Steps in a row that have values. */
function runs(values: Values): readonly (readonly [index: number, value: number])[][] {
  const found: (readonly [number, number])[][] = [];
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value !== undefined && !isOpen) found.push([]);
    isOpen = value !== undefined;
    if (value !== undefined) found.at(-1)?.push([index, value]);
  }
  return found;
}

function yOf(share: number): number {
  return Math.round(TOP_Y * (1 - share));
}
