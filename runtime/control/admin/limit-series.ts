/** What became of requests under `rate_limits`, read from the part that counts them. */
import type { Series } from "./series.ts";

interface LimitCounts {
  readonly route: string;
  readonly limit: string;
  readonly limited: number;
  readonly unavailable: number;
  readonly alone: number;
}

/** @param counts of this process */
export function limitSeries(counts: () => Iterable<LimitCounts>): Series {
  return {
    name: "gateway_rate_limited_total",
    help: "Requests under rate limits, by route, limit and result: limited (429), unavailable (503: the store is away), alone (let pass by this process's own count while the store is away).",
    type: "counter",
    *read() {
      for (const { route, limit, limited, unavailable, alone } of counts()) {
        yield { value: limited, labels: { route, limit, result: "limited" } };
        yield { value: unavailable, labels: { route, limit, result: "unavailable" } };
        yield { value: alone, labels: { route, limit, result: "alone" } };
      }
    },
  };
}
