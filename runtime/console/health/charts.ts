/** From rollups to lines of charts. */
import { type LineParts, type LineSeries, MAX_LINES } from "../../pages/console/charts/chart.ts";
import { quantileMs } from "../../health/histogram.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import type { Rollup, RollupCounts } from "../../health/rollup.ts";
import type { Tier } from "../../health/tiers.ts";
import { countedSteps, countOf } from "./counted.ts";

/** @param scopes whose counts are added up */
export function trafficCharts(
  tier: Tier,
  steps: readonly TrafficStep[],
  scopes: readonly string[],
): readonly LineParts[] {
  const counted = countedSteps(steps, scopes);
  const rate = (name: string, ...of: readonly RollupCounts[]): LineSeries => ({
    name,
    values: counted.map((step) => (step && step.seconds > 0 ? countOf(step, of) / step.seconds : undefined)),
  });
  const quantile = (name: string, share: number): LineSeries => ({
    name,
    values: counted.map((step) => step && quantileMs(step.sum.durations, share)),
  });
  const common = { starts: steps.map(({ start }) => start * 1000), stepMs: tier.stepSeconds * 1000 };
  const perSecond = { ...common, unit: "per second", axis: "linear" } as const;
  return [
    {
      ...common,
      id: "latency",
      title: "Response time",
      unit: "ms",
      axis: "log",
      lines: [quantile("p50", 0.5), quantile("p95", 0.95), quantile("p99", 0.99)],
    },
    { ...perSecond, id: "allowed", title: "Allowed requests", lines: [rate("Allowed", "allowed")] },
    {
      ...perSecond,
      id: "denied",
      title: "Requests not allowed",
      lines: [
        rate("Denied", "denied"),
        rate("Rate limited", "limited"),
        rate("Pending approval", "waiting"),
        rate("Sign-in", "sign-in"),
      ],
    },
    {
      ...perSecond,
      id: "failures",
      title: "Failures",
      lines: [rate("Status 5xx", "5xx"), rate("Truncated response", "cut"), rate("Upstream failed", "failed")],
    },
  ];
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
