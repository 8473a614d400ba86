/** How a route chooses among its upstreams and learns which of them are well, as requests read it. */
import type { Upstream } from "../connection/compiled.ts";

/** How a route chooses among its upstreams. */
export interface Balancing {
  readonly policy: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  readonly healthChecks: readonly HealthCheck[];
  readonly outliers: OutlierDetection | undefined;
  /** With a smaller share of healthy upstreams all are used; 0 = never; undefined = when none is healthy. */
  readonly panicPercent: number | undefined;
}

export interface HealthCheck {
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
  /** `end` is the first status that is not expected. */
  readonly statuses: readonly { readonly start: number; readonly end: number }[];
}

/** Bytes in hexadecimal digits. */
export interface TcpProbe {
  readonly kind: "tcp";
  readonly send: string | undefined;
  /** One after the other, whatever stands between them. Empty: opening a connection is enough. */
  readonly receive: readonly string[];
}

export interface GrpcProbe {
  readonly kind: "grpc";
  /** "" asks about the server as a whole. */
  readonly serviceName: string;
  readonly authority: string | undefined;
}

export interface OutlierDetection {
  /** 0 = not looked at. */
  readonly consecutive5xx: number;
  readonly consecutiveGatewayFailure: number;
  readonly baseEjectionMs: number;
  readonly maxEjectionMs: number;
  readonly maxEjectionPercent: number;
}

/** What balancing reads of a route. */
export interface BalancedRoute {
  /** "<owner>/<name>", unique. */
  readonly key: string;
  /** [] where the route answers by itself. */
  readonly to: readonly Upstream[];
  /** undefined: upstreams take turns, and those that cannot be reached are left out for a while. */
  readonly balancing?: Balancing | undefined;
}
