/**
 * A plot of a few lines over time, drawn on the server: SVG of attributes and classes alone, since the pages' policy lets
 * no style attribute and no script pass. Its numbers stand in a table below.
 *
 * The axis says how long ago, so that it is right in every time zone. Where a value is missing the line is, too.
 */
import { html, type Html } from "../../html.ts";
import { type TableColumn, consoleTime, table } from "../pieces.ts";
import { linearScale, logScale, type Scale, shortMs, shortNumber } from "./scale.ts";

export interface PlotLine {
  readonly name: string;
  /** As many as there are steps; undefined: nobody knows, which is not zero. */
  readonly values: readonly (number | undefined)[];
}

export interface PlotParts {
  /** Of its elements; unique on the page, a constant of our own. */
  readonly id: string;
  readonly title: string;
  /** What its values are. */
  readonly unit: "per second" | "ms";
  /** "log": values that differ by factors. */
  readonly axis: "linear" | "log";
  /** Fills what is below the first line. */
  readonly isArea?: boolean;
  /** Starts of the steps, milliseconds since the epoch. */
  readonly starts: readonly number[];
  readonly stepMs: number;
  /** At most MAX_LINES, which are told apart by dashes as well as by colours. */
  readonly lines: readonly PlotLine[];
}

export const MAX_LINES = 6;

/** Beside the styles of the console. */
export const PLOT_STYLE = `
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; margin: 0 0 1rem; }
.plots > .plot { margin: 0; min-width: 0; break-inside: avoid; }
.plot figcaption { font-weight: 600; }
.plot svg.chart { display: block; width: 100%; height: auto; }
.plot text { fill: var(--text-3); font: 14px system-ui, sans-serif; }
.plot .value { text-anchor: end; }
.plot .ago { text-anchor: middle; }
.plot .first { text-anchor: start; }
.plot .last { text-anchor: end; }
.plot .grid { stroke: var(--line); stroke-width: 1; }
.plot .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.plot .fill { stroke: none; opacity: .18; }
.plot .l1 { stroke: var(--c-1); } .plot .fill { fill: var(--c-1); }
.plot .l2 { stroke: var(--c-3); stroke-dasharray: 7 4; }
.plot .l3 { stroke: var(--c-2); stroke-dasharray: 2 4; }
.plot .l4 { stroke: var(--c-limited); stroke-dasharray: 10 3 2 3; }
.plot .l5 { stroke: var(--text-3); stroke-dasharray: 12 4; }
.plot .l6 { stroke: var(--text); stroke-dasharray: 4 2 1 2; }
.plot ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: .25rem 0; padding: 0; list-style: none; font-size: .92rem; }
.plot ul svg { display: inline-block; width: 2rem; height: .6rem; margin-right: .4rem; }
@media (forced-colors: active) { .plot text { fill: CanvasText; } .plot .grid { stroke: GrayText; } .plot .line { stroke: CanvasText; } .plot .fill { display: none; } }
@media (max-width: 30rem) { .plot text { font-size: 19px; } }
@media print { .plot .line { stroke: #000; } .plot .fill { display: none; } .plot text { fill: #000; } }
`;

const WIDTH = 480;
const HEIGHT = 180;
/** Beside the lines, for what is written there. */
const LEFT = 72;
const TOP = 12;
const BOTTOM = 26;

export function plot(parts: PlotParts): Html {
  const { id, title, unit, lines, isArea = false } = parts;
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== undefined));
  if (known.length === 0) return emptyPlot(title);
  const scale = scaleOf(parts, known);
  const format = unit === "ms" ? shortMs : shortNumber;
  return html`<figure class="plot card">
    <figcaption>${title}${unit === "per second" && ", per second"}</figcaption>
    <svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-desc">
      <title id="${id}-title">${title}</title>
      <desc id="${id}-desc">${describe(parts, format)}</desc>
      ${scale.ticks.map((tick) => html`<path class="grid" d="M${LEFT} ${y(scale, tick)}H${WIDTH}" />`)}
      ${isArea && lines[0] && html`<path class="fill" d="${areaPath(lines[0].values, scale)}" />`}
      ${lines.map(({ values }, index) => html`<path class="line l${index + 1}" d="${linePath(values, scale)}" />`)}
      ${scale.ticks.map((tick) => html`<text class="value" x="${LEFT - 8}" y="${y(scale, tick) + 5}">${format(tick)}</text>`)}
      ${agoLabels(parts)}
    </svg>
    ${legend(lines, format)} ${numbers(parts, format)}
  </figure>`;
}

function emptyPlot(title: string): Html {
  return html`<figure class="plot card">
    <figcaption>${title}</figcaption>
    <p class="dim">No data in this period.</p>
  </figure>`;
}

