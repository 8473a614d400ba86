/**
 * Numbers → the Prometheus text format. prom-client formats them and adds the process's own metrics. Our series are
 * read from plain numbers at scrape time, so that requests pay nothing for labels.
 */
import { AggregatorRegistry, collectDefaultMetrics, Registry, type Metric } from "prom-client";

import type { CountedDurations } from "../shared/timing/duration-counts.ts";

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** "_bucket", "_sum", "_count" of a histogram. */
  readonly suffix?: string;
}

export interface Series {
  /** Starts with "gateway_", or is one of OpenTelemetry's; counters end with "_total", other names with their unit. */
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** How values of several processes are merged; default: the sum. */
  readonly merge?: "sum" | "min" | "max" | "average";
  readonly read: () => Iterable<Sample>;
}

export interface SeriesRegistry {
  register(series: Series): void;
  readonly contentType: string;
  /** All registered series, read now. */
  text(): Promise<string>;
  values(): Promise<MetricValues>;
}

/** All metrics of one process; plain data. */
export type MetricValues = readonly object[];

/** Merges several processes: sums, unless a series specifies otherwise. */
export async function mergeMetrics(
  processes: readonly MetricValues[],
): Promise<{ readonly contentType: string; readonly text: string }> {
  const merged = AggregatorRegistry.aggregate(processes as object[][]);
  return { contentType: merged.contentType, text: await merged.metrics() };
}

/** Interval of a timer that cannot be omitted: longer than a process runs. */
const NEVER_MS = 2 ** 31 - 1;

/** @param options.processMetrics memory, CPU time and the like of this process; on by default */
export function createSeriesRegistry({ processMetrics = true } = {}): SeriesRegistry {
  const registry = new Registry();
  // prom-client's own classes hash labels at every change; the registry only requires this form.
  const register = (series: Series): void => registry.registerMetric(lazyMetric(series) as unknown as Metric);
  if (processMetrics) {
    collectDefaultMetrics({ register: registry, prefix: "gateway_", eventLoopMonitoringPrecision: NEVER_MS });
    // Measured by that timer; loop-series.ts replaces them.
    for (const { name } of registry.getMetricsAsArray())
      if (name.includes("_eventloop_lag_")) registry.removeSingleMetric(name);
  }
  return {
    register,
    contentType: registry.contentType,
    text: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
  };
}

/** Events by labels: few, and of our own choice. */
export interface LabelledCounter<Label extends string> {
  readonly series: Series;
  readonly add: (labels: Readonly<Record<Label, string>>, count?: number) => void;
}

/** @param keeps false: the labels no longer have a series */
export function createCounter<Label extends string>(
  about: Pick<Series, "name" | "help">,
  keeps?: (labels: Readonly<Record<Label, string>>) => boolean,
): LabelledCounter<Label> {
  const counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; value: number }>();
  return {
    series: {
      ...about,
      type: "counter",
      read() {
        if (keeps) for (const [key, { labels }] of counts) if (!keeps(labels)) counts.delete(key);
        return counts.values();
      },
    },
    add(labels, count = 1) {
      const key = JSON.stringify(labels);
      const known = counts.get(key);
      if (known) known.value += count;
      else counts.set(key, { labels, value: count });
    },
  };
}

/** Durations as samples of a histogram. */
export function* histogram(
  labels: Readonly<Record<string, string>>,
  { bucketsMs, counts, sumMs }: CountedDurations,
): Iterable<Sample> {
  let total = 0;
  for (const [index, count] of counts.entries()) {
    total += count;
    const limit = bucketsMs[index];
    const le = limit === undefined ? "+Inf" : String(limit / 1000);
    yield { value: total, labels: { ...labels, le }, suffix: "_bucket" };
  }
  yield { value: sumMs / 1000, labels, suffix: "_sum" };
  yield { value: total, labels, suffix: "_count" };
}

function lazyMetric({ name, help, type, merge = "sum", read }: Series) {
  return {
    name,
    help,
    type,
    aggregator: merge,
    reset() {},
    get: () => ({
      name,
      help,
      type,
      aggregator: merge,
      values: [...read()].map(({ value, labels = {}, suffix = "" }) => ({ value, labels, metricName: name + suffix })),
    }),
  };
}
