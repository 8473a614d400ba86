/** Latency at fixed rates: an open loop, counted from when a request was due. */
import { linePlot, type PlotLine } from "../../support/plot/line-plot.ts";
import type { OpenLoopFigures } from "../common/open-loop-child.ts";
import { runOpenLoop } from "../common/run-open-loop.ts";
import { quantile } from "../common/statistics.ts";
import { median } from "../common/table.ts";
import type { Bench } from "../common/targets.ts";
import { COLOUR_OF, fixed, type ReportOptions, type Section } from "./sections.ts";

const TARGETS = ["gateway", "nginx", "haproxy-jwt", "apache-oidc"];
const CONNECTIONS = 64;
const SHARES = [0.5, 0.9, 0.99, 0.999] as const;

interface Figure {
  readonly target: string;
  readonly rate: number;
  /** Milliseconds, medians of the rounds, by SHARES. */
  readonly percentiles: readonly number[];
  readonly errors: number;
  /** p99 of how much too late the client itself was. */
  readonly latenessMillis: number;
}

export async function measureLatency(bench: Bench, options: ReportOptions): Promise<Section> {
  const { isQuick, progress } = options;
  const rates = isQuick ? [1000, 8000] : [1000, 4000, 8000, 16_000];
  const rounds = isQuick ? 1 : 3;
  const durationMs = isQuick ? 1000 : 2000;
  const get = bench.targets[0]?.requests["get"] ?? Buffer.alloc(0);
  const targets = [
    { name: "upstream", port: bench.upstreamPort, request: get },
    ...bench.targets
      .filter(({ name }) => TARGETS.includes(name))
      .map(({ name, port, requests }) => ({ name, port, request: requests["get"] ?? get })),
  ];
  const figures: Figure[] = [];
  for (const rate of rates) {
    const found = targets.map(() => [] as OpenLoopFigures[]);
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, { name, port, request }] of targets.entries()) {
        progress(`latency at ${rate}/s: ${name}`);
        found[index]?.push(
          await runOpenLoop({
            port,
            request: request.toString("latin1"),
            ratePerSecond: rate,
            connections: CONNECTIONS,
            durationMs,
            warmUpMs: 500,
          }),
        );
      }
    }
    figures.push(...targets.map(({ name }, index) => summary(name, rate, found[index] ?? [])));
  }
  return sectionOf(figures, rounds, durationMs);
}

function summary(target: string, rate: number, runs: readonly OpenLoopFigures[]): Figure {
  const of = (share: number): number => median(runs.map(({ latencyMillis }) => quantile([...latencyMillis], share)));
  return {
    target,
    rate,
    percentiles: SHARES.map(of),
    errors: runs.reduce((sum, { errors }) => sum + errors, 0),
    latenessMillis: median(
      runs.map(({ latenessMillis }) => (latenessMillis.length > 0 ? quantile([...latenessMillis], 0.99) : 0)),
    ),
  };
}

function sectionOf(figures: readonly Figure[], rounds: number, durationMs: number): Section {
  const names = [...new Set(figures.map(({ target }) => target))];
  const lines = (index: number): PlotLine[] =>
    names.map((name) => ({
      name,
      colour: COLOUR_OF[name] ?? 6,
      points: figures
        .filter(({ target }) => target === name)
        .map(({ rate, percentiles }) => ({ x: rate, y: percentiles[index] ?? 0 })),
    }));
  const common = { xTitle: "requests a second", yTitle: "ms", xAxis: "factors", yAxis: "factors" } as const;
  const rows = figures.map(({ target, rate, percentiles, errors, latenessMillis }) => [
    `${rate.toLocaleString("en")}/s`,
    target,
    ...percentiles.map((value) => fixed(value, 2)),
    fixed(latenessMillis, 2),
    String(errors),
  ]);
  return {
    name: "latency",
    title: "Latency at fixed rates",
    about: [
      `An open loop: requests become due at even intervals whether or not those before were answered, over ${CONNECTIONS} connections; a time is counted from when the request was due, so that nobody is left out who would have asked while an answer was slow (coordinated omission). ${rounds === 1 ? "One round" : `${rounds} rounds`} of ${durationMs / 1000} s after a warm-up; medians of the rounds. The line "upstream" has no proxy between: it is what client, upstream and their core add.`,
      "The client looks at its clock about every 0.05 ms; how much too late it sent what a free connection waited for is the column before the last one. What is due beyond a proxy's capacity waits longer and longer.",
    ],
    tables: [
      {
        header: ["rate", "", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "client late, p99 ms", "errors"],
        rows,
      },
    ],
    plots: [
      linePlot({ title: "Median latency", ...common, lines: lines(0) }),
      linePlot({ title: "99th percentile", ...common, lines: lines(2) }),
    ],
    figures,
  };
}