function scaleOf({ axis }: PlotParts, known: readonly number[]): Scale {
  const highest = known.reduce((a, b) => Math.max(a, b), 0);
  if (axis === "linear") return linearScale(highest);
  const lowest = known.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), Number.POSITIVE_INFINITY);
  return Number.isFinite(lowest) ? logScale(lowest, highest) : linearScale(highest);
}

/** Of the middle of a step. */
function x(index: number, count: number): number {
  return tenth(LEFT + ((index + 0.5) / count) * (WIDTH - LEFT));
}

function y(scale: Scale, value: number): number {
  return tenth(HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - BOTTOM - TOP));
}

function tenth(place: number): number {
  return Math.round(place * 10) / 10;
}

/** Runs of steps that have values. */
function runs(values: PlotLine["values"]): readonly (readonly [index: number, value: number])[][] {
  const found: (readonly [number, number])[][] = [];
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value !== undefined && !isOpen) found.push([]);
    isOpen = value !== undefined;
    if (value !== undefined) found.at(-1)?.push([index, value]);
  }
  return found;
}

function linePath(values: PlotLine["values"], scale: Scale): string {
  const drawn = runs(values).map((run) => {
    const points = run.map(([index, value]) => `${x(index, values.length)} ${y(scale, value)}`);
    // One alone is a dot.
    return `M${points.join("L")}${points.length === 1 ? "h0.1" : ""}`;
  });
  return drawn.join("");
}

function areaPath(values: PlotLine["values"], scale: Scale): string {
  const bottom = HEIGHT - BOTTOM;
  const drawn = runs(values).map((run) => {
    const [first, last] = [run[0]?.[0] ?? 0, run.at(-1)?.[0] ?? 0];
    const points = run.map(([index, value]) => `L${x(index, values.length)} ${y(scale, value)}`);
    return `M${x(first, values.length)} ${bottom}${points.join("")}L${x(last, values.length)} ${bottom}Z`;
  });
  return drawn.join("");
}

function agoLabels({ starts, stepMs }: PlotParts): readonly Html[] {
  const rangeMs = starts.length * stepMs;
  return [0, 1, 2, 3].map((third) => {
    const agoMs = (rangeMs * (3 - third)) / 3;
    const ago = agoMs < 3_600_000 ? `${Math.round(agoMs / 60_000)} min` : `${Math.round(agoMs / 3_600_000)} h`;
    const [text, place] = third === 3 ? ["now", "last"] : third === 0 ? [`${ago} ago`, "first"] : [ago, "ago"];
    return html`<text class="${place}" x="${LEFT + ((WIDTH - LEFT) * third) / 3}" y="${HEIGHT - 6}">${text}</text>`;
  });
}

function legend(lines: readonly PlotLine[], format: (value: number) => string): Html {
  return html`<ul>
    ${lines.map(({ name, values }, index) => {
      const last = values.findLast((value) => value !== undefined);
      return html`<li>
        <svg viewBox="0 0 40 10" aria-hidden="true"><path class="line l${index + 1}" d="M2 5H38" /></svg>${name}
        ${last !== undefined && html`<span class="dim">${format(last)}</span>`}
      </li>`;
    })}
  </ul>`;
}

/** What somebody who does not see it would ask. */
function describe({ lines, starts, stepMs }: PlotParts, format: (value: number) => string): string {
  const each = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== undefined);
    if (known.length === 0) return `${name}: no values.`;
    const [last, highest] = [known.at(-1) ?? 0, known.reduce((a, b) => Math.max(a, b))];
    return `${name}: last ${format(last)}, highest ${format(highest)}.`;
  });
  return `${each.join(" ")} ${starts.length} steps of ${stepMs / 60_000} minutes; the numbers are in the table below.`;
}

function numbers({ id, title, starts, lines }: PlotParts, format: (value: number) => string): Html {
  const rows = starts
    .map((start, index) => ({ start, values: lines.map(({ values }) => values[index]) }))
    .filter(({ values }) => values.some((value) => value !== undefined))
    .toReversed();
  return html`<details>
    <summary>Numbers of “${title}”</summary>
    ${table({
      id: `${id}-numbers`,
      caption: `${title}, the latest first`,
      columns: [{ name: "From", kind: "short" }, ...lines.map(({ name }): TableColumn => ({ name, kind: "number" }))],
      rows: rows.map(({ start, values }) => [
        consoleTime(start, "minute"),
        ...values.map((value) => (value === undefined ? "–" : format(value))),
      ]),
      empty: html``,
    })}
  </details>`;
}
