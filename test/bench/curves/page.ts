/** The page runtime/CURVES.md and its plot, from figures that were measured. Pure. */
import { svg } from "../../support/plot/frame.ts";
import { linePanel, type PlotPoint } from "../../support/plot/line-plot.ts";
import type { GuardHistory } from "../guard/history.ts";
import { type Curve, CURVES } from "./curves.ts";
import type { CurveFigures, CurveLine, Curves } from "./figures.ts";

const tenths = (value: number): string => (value >= 99.95 ? Math.round(value).toLocaleString("en") : value.toFixed(1));

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return line(header) + line(header.map((_, at) => (at === 0 ? "---" : "---:"))) + rows.map(line).join("");
}

const sizesOf = ({ lines, memory }: CurveFigures): readonly number[] =>
  [...new Set([...lines, ...memory].flatMap(({ points }) => points.map(({ x }) => x)))].toSorted((a, b) => a - b);

/** One row for each size. */
export function tableOf(curve: CurveFigures): {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
} {
  const { lines, memory } = curve;
  return {
    header: ["", ...lines.map(({ name }) => `${name}, CPU µs`), ...memory.map(({ name }) => `${name}, MiB`)],
    rows: sizesOf(curve).map((x) => [
      x.toLocaleString("en"),
      ...lines.map(({ points }) => {
        const point = points.find((each) => each.x === x);
        return point === undefined ? "–" : tenths(point.cpuMicros.median);
      }),
      ...memory.map(({ points }) => {
        const point = points.find((each) => each.x === x);
        return point === undefined ? "–" : tenths(point.mebibytes);
      }),
    ]),
  };
}

/** What a line costs at its last point over its first. */
function growthRows(curves: readonly CurveFigures[]): readonly (readonly string[])[] {
  return curves.flatMap((curve) =>
    curve.lines.map(({ name, points }) => {
      const [first, last] = [points[0], points.at(-1)];
      if (first === undefined || last === undefined) throw new Error(`Cannot write the page: "${name}" has no points`);
      const factor = (last.cpuMicros.median / first.cpuMicros.median).toFixed(2);
      return [`${knownOf(curve).title}: ${name}`, first.x.toLocaleString("en"), last.x.toLocaleString("en"), factor];
    }),
  );
}

function knownOf({ name }: CurveFigures): Curve {
  const known = CURVES.find((each) => each.name === name);
  if (known === undefined) throw new Error(`Cannot write the page: there is no curve "${name}"`);
  return known;
}

export function renderCurves(figures: Curves, history: GuardHistory): string {
  const { made, machine, rounds, seconds, tookSeconds, othersBefore, othersMeanwhile, isQuick } = figures;
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  const isRough = isQuick || Math.max(othersBefore, othersMeanwhile) > 0.1;
  const sections = figures.curves.map((curve) => {
    const known = knownOf(curve);
    const { header, rows } = tableOf(curve);
    return `## ${known.title}\n\n${known.about}\n\n${table([known.xTitle, ...header.slice(1)], rows)}`;
  });
  return `# Cost against size

<!-- Written by \`npm run bench -- --curves --page\`; do not edit. -->

How processor time a request and memory grow with routes, rules, sessions, tools, members and streams. Each point is a gateway of its own. See also
the [comparison with other gateways](COMPARISON.md).

Measured ${made.slice(0, 10)} at commit \`${machine.commit}\` on ${machine.processor}, ${machine.cores} cores, ${machine.memoryGibibytes} GiB, ${machine.system}, Node ${machine.node}: ${rounds} rounds of ${seconds} s, 32 connections, ${Math.max(1, Math.round(tookSeconds / 60))} minutes. Others used ${percent(othersBefore)} of the machine before it and ${percent(othersMeanwhile)} during it.${isRough ? " **The machine was busy or the run short: shapes are right, figures are not.**" : ""}

![Processor time and memory against sizes](curves.svg)

Processor time is user and system time of the gateway's process. Memory is resident memory after a collection of garbage.
"Times" is the processor time at the last point over that at the first.

${table(["", "from", "to", "times"], growthRows(figures.curves))}
${sections.join("\n")}${figures.missing.length === 0 ? "" : `\n## What is missing\n\n${figures.missing.map((line) => `- ${line}\n`).join("")}`}
${historySection(history)}
## How it is measured

\`\`\`sh
# Needs this repository, and Linux.
npm ci
${figures.command}
npm run bench -- --curves --page
\`\`\`
`;
}

function historySection(history: GuardHistory): string {
  if (history.length === 0) return "";
  const titles = [...new Set(history.flatMap(({ ratios }) => ratios.map(({ title }) => title)))];
  const rows = history.map(({ date, now, old, machine, note, ratios }) => [
    date,
    `\`${now}\``,
    `\`${old}\``,
    ...titles.map((title) => {
      const found = ratios.find((each) => each.title === title);
      return found ? `${found.ratio.toFixed(3)} (${found.low.toFixed(3)}–${found.high.toFixed(3)})` : "–";
    }),
    [machine, note].filter(Boolean).join("; "),
  ]);
  return `## Earlier versions

Processor time a request at a commit over that at an earlier one, both at the same time on one core: median, and between what it lies in 95 of 100 cases.

${table(["date", "commit", "earlier", ...titles, "machine"], rows)}
\`npm run bench -- --guard OLD_CHECKOUT\` measures a row.
`;
}

const WIDTH = 760;
const PLOT_HEIGHT = 130;

/** A row for each curve: processor time on the left, memory on the right. */
export function renderCurvesPlot({ curves }: Curves): string {
  const elements: string[] = [];
  let y = 0;
  for (const curve of curves) {
    const { title, xTitle } = knownOf(curve);
    const panels = [
      {
        title,
        yTitle: "CPU µs",
        lines: linesOf(curve.lines, ({ cpuMicros: { median, low, high } }) => ({ y: median, low, high })),
      },
      { title: "", yTitle: "MiB", lines: linesOf(curve.memory, ({ mebibytes }) => ({ y: mebibytes })) },
    ].map((panel, index) =>
      linePanel(
        { ...panel, xTitle, xAxis: "factors", yAxis: "linear" },
        { x: (index * WIDTH) / 2, y, width: WIDTH / 2, plotHeight: PLOT_HEIGHT },
      ),
    );
    elements.push(...panels.flatMap((panel) => panel.elements));
    y += Math.max(...panels.map(({ height }) => height)) + 8;
  }
  return svg(WIDTH, y, elements);
}

function linesOf<Point extends { readonly x: number }>(
  lines: readonly CurveLine<Point>[],
  of: (point: Point) => Omit<PlotPoint, "x">,
) {
  return lines.map(({ name, points }, index) => ({
    name,
    colour: [1, 0][index] ?? 2,
    points: points.map((point) => ({ x: point.x, ...of(point) })),
  }));
}
