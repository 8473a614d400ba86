/** From rollups to lines of charts. */
import { type LineParts, type LineSeries, MAX_LINES } from "../../pages/console/charts/chart.ts";
import { quantileMs } from "../../health/histogram.ts";
import type { TrafficStep } from "../../health/read-traffic.ts";
import { addCounts, BUSIEST, type RollupCounts, numberOf, type Rollup, type ScopeCounts } from "../../health/rollup.ts";
import type { Tier } from "../../health/tiers.ts";

const NOTHING: ScopeCounts = { counts: [], durations: [] };

/** @param scopes whose counts are added up */
export function trafficCharts(
  tier: Tier,
  steps: readonly TrafficStep[],
  scopes: readonly string[],
): readonly LineParts[] {
  const counted = steps.map(({ rollup }) =>
    rollup && tells(rollup, scopes) ? { rollup, sum: sumOf(rollup, scopes) } : undefined,
  );
  const rate = (name: string, ...of: readonly RollupCounts[]): LineSeries => ({
    name,
    values: counted.map((step) => step && rateOf(step.rollup, step.sum, of)),
  });
  const quantile = (name: string, share: number): LineSeries => ({
    name,
    values: counted.map((step) => step && quantileMs(step.sum.durations, share)),
  });
  const common = { starts: steps.map(({ start }) => start * 1000), stepMs: tier.stepSeconds * 1000 };
  const perSecond = { ...common, unit: "per second", axis: "linear" } as const;
  return [
    { ...perSecond, id: "allowed", title: "Allowed requests", lines: [rate("allowed", "allowed")] },
    {
      ...perSecond,
      id: "denied",
      title: "Requests not allowed",
      lines: [rate("denied", "denied"), rate("rate limited", "limited"), rate("pending approval", "waiting")],
    },
    {
      ...common,
      id: "latency",
      title: "Response time",
      unit: "ms",
      axis: "log",
      lines: [quantile("p50", 0.5), quantile("p99", 0.99)],
    },
    {
      ...perSecond,
      id: "failures",
      title: "Failures",
      lines: [rate("status 5xx", "5xx"), rate("truncated response", "cut"), rate("upstream failed", "failed")],
    },
  ];
}

/** @param nameOf how users know a process */
export function loopChart(tier: Tier, steps: readonly TrafficStep[], nameOf: (id: string) => string): LineParts {
  const ids = [...new Set(steps.flatMap(({ rollup }) => Object.keys(rollup?.loopMs ?? {})))].toSorted();
  const lines =
    ids.length <= MAX_LINES
      ? ids.map((id) => ({ name: nameOf(id), values: steps.map(({ rollup }) => rollup?.loopMs[id]) }))
      : [{ name: "slowest process", values: steps.map(({ rollup }) => worst(rollup)) }];
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

/** Of a route that is not named something is only known where all are that had requests. */
function tells({ scopes }: Rollup, names: readonly string[]): boolean {
  const isMissing = names.some((name) => name.startsWith("route:") && !Object.hasOwn(scopes, name));
  return !isMissing || Object.keys(scopes).filter((name) => name.startsWith("route:")).length < BUSIEST;
}

function worst(rollup: Rollup | undefined): number | undefined {
  const all = Object.values(rollup?.loopMs ?? {});
  return all.length === 0 ? undefined : all.reduce((a, b) => Math.max(a, b));
}

function sumOf({ scopes }: Rollup, names: readonly string[]): ScopeCounts {
  return names.reduce((sum, name) => {
    const counts = Object.hasOwn(scopes, name) ? scopes[name] : undefined;
    return counts ? addCounts(sum, counts) : sum;
  }, NOTHING);
}

function rateOf({ start, until }: Rollup, sum: ScopeCounts, of: readonly RollupCounts[]): number | undefined {
  if (until <= start) return undefined;
  return of.reduce((total, counted) => total + numberOf(sum, counted), 0) / (until - start);
}
