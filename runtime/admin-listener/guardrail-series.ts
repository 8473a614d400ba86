/** Metrics of guardrails (`mcp.server.guardrail`). */
import { histogram, type Series } from "./series.ts";

export interface GuardrailCounts {
  /** @param route its key @param kind phase: request, response @param verdict one of few, ours */
  readonly add: (route: string, kind: string, verdict: string, durationMs: number) => void;
  readonly series: readonly Series[];
}

const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

/** @param hasRoute routes that are gone have no series */
export function createGuardrailCounts(hasRoute: (key: string) => boolean): GuardrailCounts {
  const verdicts = new Map<
    string,
    { readonly labels: Readonly<Record<"route" | "kind" | "verdict", string>>; value: number }
  >();
  const durations = new Map<string, { readonly counts: number[]; sumMs: number }>();
  return {
    add(route, kind, verdict, durationMs) {
      const key = JSON.stringify([route, kind, verdict]);
      const known = verdicts.get(key);
      if (known) known.value += 1;
      else verdicts.set(key, { labels: { route, kind, verdict }, value: 1 });
      const timed = durations.get(kind) ?? { counts: Array.from({ length: BUCKETS_MS.length + 1 }, () => 0), sumMs: 0 };
      durations.set(kind, timed);
      const bucket = BUCKETS_MS.findIndex((limit) => durationMs <= limit);
      const at = bucket < 0 ? BUCKETS_MS.length : bucket;
      timed.counts[at] = (timed.counts[at] ?? 0) + 1;
      timed.sumMs += durationMs;
    },
    series: [
      {
        name: "gateway_guardrail_verdicts_total",
        help: "Verdicts of guardrails, by route, kind of check (request, response) and verdict (pass, deny, mutate, error: none that can be used).",
        type: "counter",
        read() {
          for (const [key, { labels }] of verdicts) if (!hasRoute(labels.route)) verdicts.delete(key);
          return verdicts.values();
        },
      },
      {
        name: "gateway_guardrail_duration_seconds",
        help: "Time until a guardrail answered, or failed to, by kind of check (request, response).",
        type: "histogram",
        *read() {
          for (const [kind, timed] of durations) yield* histogram(kind, timed, BUCKETS_MS);
        },
      },
    ],
  };
}
