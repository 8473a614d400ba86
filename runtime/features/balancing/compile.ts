/** The upstream settings of a route → their compiled form, defaults filled in. */
import { timerMs } from "../../settings/values.ts";
import type { Balancing, HealthCheck } from "./compiled.ts";
import { payloadHex } from "./health-check-settings.ts";
import type { BalancingDoc } from "./settings.ts";
import { MAGLEV_TABLE_SIZE } from "./rules.ts";

type HealthCheckDoc = NonNullable<BalancingDoc["health_checks"]>[number];

/** @returns undefined where nothing was written: upstreams then take turns */
export function compileBalancing(doc: BalancingDoc): Balancing | undefined {
  const { load_balancing_policy: policy, health_checks: checks, outlier_detection: outliers } = doc;
  const panicPercent = doc.healthy_panic_threshold;
  if ([policy, checks, outliers, panicPercent].every((each) => each === undefined)) return undefined;
  return {
    policy: policy ?? "round_robin",
    maglevTableSize: doc.maglev_lb_config?.table_size ?? MAGLEV_TABLE_SIZE,
    healthChecks: (checks ?? []).map(compileHealthCheck),
    outliers: outliers && {
      consecutive5xx: outliers.consecutive_5xx ?? 5,
      consecutiveGatewayFailure: outliers.consecutive_gateway_failure ?? 0,
      baseEjectionMs: timerMs(outliers.base_ejection_time, "30s"),
      maxEjectionMs: timerMs(outliers.max_ejection_time, "5m"),
      maxEjectionPercent: outliers.max_ejection_percent ?? 10,
    },
    panicPercent,
  };
}

function compileHealthCheck(doc: HealthCheckDoc): HealthCheck {
  return {
    intervalMs: timerMs(doc.interval, "10s"),
    timeoutMs: timerMs(doc.timeout, "5s"),
    unhealthyThreshold: doc.unhealthy_threshold ?? 3,
    healthyThreshold: doc.healthy_threshold ?? 2,
    probe: compileProbe(doc),
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
