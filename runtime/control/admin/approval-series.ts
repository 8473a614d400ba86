/** What becomes of approvals, as a series. */
import type { Series } from "./series.ts";

/** @param counts how often each of them happened in this process */
export function approvalSeries(counts: ReadonlyMap<string, number>): Series {
  return {
    name: "gateway_approvals_total",
    help: "Approvals of tool calls: asked for, approved, refused, and used up by a call.",
    type: "counter",
    read: () => [...counts].map(([event, value]) => ({ value, labels: { event } })),
  };
}
