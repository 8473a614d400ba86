/** The page's part about latency at fixed rates, and its plot. Pure. */
import { stackPlots } from "../../../support/plot/frame.ts";
import { linePlot } from "../../../support/plot/line-plot.ts";
import type { WorkName } from "../contender.ts";
import type { Row } from "../figures.ts";
import { HEADERS, OURS } from "../values.ts";
import type { RateKind, Tail, TailCell, TailRow } from "./figures.ts";

/** Of the table. */
const SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999];
const WORKS: readonly WorkName[] = ["get", "mcp"];

const percent = (share: number): string => `p${Number((share * 100).toFixed(2))}`;
const millis = (value: number | undefined): string => {
  if (value === undefined) return "–";
  return value >= 99.95 ? value.toFixed(0) : value.toFixed(value < 0.995 ? 2 : 1);
};
const rate = (value: number): string => value.toLocaleString("en");

const cellOf = ({ cells }: TailRow, work: WorkName, kind: RateKind): TailCell | undefined =>
  cells.find((cell) => cell.work === work && cell.kind === kind);

/** Half of what Gateform can serve; undefined if it was not measured. */
const commonRate = ({ rows }: Tail, work: WorkName): number | undefined => {
  const ours = rows.find(({ name }) => name === OURS);
  return ours && cellOf(ours, work, "own")?.ratePerSecond;
};

/** Gateform's own rate is the common one. */
const atCommon = (row: TailRow, work: WorkName): TailCell | undefined =>
  cellOf(row, work, row.name === OURS ? "own" : "common");

const valuesOf = (cell: TailCell): string =>
  SHARES.map((share) => millis(cell.millis[share])).join(" / ") +
  (cell.errors === 0 ? "" : `, ${cell.errors} of ${cell.requests + cell.errors} failed`);

/** @param about when it was measured, if not with the rest of the page */
export function tailSection(tail: Tail | undefined, about: string): string {
  if (tail === undefined) return "";
  const { rows, rounds, connections } = tail;
  const cells = rows.flatMap((row) => row.cells);
  const lateness = Math.max(0, ...cells.map(({ latenessMillis }) => latenessMillis));
  const header = [
    "",
    ...WORKS.flatMap((work) => {
      const common = commonRate(tail, work);
      return [
        `${HEADERS[work]}, half of its limit`,
        ...(common === undefined ? [] : [`${HEADERS[work]}, ${rate(common)}/s`]),
      ];
    }),
  ];
  const lines = rows.map((row) => [
    row.name === OURS ? `**${row.title}**` : row.title,
    ...WORKS.flatMap((work) => {
      const own = cellOf(row, work, "own");
      const common = atCommon(row, work);
      return [
        own === undefined ? "–" : `${rate(own.ratePerSecond)}/s: ${valuesOf(own)}`,
        ...(commonRate(tail, work) === undefined ? [] : [common === undefined ? "–" : valuesOf(common)]),
      ];
    }),
  ]);
  const line = (texts: readonly string[]): string => `| ${texts.join(" | ")} |\n`;
  const missing = rows.flatMap(({ title, missing: reason }) =>
    reason === undefined ? [] : [`- ${title}: ${reason}\n`],
  );
  return `## Latency at fixed rates

${about}Milliseconds, ${SHARES.map(percent).join(" / ")}. Requests become due at even intervals over ${connections} connections, whether or not earlier ones were answered, and
a time counts from when the request was due: a slow response does not keep others out of the figures (no coordinated omission). Rates: half
of what each gateway served with ${connections / 2} connections that wait for each response, and half of that of Gateform for all that can serve it, which is a larger part of a slower
gateway's limit. The fastest can be limited by the client and the upstream, which share a core. What was not answered 3 s after the last
request was due counts as answered then. "–": the gateway cannot serve the rate, or fewer than ten requests took longer. Requests of all ${rounds} rounds together, ${rate(Math.min(...cells.map(({ requests }) => requests)))} to
${rate(Math.max(...cells.map(({ requests }) => requests)))} for each entry. The client itself was late by up to ${millis(lateness)} ms (p99);
what it and the upstream add beyond that is in the row of the upstream alone.

![Latency by percentile at half of each gateway's limit](comparison-latency.svg)

${line(header)}${line(header.map((_, at) => (at === 0 ? "---" : "---:")))}${lines.map(line).join("")}${missing.length === 0 ? "" : `\n${missing.join("")}`}
`;
}

/** Figures in which another gateway can be better. */
export function tailFigures(tail: Tail | undefined): readonly {
  readonly what: string;
  readonly of: (row: Row) => number | undefined;
}[] {
  if (tail === undefined) return [];
  return WORKS.flatMap((work) =>
    [0.99, 0.999].flatMap((share) => [
      {
        what: `${HEADERS[work]}, ${percent(share)} at half of its own limit`,
        of: ({ name }: Row) => named(tail, name, (row) => cellOf(row, work, "own"))?.millis[share],
      },
      {
        what: `${HEADERS[work]}, ${percent(share)} at ${rate(commonRate(tail, work) ?? 0)} a second`,
        of: ({ name }: Row) => named(tail, name, (row) => atCommon(row, work))?.millis[share],
      },
    ]),
  );
}

function named(tail: Tail, name: string, cell: (row: TailRow) => TailCell | undefined): TailCell | undefined {
  const row = tail.rows.find((each) => each.name === name);
  return row && cell(row);
}

/** Colors by name, so that a gateway keeps its own. */
const COLOUR_OF: Readonly<Record<string, number>> = {
  [OURS]: 1,
  nginx: 6,
  "haproxy-jwt": 2,
  "envoy-jwt-cached": 0,
  "oauth2-proxy": 3,
  "fastify-jose": 5,
};

/** Percentiles from left to right: each step to the next label has a tenth of the requests beyond it. */
export function renderTailPlot({ rows, run }: Tail): string | undefined {
  const plots = WORKS.flatMap((work) => {
    const lines = rows.flatMap((row) => {
      const cell = cellOf(row, work, "own");
      const points = Object.entries(cell?.millis ?? {})
        .map(([share, y]) => ({ x: Number((1 / (1 - Number(share))).toPrecision(4)), y }))
        .toSorted((a, b) => a.x - b.x);
      if (cell === undefined || points.length === 0) return [];
      const name = `${row.title}, ${rate(cell.ratePerSecond)}/s`;
      return [{ name, colour: COLOUR_OF[row.name] ?? 4, points }];
    });
    if (lines.length === 0) return [];
    return [
      linePlot({
        title: `${HEADERS[work]}: latency at half of each gateway's limit (${run.made.slice(0, 10)}, ${run.machine.cores} cores)`,
        xTitle: "percentile of requests",
        yTitle: "ms",
        xAxis: "factors",
        yAxis: "factors",
        xLabel: (x) => percent(1 - 1 / x),
        lines,
      }),
    ];
  });
  return plots.length === 0 ? undefined : stackPlots(plots);
}
