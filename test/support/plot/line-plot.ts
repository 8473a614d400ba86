/** Lines through measured points, with what they spread over. Pure. */
import { linearScale, type Scale } from "../../../runtime/pages/console/charts/scale.ts";
import { factorScale } from "./axis.ts";
import { type Area, axisNumber, bottomAxis, COLOURS, leftAxis, legend, line, round, svg, text } from "./frame.ts";

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

export interface PlotLine {
  readonly name: string;
  /** Index in COLOURS; a series in several plots keeps its own. */
  readonly colour: number;
  readonly points: readonly PlotPoint[];
}

export interface LinePlot {
  readonly title: string;
  /** With the unit. */
  readonly xTitle: string;
  readonly yTitle: string;
  /** "factors": where values differ by factors, all above 0. */
  readonly xAxis: "linear" | "factors";
  readonly yAxis: "linear" | "factors";
  readonly lines: readonly PlotLine[];
  readonly xLabel?: (x: number) => string;
}

const WIDTH = 600;
const PLOT_HEIGHT = 230;
const LEFT = 66;
const RIGHT = 20;

export function linePlot(plot: LinePlot): string {
  const { elements, height } = linePanel(plot, { x: 0, y: 0, width: WIDTH, plotHeight: PLOT_HEIGHT });
  return svg(WIDTH, height, elements);
}

export interface PanelPlace {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly plotHeight: number;
}

/** One of several plots in one picture. @returns the elements, and how high it is */
export function linePanel(
  { title, xTitle, yTitle, xAxis, yAxis, lines, xLabel = axisNumber }: LinePlot,
  { x: fromX, y: fromY, width, plotHeight }: PanelPlace,
): { readonly elements: readonly string[]; readonly height: number } {
  const points = lines.flatMap((each) => each.points);
  if (points.length === 0) throw new RangeError(`Cannot plot "${title}" without points`);
  const [left, right] = [fromX + LEFT, fromX + width - RIGHT];
  const names = legend(
    lines.map(({ name, colour }) => ({ name, colour: colourOf(colour) })),
    { x: left, y: fromY + 48, width: right - left },
  );
  const top = fromY + 48 + names.height + 2;
  const area: Area = { left, top, right, bottom: top + plotHeight };
  const xs = [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
  const x = placeX(area, xs, xAxis);
  const highest = Math.max(...points.map(({ y, high = y }) => high));
  const lowest = Math.min(...points.map(({ y, low = y }) => low));
  const scale: Scale = yAxis === "linear" ? linearScale(highest) : factorScale(lowest, highest);
  const y = (value: number): number => area.bottom - scale.place(value) * plotHeight;
  const elements = [
    text(left, fromY + 22, title, { size: 15 }),
    ...names.elements,
    ...leftAxis(
      area,
      scale.ticks.map((value) => ({ at: y(value), label: axisNumber(value) })),
    ),
    ...bottomAxis(
      area,
      xs.map((value) => ({ at: x(value), label: xLabel(value) })),
    ),
    text((area.left + area.right) / 2, area.bottom + 38, xTitle, { anchor: "middle", fill: "#555" }),
    text(fromX + 14, (area.top + area.bottom) / 2, yTitle, { anchor: "middle", fill: "#555", turned: true }),
    ...lines.map((each) => drawLine(each, x, y)),
  ];
  return { elements, height: area.bottom + 46 - fromY };
}

function drawLine({ points, colour }: PlotLine, x: (value: number) => number, y: (value: number) => number): string {
  const stroke = colourOf(colour);
  const path = points.map((point) => `${round(x(point.x))},${round(y(point.y))}`).join(" ");
  const marks = points.flatMap((point) => [
    point.low === undefined || point.high === undefined
      ? ""
      : line(x(point.x), y(point.low), x(point.x), y(point.high), stroke),
    `<circle cx="${round(x(point.x))}" cy="${round(y(point.y))}" r="3" fill="${stroke}"/>`,
  ]);
  return [`<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="2"/>`, ...marks].join("");
}

function placeX(area: Area, xs: readonly number[], axis: LinePlot["xAxis"]): (value: number) => number {
  const of = (value: number): number => (axis === "linear" ? value : Math.log(value));
  const [from, to] = [of(xs[0] ?? 0), of(xs.at(-1) ?? 1)];
  // Not on the vertical axis, where a point would be hidden.
  const [left, width] = [area.left + 14, area.right - area.left - 28];
  return (value) => (from === to ? left + width / 2 : left + ((of(value) - from) / (to - from)) * width);
}

export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? COLOURS[0];
}
