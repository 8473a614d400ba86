/** Choice among a route's upstreams, and checks of their health, compiled for requests. */
import type { Upstream } from "../connection/compiled.ts";

/** Balancing settings of a route. */
export interface Balancing {
  readonly policy: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  readonly healthChecks: readonly HealthCheckSettings[];
  readonly outliers: OutlierDetection | undefined;
  /** Below this share of healthy upstreams all are used; 0 = never; undefined = only if none is healthy. */
  readonly panicPercent: number | undefined;
}

export interface HealthCheckSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly unhealthyThreshold: number;
  readonly healthyThreshold: number;
  readonly probe: HttpProbe | TcpProbe | GrpcProbe;
}

export interface HttpProbe {
  readonly kind: "http";
  readonly path: string;
  readonly host: string | undefined;
  /** `end` is exclusive. */
  readonly statuses: readonly { readonly start: number; readonly end: number }[];
}

/** Payloads in hexadecimal digits. */
export interface TcpProbe {
  readonly kind: "tcp";
  readonly send: string | undefined;
  /** In this order, with anything between them. Empty: an open connection suffices. */
  readonly receive: readonly string[];
}

export interface GrpcProbe {
  readonly kind: "grpc";
  /** "" checks the whole server. */
  readonly serviceName: string;
  readonly authority: string | undefined;
}

export interface OutlierDetection {
  /** 0 = disabled. */
  readonly consecutive5xx: number;
  readonly consecutiveGatewayFailure: number;
  readonly baseEjectionMs: number;
  readonly maxEjectionMs: number;
  readonly maxEjectionPercent: number;
}

/** Part of a route that balancing uses. */
export interface BalancedRoute {
  /** "<owner>/<name>", unique. */
  readonly key: string;
  /** [] if the route itself answers. */
  readonly to: readonly Upstream[];
  /** undefined: upstreams take turns, and unreachable ones are skipped for a while. */
  readonly balancing?: Balancing | undefined;
}
