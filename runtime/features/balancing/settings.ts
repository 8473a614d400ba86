/** Settings of a route with several upstreams: which takes a request, which are left out, how much each is given. */
import { healthCheckRules, healthChecks } from "./health-check-settings.ts";
import { block } from "../../settings/types/block.ts";
import { choice, count, duration } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { upstreamRules } from "./rules.ts";
import { errorAt, type Report } from "../../settings/problem.ts";

export const BALANCING_POLICIES = ["round_robin", "random", "least_request", "ring_hash", "maglev"] as const;

export const balancingShape = {
  load_balancing_policy: choice(BALANCING_POLICIES, {
    doc: "Which upstream takes the next request: `round_robin` (weighted), `random`, `least_request` (fewest active requests), or (`ring_hash`, `maglev`) always the same one for the same user, or for the same address without a user. `maglev` is another name of `ring_hash`.",
    default: "round_robin",
    annotation: "load_balancing_policy",
  }),
  maglev_lb_config: block(
    {
      table_size: count({
        doc: "Has no effect.",
        unset: "no effect either",
        min: 2,
        max: 5_000_011,
      }),
    },
    {
      doc: "Accepted for configurations that have it, and without effect: `maglev` needs no table here.",
      unset: "no effect either",
      annotation: "maglev_lb_config",
    },
  ),
  health_checks: healthChecks,
  outlier_detection: block(
    {
      consecutive_5xx: count({
        doc: "Answers 5xx in a row, failures to answer included, after which an upstream is left out. 0: not looked at.",
        default: 5,
        min: 0,
        max: 1_000,
      }),
      consecutive_gateway_failure: count({
        doc: "Answers 502, 503 and 504 in a row, failures to answer included, after which an upstream is left out. 0: not looked at.",
        default: 0,
        min: 0,
        max: 1_000,
      }),
      base_ejection_time: duration({
        doc: "How long it is left out the first time; the second time twice as long, and so on.",
        default: "30s",
        minMs: 100,
      }),
      max_ejection_time: duration({
        doc: "Longest time it is left out. After as long without trouble it counts from the beginning.",
        default: "5m",
        minMs: 100,
      }),
      max_ejection_percent: count({
        doc: "Largest share of the upstreams left out at once. At least one may be; the last one never is.",
        default: 10,
        min: 1,
        max: 100,
      }),
    },
    {
      doc: "Leave out upstreams whose answers to users' requests are errors.",
      unset: "only those that cannot be reached are left out, for up to 30 seconds",
      annotation: "outlier_detection",
    },
  ),
  healthy_panic_threshold: count({
    doc: "Percentage: with a smaller share of healthy upstreams all are used, whatever is known of them. 0: never; requests are answered 503 when none is healthy.",
    unset: "all are used when none is healthy",
    annotation: "healthy_panic_threshold",
    min: 0,
    max: 100,
  }),
};

/** What of a route is about which upstream takes a request. */
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
