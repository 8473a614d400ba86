/**
 * Numbers → the Prometheus text form. prom-client formats and adds the process's own metrics; our series are read at
 * scrape time from plain numbers, so that a request pays for no labels.
 */
import { collectDefaultMetrics, Registry, type Metric } from "prom-client";

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** "_bucket", "_sum", "_count" of a histogram. */
  readonly suffix?: string;
}

export interface Series {
  /** Begins with "gateway_"; counters end with "_total", other names with their unit. */
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly read: () => Iterable<Sample>;
}

export interface SeriesRegistry {
  register(series: Series): void;
  readonly contentType: string;
  /** Everything registered, read now. */
  text(): Promise<string>;
}

export function createSeriesRegistry(): SeriesRegistry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "gateway_" });
  return {
    register(series) {
      // prom-client's own classes hash labels at every change; the registry only asks for this form.
      registry.registerMetric(lazyMetric(series) as unknown as Metric);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}

function lazyMetric({ name, help, type, read }: Series) {
  return {
    name,
    help,
    type,
    aggregator: "sum",
    reset() {},
    get: () => ({
      name,
      help,
      type,
      aggregator: "sum",
      values: [...read()].map(({ value, labels = {}, suffix = "" }) => ({ value, labels, metricName: name + suffix })),
    }),
  };
}
