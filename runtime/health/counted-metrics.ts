/** Metrics of a gateway that also counts its traffic per minute. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Decision } from "../policy/facts.ts";
import { asksToSignIn } from "../audit/sign-in-reasons.ts";
import type { Traffic } from "./traffic.ts";

/** The observed calls of the proxy's metrics. */
export interface TrafficMetrics {
  readonly answered: (route: CompiledRoute, status: number, durationMs: number) => void;
  readonly upstreamFailed: (route: CompiledRoute, failure: string) => void;
  readonly decided: (decision: Decision) => void;
}

/** Metrics that are also counted here. */
interface CountedCalls {
  readonly answered: (route: CompiledRoute, status: number, durationMs: number, beganMs?: number) => void;
  readonly upstreamFailed: (route: CompiledRoute, failure: string, upstream?: string) => void;
  readonly decided: (decision: Decision, route: CompiledRoute, isLimited: boolean) => void;
}

/** @param metrics called first */
export function countedMetrics<M extends TrafficMetrics>(
  metrics: M,
  traffic: Traffic,
): Omit<M, keyof CountedCalls> & CountedCalls {
  return {
    ...metrics,
    answered(route, status, durationMs, beganMs) {
      metrics.answered(route, status, durationMs);
      traffic.answered(route, status, beganMs === undefined ? undefined : performance.now() - beganMs);
    },
    upstreamFailed(route, failure, upstream = "") {
      metrics.upstreamFailed(route, failure);
      traffic.failed(route, failure, upstream);
    },
    decided(decision, route, isLimited) {
      metrics.decided(decision);
      traffic.count(route, outcomeOf(decision, isLimited));
    },
  };
}

function outcomeOf(decision: Decision, isLimited: boolean): "allowed" | "denied" | "limited" | "waiting" | "sign-in" {
  const { allowed, approval, denied, allowWhyFalse } = decision;
  if (isLimited) return "limited";
  if (allowed) return "allowed";
  if (approval !== undefined) return "waiting";
  return !denied && asksToSignIn(allowWhyFalse) ? "sign-in" : "denied";
}
