/** What became of spans, read from the tracing part. */
import type { Series } from "./series.ts";

/** @param counts of this process */
export function traceSeries(
  counts: () => { readonly exported: number; readonly dropped: number; readonly failed: number },
): Series {
  return {
    name: "gateway_trace_spans_total",
    help: "Spans, by result: exported, dropped because the queue was full, failed because the receiver did not take them.",
    type: "counter",
    read: () => Object.entries(counts()).map(([result, value]) => ({ value, labels: { result } })),
  };
}
