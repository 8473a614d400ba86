/** Compiles the upstream settings of a route, with defaults. */
import { timerMs } from "../../settings/values.ts";
import type { Balancing, HealthCheckSettings } from "./compiled.ts";
import { healthCheckShape, payloadHex } from "./health-check-settings.ts";
import { type BalancingDoc, balancingShape } from "./settings.ts";
import { withDefaults } from "../../settings/types/registry.ts";

type HealthCheckDoc = NonNullable<BalancingDoc["health_checks"]>[number];

/** @returns undefined without any of these settings: upstreams then take turns */
export function compileBalancing(doc: BalancingDoc): Balancing | undefined {
  const { load_balancing_policy: policy, health_checks: checks } = doc;
  const panicPercent = doc.healthy_panic_threshold;
  if ([policy, checks, doc.outlier_detection, panicPercent].every((each) => each === undefined)) return undefined;
  const filled = withDefaults(balancingShape, doc);
  const outliers = filled.outlier_detection;
  return {
    policy: filled.load_balancing_policy,
    healthChecks: (checks ?? []).map(compileHealthCheck),
    outliers: outliers && {
      consecutive5xx: outliers.consecutive_5xx,
      consecutiveGatewayFailure: outliers.consecutive_gateway_failure,
      baseEjectionMs: timerMs(outliers.base_ejection_time),
      maxEjectionMs: timerMs(outliers.max_ejection_time),
      maxEjectionPercent: outliers.max_ejection_percent,
    },
    panicPercent,
  };
}

function compileHealthCheck(written: HealthCheckDoc): HealthCheckSettings {
  const doc = withDefaults(healthCheckShape, written);
  return {
    intervalMs: timerMs(doc.interval),
    timeoutMs: timerMs(doc.timeout),
    unhealthyThreshold: doc.unhealthy_threshold,
    healthyThreshold: doc.healthy_threshold,
    probe: compileProbe(written),
  };
}

function compileProbe({ http_health_check: http, tcp_health_check: tcp, grpc_health_check: grpc }: HealthCheckDoc) {
  if (http) {
    const statuses = http.expected_statuses ?? [{ start: 200, end: 201 }];
    return { kind: "http", path: http.path, host: http.host, statuses } as const;
  }
  if (grpc) return { kind: "grpc", serviceName: grpc.service_name ?? "", authority: grpc.authority } as const;
  return {
    kind: "tcp",
    send: tcp?.send && payloadHex(tcp.send),
    receive: (tcp?.receive ?? []).map(payloadHex),
  } as const;
}
