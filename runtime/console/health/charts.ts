/** From rollups to lines of charts. */
import { type ColumnParts, type LineParts, type LineSeries, MAX_LINES } from "../../pages/console/charts/chart.ts";
import { quantileMs } from "../../health/histogram.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import type { Rollup, RollupCounts } from "../../health/rollup.ts";
import type { Tier } from "../../health/tiers.ts";
import { type CountedStep, countedSteps, countOf, mergeSteps } from "./counted.ts";
import { RANGES } from "./ranges.ts";

/** @param scopes whose counts are added up */
export function trafficCharts(tier: Tier, steps: readonly TrafficStep[], scopes: readonly string[]) {
  const counted = countedSteps(steps, scopes);
  const rate = (name: string, ...of: readonly RollupCounts[]): LineSeries => ({
    name,
    values: counted.map((step) => (step && step.seconds > 0 ? countOf(step, of) / step.seconds : undefined)),
  });
  const quantile = (name: string, share: number): LineSeries => ({
    name,
    values: counted.map((step) => step && quantileMs(step.sum.durations, share)),
  });
  const starts = steps.map(({ start }) => start * 1000);
  const common = { starts, stepMs: tier.stepSeconds * 1000 };
  const { merged } = RANGES[tier.name];
  const latency: LineParts = {
    ...common,
    id: "latency",
    title: "Response time",
    unit: "ms",
    axis: "log",
    lines: [quantile("p50", 0.5), quantile("p95", 0.95), quantile("p99", 0.99)],
  };
  const requests: ColumnParts = {
    ...decisionsChart(mergeSteps(counted, merged), {
      starts: starts.filter((_, index) => index % merged === 0),
      stepMs: tier.stepSeconds * merged * 1000,
    }),
    id: "requests",
    title: "Requests",
  };
  const failures: LineParts = {
    ...common,
    id: "failures",
    title: "Failures",
    unit: "per second",
    axis: "linear",
    lines: [rate("Status 5xx", "5xx"), rate("Truncated response", "cut"), rate("Upstream failed", "failed")],
  };
  return { latency, requests, failures };
}

/** A request that was allowed and then failed counts as failed. */
export function decisionsChart(
  steps: readonly (CountedStep | undefined)[],
  common: Pick<ColumnParts, "starts" | "stepMs" | "hrefOf">,
): ColumnParts {
  const values = (of: RollupCounts): readonly (number | undefined)[] =>
    steps.map((step) => step && countOf(step, [of]));
  const allowed = steps.map((step) => step && Math.max(0, countOf(step, ["allowed"]) - countOf(step, ["5xx"])));
  return {
    ...common,
    id: "decisions-chart",
    title: "Decisions by outcome",
    series: [
      { name: "Denied", tone: "denied", values: values("denied") },
      { name: "Pending approval", tone: "waiting", values: values("waiting") },
      { name: "Rate limited", tone: "limited", values: values("limited") },
      { name: "Failed", tone: "failed", values: values("5xx") },
      { name: "Allowed", tone: "allowed", values: allowed },
    ],
  };
}

/** @param nameOf how users know a process */
export function loopChart(tier: Tier, steps: readonly TrafficStep[], nameOf: (id: string) => string): LineParts {
  const ids = [...new Set(steps.flatMap(({ rollup }) => Object.keys(rollup?.loopMs ?? {})))].toSorted();
  const lines =
    ids.length <= MAX_LINES
      ? ids.map((id) => ({ name: nameOf(id), values: steps.map(({ rollup }) => rollup?.loopMs[id]) }))
      : [{ name: "Slowest process", values: steps.map(({ rollup }) => worst(rollup)) }];
  return {
    id: "loop",
    title: "Event loop lag (p99 per minute)",
    unit: "ms",
    axis: "linear",
    starts: steps.map(({ start }) => start * 1000),
    stepMs: tier.stepSeconds * 1000,
    lines,
  };
}

function worst(rollup: Rollup | undefined): number | undefined {
  const all = Object.values(rollup?.loopMs ?? {});
  return all.length === 0 ? undefined : all.reduce((a, b) => Math.max(a, b));
}
