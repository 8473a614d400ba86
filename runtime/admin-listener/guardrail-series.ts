/** Metrics of guardrails (`mcp.server.guardrail`). */
import { DurationCounts } from "../shared/timing/duration-counts.ts";
import { BUCKETS_MS } from "./metrics.ts";
import { createCounter, histogram, type Series } from "./series.ts";

export interface GuardrailCounts {
  /** @param route its key @param kind phase: request, response @param verdict one of few, ours */
  readonly add: (route: string, kind: string, verdict: string, durationMs: number) => void;
  readonly series: readonly Series[];
}

/** @param hasRoute routes that are gone have no series */
export function createGuardrailCounts(hasRoute: (key: string) => boolean): GuardrailCounts {
  const verdicts = createCounter<"route" | "kind" | "verdict">(
    {
      name: "gateway_guardrail_verdicts_total",
      help: "Verdicts of guardrails, by route, kind of check (request, response) and verdict (pass, deny, mutate, error: none that can be used).",
    },
    ({ route }) => hasRoute(route),
  );
  const durations = new Map<string, DurationCounts>();
  return {
    add(route, kind, verdict, durationMs) {
      verdicts.add({ route, kind, verdict });
      let timed = durations.get(kind);
      if (!timed) durations.set(kind, (timed = new DurationCounts(BUCKETS_MS)));
      timed.add(durationMs);
    },
    series: [
      verdicts.series,
      {
        name: "gateway_guardrail_duration_seconds",
        help: "Time until a guardrail answered, or failed to, by kind of check (request, response).",
        type: "histogram",
        *read() {
          for (const [kind, timed] of durations) yield* histogram({ kind }, timed);
        },
      },
    ],
  };
}
