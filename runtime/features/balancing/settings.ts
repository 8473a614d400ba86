/** Settings of a route with several upstreams: balancing, ejection, and limits. */
import { healthCheckRules, healthChecks } from "./health-check-settings.ts";
import { block } from "../../settings/types/block.ts";
import { choice, count, duration } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { upstreamRules } from "./rules.ts";
import { errorAt, type Report } from "../../settings/problem.ts";

export const BALANCING_POLICIES = ["round_robin", "random", "least_request", "ring_hash", "maglev"] as const;

export const balancingShape = {
  load_balancing_policy: choice(BALANCING_POLICIES, {
    doc: "Selection of the upstream: weighted turns, random, fewest active requests, or the same one for the same user or client address (`ring_hash`, alias `maglev`).",
    default: "round_robin",
    annotation: "load_balancing_policy",
  }),
  maglev_lb_config: block(
    {
      table_size: count({
        doc: "No effect.",
        unset: "none",
        min: 2,
        max: 5_000_011,
      }),
    },
    {
      doc: "Accepted for compatibility, no effect.",
      unset: "none",
      annotation: "maglev_lb_config",
    },
  ),
  health_checks: healthChecks,
  outlier_detection: block(
    {
      consecutive_5xx: count({
        doc: "Consecutive 5xx responses or failures before an upstream is ejected. 0 disables it.",
        default: 5,
        min: 0,
        max: 1_000,
      }),
      consecutive_gateway_failure: count({
        doc: "Consecutive 502, 503 and 504 responses or failures before an upstream is ejected. 0 disables it.",
        default: 0,
        min: 0,
        max: 1_000,
      }),
      base_ejection_time: duration({
        doc: "Duration of the first ejection. Each further ejection adds this duration.",
        default: "30s",
        minMs: 100,
      }),
      max_ejection_time: duration({
        doc: "Maximum ejection time. The count restarts after the same time without ejection.",
        default: "5m",
        minMs: 100,
      }),
      max_ejection_percent: count({
        doc: "Maximum percentage of ejected upstreams. At least one can be ejected, never the last one.",
        default: 10,
        min: 1,
        max: 100,
      }),
    },
    {
      doc: "Ejects upstreams that respond with errors. Without it, only unreachable upstreams are ejected, for up to 30 seconds.",
      unset: "none",
      annotation: "outlier_detection",
    },
  ),
  healthy_panic_threshold: count({
    doc: "Percentage of healthy upstreams below which all are used. 0: never, so that requests get 503.",
    unset: "all upstreams are used if none is healthy",
    annotation: "healthy_panic_threshold",
    min: 0,
    max: 100,
  }),
};

/** Balancing settings of a route. */
export type BalancingDoc = ShapeDoc<typeof balancingShape>;

export function balancingRules(
  route: Partial<BalancingDoc> & Parameters<typeof upstreamRules>[0],
  report: Report,
): void {
  upstreamRules(route, report);
  healthCheckRules(route.health_checks ?? [], report);
  const outliers = route.outlier_detection;
  if (outliers?.consecutive_5xx === 0 && (outliers.consecutive_gateway_failure ?? 0) === 0)
    report(errorAt(["outlier_detection"], "looks at nothing, must have a threshold above 0"));
}
