/** Metrics of upstreams about which something is known: those with others beside them, checks or ejection. */
import type { UpstreamStatus } from "../../features/balancing/apply-state.ts";
import type { Series } from "./series.ts";

/** @param upstreams those of this process, now */
export function upstreamSeries(upstreams: () => readonly UpstreamStatus[]): readonly Series[] {
  return [
    {
      name: "gateway_upstream_healthy",
      help: "1 while an upstream of a route takes requests, 0 while it failed its health checks, was left out or could not be reached.",
      type: "gauge",
      merge: "min",
      *read() {
        for (const { route, upstream, healthy } of upstreams())
          yield { value: healthy ? 1 : 0, labels: { route, upstream } };
      },
    },
    {
      name: "gateway_upstream_ejections_total",
      help: "How often an upstream was left out because of its answers.",
      type: "counter",
      *read() {
        for (const { route, upstream, ejections } of upstreams())
          if (ejections > 0) yield { value: ejections, labels: { route, upstream } };
      },
    },
  ];
}
