/** Common parts of all plots: SVG text, its colors, axes and legends. Pure. */
import { shortNumber } from "../../../runtime/pages/console/charts/scale.ts";

/** Distinguishable for readers with red-green color blindness (Paul Tol's bright scheme). */
export const COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777"] as const;
export const AXIS = "#555";
const GRID = "#e4e4e4";

/** Average width of letters at FONT_SIZE; labels are laid out by it. */
const LETTER = 6.6;
export const FONT_SIZE = 12;

export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Tick {
  /** Pixels. */
  readonly at: number;
  readonly label: string;
}

/** @param body elements */
export function svg(width: number, height: number, body: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="${FONT_SIZE}" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
${body.filter((element) => element !== "").join("\n")}
</svg>
`;
}

/** One below the other. @param plots of `svg()` */
export function stackPlots(plots: readonly string[]): string {
  const sizeOf = (plot: string, name: string): number => Number(new RegExp(` ${name}="([\\d.]+)"`).exec(plot)?.[1]);
  let top = 0;
  const body = plots.map((plot) => {
    const placed = plot.trim().replace("<svg ", `<svg y="${top}" `);
    top += sizeOf(plot, "height");
    return placed;
  });
  return svg(Math.max(...plots.map((plot) => sizeOf(plot, "width"))), top, body);
}

export interface TextOptions {
  readonly anchor?: "start" | "middle" | "end";
  readonly size?: number;
  readonly fill?: string;
  readonly turned?: boolean;
}

export function text(x: number, y: number, what: string, options: TextOptions = {}): string {
  const { anchor = "start", size, fill, turned = false } = options;
  const more = [
    anchor === "start" ? "" : ` text-anchor="${anchor}"`,
    size === undefined ? "" : ` font-size="${size}"`,
    fill === undefined ? "" : ` fill="${fill}"`,
    turned ? ` transform="rotate(-90 ${round(x)} ${round(y)})"` : "",
  ].join("");
  return `<text x="${round(x)}" y="${round(y)}"${more}>${escapeXml(what)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, stroke: string = AXIS, width = 1): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map(round);
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="${stroke}"${width === 1 ? "" : ` stroke-width="${width}"`}/>`;
}

export function bar(x: number, y: number, width: number, height: number, fill: string, opacity = 1): string {
  const [a, b, c, d] = [x, y, width, height].map(round);
  return `<rect x="${a}" y="${b}" width="${c}" height="${d}" fill="${fill}"${opacity === 1 ? "" : ` opacity="${opacity}"`}/>`;
}

/** Below the area; omits labels that would touch. */
export function bottomAxis({ left, right, bottom }: Area, ticks: readonly Tick[]): string[] {
  let free = Number.NEGATIVE_INFINITY;
  const marks = ticks.flatMap(({ at, label }) => {
    const half = widthOf(label) / 2;
    const mark = line(at, bottom, at, bottom + 5);
    if (at - half < free) return [mark];
    free = at + half + 6;
    return [mark, text(at, bottom + 18, label, { anchor: "middle" })];
  });
  return [line(left, bottom, right, bottom), ...marks];
}

/** Next to the area, with lines across it. */
export function leftAxis({ left, right }: Area, ticks: readonly Tick[]): string[] {
  return ticks.flatMap(({ at, label }) => [
    line(left, at, right, at, GRID),
    text(left - 8, at + 4, label, { anchor: "end" }),
  ]);
}

export interface LegendEntry {
  readonly name: string;
  readonly colour: string;
}

/** In lines of `width`, from left to right. @returns what to draw, and how high it is */
export function legend(
  entries: readonly LegendEntry[],
  at: { readonly x: number; readonly y: number; readonly width: number },
): { readonly elements: readonly string[]; readonly height: number } {
  let [x, y] = [at.x, at.y];
  const elements = entries.flatMap(({ name, colour }) => {
    const width = 16 + widthOf(name) + 18;
    if (x > at.x && x + width > at.x + at.width) [x, y] = [at.x, y + 18];
    const found = [bar(x, y - 10, 12, 12, colour), text(x + 17, y, name)];
    x += width;
    return found;
  });
  return { elements, height: y - at.y + 18 };
}

/** Pixels, as far as one can tell without the font. */
export function widthOf(label: string): number {
  return label.length * LETTER;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** 1,240 · 12.4 · 64 Ki: numbers next to an axis. */
export function axisNumber(value: number): string {
  if (value >= 1_000_000) return `${shortNumber(value / 1_000_000)}M`;
  return value >= 10_000 ? `${shortNumber(value / 1000)}k` : shortNumber(value);
}

export function escapeXml(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
