/** Bars in groups, from the left, each with its value next to it. Pure. */
import { linearScale } from "../../../runtime/pages/console/charts/scale.ts";
import { type Area, axisNumber, bar, bottomAxis, line, svg, text, widthOf } from "./frame.ts";
import { colourOf } from "./line-plot.ts";

export interface Bar {
  readonly name: string;
  readonly colour: number;
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  /** Next to the value. */
  readonly note?: string;
}

export interface BarPlot {
  readonly title: string;
  /** Meaning and unit of the values. */
  readonly xTitle: string;
  readonly groups: readonly { readonly name: string; readonly bars: readonly Bar[] }[];
}

const WIDTH = 600;
const ROW = 20;
const GAP = 26;

export function barPlot({ title, xTitle, groups }: BarPlot): string {
  const bars = groups.flatMap((group) => group.bars);
  if (bars.length === 0) throw new RangeError(`Cannot plot "${title}" without bars`);
  const left = 24 + Math.max(...bars.map(({ name }) => widthOf(name)));
  const notes = bars.map((each) => labelOf(each));
  const right = WIDTH - 12 - Math.max(...notes.map(widthOf));
  const scale = linearScale(Math.max(...bars.map(({ value, high = value }) => high)));
  const x = (value: number): number => left + scale.place(value) * (right - left);
  const height = groups.reduce((sum, group) => sum + (group.name === "" ? 0 : GAP) + group.bars.length * ROW, 0);
  const area: Area = { left, top: 36, right, bottom: 40 + height };
  let top = 40;
  const rows = groups.flatMap((group) => {
    const found: string[] = [];
    if (group.name !== "") {
      found.push(text(12, top + 17, group.name, { fill: "#555" }));
      top += GAP;
    }
    for (const each of group.bars) {
      const { name, colour, value, low, high } = each;
      const middle = top + ROW / 2 - 1;
      found.push(text(left - 8, middle + 4, name, { anchor: "end" }));
      found.push(bar(left, top + 2, x(value) - left, ROW - 6, colourOf(colour)));
      if (low !== undefined && high !== undefined) found.push(line(x(low), middle, x(high), middle, "#222"));
      found.push(text(x(Math.max(value, high ?? value)) + 6, middle + 4, labelOf(each)));
      top += ROW;
    }
    return found;
  });
  return svg(WIDTH, area.bottom + 46, [
    text(12, 22, title, { size: 15 }),
    ...rows,
    ...bottomAxis(
      area,
      scale.ticks.map((value) => ({ at: x(value), label: axisNumber(value) })),
    ),
    text((left + right) / 2, area.bottom + 38, xTitle, { anchor: "middle", fill: "#555" }),
  ]);
}

function labelOf({ value, note }: Bar): string {
  return note === undefined ? axisNumber(value) : `${axisNumber(value)}  ${note}`;
}
