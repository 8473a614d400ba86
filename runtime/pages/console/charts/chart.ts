/**
 * Charts over time, drawn on the server: columns for counts, lines for rates and times.
 *
 * The SVG has attributes and classes only, because the policy of the pages allows no inline style and no script. It stretches with
 * the page; labels are HTML around it, so that they keep their size. The legend is the read-out: `script.ts` shows the values of the
 * step under the pointer there. It reads them from the table below the chart, which is also the alternative without a picture.
 */
import { dangerouslyTrustedHtml, html, type Html, type HtmlValue } from "../../html.ts";
import { consoleTime } from "../pieces.ts";
import { columnPath, linePath, TOP_Y } from "./paths.ts";
import { linearScale, logScale, type Scale, shortMs, shortNumber } from "./scale.ts";

/** The outcomes of decisions, which have colors of their own. */
export type ColumnTone = "denied" | "waiting" | "limited" | "failed" | "allowed";

export interface ChartParts {
  /** Unique on the page, a constant of our own: prefix of the IDs in it. */
  readonly id: string;
  readonly title: string;
  /** Starts of the steps, milliseconds since the epoch. */
  readonly starts: readonly number[];
  readonly stepMs: number;
  /** Address of the same page with only one step of time. */
  readonly hrefOf?: ((start: number) => string) | undefined;
  /** The range does not end now: labels are times instead of "6 h ago". */
  readonly isPast?: boolean;
  /** Above a list of rows, where little height is left. */
  readonly isLow?: boolean;
}

export interface ColumnSeries {
  readonly name: string;
  readonly tone: ColumnTone;
  /** As many as there are steps; undefined: unknown, which is not zero. */
  readonly values: readonly (number | undefined)[];
}

export interface ColumnParts extends ChartParts {
  /** In the order of the legend; the last one is at the bottom. */
  readonly series: readonly ColumnSeries[];
}

export interface LineSeries {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

export interface LineParts extends ChartParts {
  readonly unit: "per second" | "ms";
  /** "log": for values that differ by factors. */
  readonly axis: "linear" | "log";
  /** At most MAX_LINES, which differ by dashes as well as by color. */
  readonly lines: readonly LineSeries[];
}

export const MAX_LINES = 6;

interface Legend {
  readonly name: string;
  /** Class of the key. */
  readonly key: string;
  readonly values: readonly (number | undefined)[];
  /** Shown until a step is chosen. */
  readonly rest: string;
}

interface Drawing {
  readonly scale: Scale;
  readonly format: (value: number) => string;
  readonly paths: readonly Html[];
  readonly legend: readonly Legend[];
  /** What the values in the legend are of while no step is chosen. */
  readonly rest: string;
}

/** Counts of each step, one series on top of the other. */
export function columnChart(parts: ColumnParts): Html {
  const { series, starts } = parts;
  const sums = starts.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const scale = linearScale(highestOf(sums), 4, 1);
  const floors = starts.map(() => 0);
  const paths = series.toReversed().map(({ tone, values }) => {
    const path = columnPath(values, floors, scale);
    for (const [index, value] of values.entries()) floors[index] = (floors[index] ?? 0) + (value ?? 0);
    return path !== "" && html`<path class="b-${tone}" d="${path}" />`;
  });
  const legend = series.map(({ name, tone, values }) => ({
    name,
    key: `k-${tone}`,
    values,
    rest: shortCount(values.reduce<number>((sum, value) => sum + (value ?? 0), 0)),
  }));
  return chart(parts, {
    scale,
    format: shortCount,
    paths: paths.filter((path) => path !== false),
    legend,
    rest: "Total",
  });
}

/** One value of each step and line. Where a value is unknown, the line has a gap. */
export function lineChart(parts: LineParts): Html {
  const { lines, unit } = parts;
  const scale = scaleOf(parts);
  const format = unit === "ms" ? shortMs : shortNumber;
  const paths = lines.map(
    ({ values }, index) =>
      html`<path class="l l${index + 1}" d="${linePath(values, (value) => scale.place(value))}" />`,
  );
  const legend = lines.map(({ name, values }, index) => {
    const last = values.findLast((value) => value !== undefined);
    return { name, key: `l${index + 1}`, values, rest: last === undefined ? "–" : format(last) };
  });
  return chart(parts, { scale, format, paths, legend, rest: unit === "ms" ? "Latest" : "Latest, per second" });
}

function scaleOf({ axis, lines }: LineParts): Scale {
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const highest = highestOf(known);
  if (axis === "linear") return linearScale(highest);
  const lowest = known.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), Number.POSITIVE_INFINITY);
  return Number.isFinite(lowest) ? logScale(lowest, highest) : linearScale(highest);
}

function highestOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

function chart(parts: ChartParts, drawing: Drawing): Html {
  const { id, title, starts, isLow = false } = parts;
  const { scale, format, paths, legend } = drawing;
  if (legend.every(({ values }) => values.every((value) => value === undefined)))
    return html`<p class="no-data">No data in this period.</p>`;
  const ticks = isLow ? [scale.ticks[0] ?? 0, scale.ticks.at(-1) ?? 0] : scale.ticks;
  const place = (index: number): number => TOP_Y - (TOP_Y * index) / (ticks.length - 1);
  return html`<div class="timed" data-chart>
    <ul class="legend">
      <li class="at">${drawing.rest}</li>
      ${legend.map(({ name, key, rest }) => html`<li><i class="key ${key}"></i>${name} <b>${rest}</b></li>`)}
    </ul>
    <div class="plot">
      <div class="y" aria-hidden="true">${ticks.toReversed().map((tick) => html`<span>${format(tick)}</span>`)}</div>
      <svg
        class="chart${isLow ? " low" : ""}"
        viewBox="0 0 ${starts.length * 10} ${TOP_Y}"
        preserveAspectRatio="none"
        role="img"
        aria-labelledby="${id}-title ${id}-desc"
      >
        <title id="${id}-title">${title}</title>
        <desc id="${id}-desc">${describe(drawing)}</desc>
        ${ticks.map((_, index) => html`<path class="grid-line" d="M0 ${place(index)}h${starts.length * 10}" />`)}
        <rect class="hit" width="10" height="${TOP_Y}" />
        ${paths}
      </svg>
      <div class="x" aria-hidden="true">${timeLabels(parts)}</div>
    </div>
    <details class="more">
      <summary>Show as a table<span class="hidden">: ${title}</span></summary>
      ${numbers(parts, drawing)}
    </details>
  </div>`;
}

/** For readers who do not see the drawing. */
function describe({ legend, format }: Drawing): string {
  const each = legend.map(({ name, values, rest }) => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? `${name}: no values.` : `${name}: ${rest}, highest ${format(highestOf(known))}.`;
  });
  return `${each.join(" ")} The table below has all numbers.`;
}

const LABELS = 4;

function timeLabels({ starts, stepMs, isPast = false }: ChartParts): readonly Html[] {
  const first = starts[0] ?? 0;
  const rangeMs = starts.length * stepMs;
  return Array.from({ length: LABELS }, (_, index) => {
    const share = index / (LABELS - 1);
    if (isPast) return html`<span>${consoleTime(first + rangeMs * share, "minute")}</span>`;
    const agoMs = rangeMs * (1 - share);
    const ago = agoMs < 3_600_000 ? `${Math.round(agoMs / 60_000)} min` : `${Math.round(agoMs / 3_600_000)} h`;
    return html`<span>${index === LABELS - 1 ? "now" : index === 0 ? `${ago} ago` : ago}</span>`;
  });
}

/** Without spaces between its tags: of 96 rows they would be a third. Rows and cells end themselves. */
function numbers({ id, title, starts, hrefOf }: ChartParts, { legend, format }: Drawing): Html {
  const rows = starts
    .map((start, index) => ({ start, index, values: legend.map(({ values }) => values[index]) }))
    .filter(({ values }) => values.some((value) => value !== undefined))
    .toReversed();
  return html`<div class="scroll" role="region" aria-labelledby="${id}-numbers" tabindex="0">
    <table>
      <caption id="${id}-numbers">
        ${title}, newest first
      </caption>
      <thead>
        <tr>
          <th scope="col">From</th>
          ${legend.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(({ start, index, values }) => {
          const from = shortTime(start);
          return [
            raw(`<tr data-step=${index}><th scope=row>`),
            hrefOf === undefined ? from : html`<a href="${hrefOf(start)}">${from}</a>`,
            values.map((value): HtmlValue => [raw("<td>"), value === undefined ? "–" : format(value)]),
          ];
        })}
      </tbody>
    </table>
  </div>`;
}

const raw = (markup: string): Html => dangerouslyTrustedHtml(markup);

/** As `consoleTime()`, in half as many bytes. The foot of the page has the time zone. */
function shortTime(timeMs: number): Html {
  const text = new Date(timeMs).toISOString().slice(0, 16);
  return raw(`<time datetime=${text}Z data-time=minute>${text.replace("T", " ")}</time>`);
}

const COUNT = new Intl.NumberFormat("en");

/** All digits: columns are counts, of which a reader wants to find the same number in a list. */
function shortCount(value: number): string {
  return COUNT.format(value);
}
