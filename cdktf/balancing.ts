/** How a route treats its upstreams: which takes a request, which are left out, how much each is given. */
export interface BalancingSettings {
  /**
   * Which upstream takes the next request: in turns by weight, by chance, the one with the fewest requests under way, or
   * (`ring_hash`, `maglev`) always the same one for the same user, or for the same address without a user; `maglev`
   * looks it up in a table instead of weighing all upstreams, which is faster with many.
   * @default round_robin
   */
  readonly loadBalancingPolicy?: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  /**
   * Table of `loadBalancingPolicy: "maglev"`. Routes with the same upstreams and weights share one.
   * @default - 65,537 places
   */
  readonly maglevLbConfig?: MaglevLbConfig;
  /**
   * Checks that are made of each upstream all the time. One that fails any of them gets no requests; the very first
   * result counts alone.
   * @default - upstreams are not checked
   */
  readonly healthChecks?: readonly HealthCheck[];
  /**
   * Leave out upstreams whose answers to users' requests are errors.
   * @default - only those that cannot be reached are left out, for up to 30 seconds
   */
  readonly outlierDetection?: OutlierDetection;
  /**
   * Percentage: with a smaller share of healthy upstreams all are used, whatever is known of them. 0: never; requests are
   * answered 503 when none is healthy.
   * @default - all are used when none is healthy
   */
  readonly healthyPanicThreshold?: number;
  /**
   * Limits of this route towards each upstream, in each process of the gateway. With several upstreams another one is
   * tried before the answer is 503.
   * @default - 10,000 requests under way
   */
  readonly circuitBreakerThresholds?: CircuitBreakerThresholds;
}

/** The table of Maglev hashing. */
export interface MaglevLbConfig {
  /**
   * Places of the table, a prime number. With a hundred times as many as upstreams each has its share to within 1 %.
   * @default 65537
   */
  readonly tableSize?: number;
}

/** One check of each upstream: exactly one of `httpHealthCheck`, `tcpHealthCheck` and `grpcHealthCheck`. */
export interface HealthCheck {
  /**
   * Time between two checks.
   * @default 10s
   */
  readonly interval?: string;
  /**
   * A check that takes longer has failed.
   * @default 5s
   */
  readonly timeout?: string;
  /**
   * Failed checks in a row after which an upstream is unhealthy.
   * @default 3
   */
  readonly unhealthyThreshold?: number;
  /**
   * Good checks in a row after which it is healthy again.
   * @default 2
   */
  readonly healthyThreshold?: number;
  /**
   * Healthy: the answer to an HTTP request has an expected status.
   * @default - another check is given
   */
  readonly httpHealthCheck?: HttpHealthCheck;
  /**
   * Healthy: a connection can be opened (over TLS where `to` is https), and what is expected comes. `{}`: opening it is
   * enough.
   * @default - another check is given
   */
  readonly tcpHealthCheck?: TcpHealthCheck;
  /**
   * Healthy: `grpc.health.v1.Health/Check` answers SERVING, over HTTP/2 whatever `http2` says.
   * @default - another check is given
   */
  readonly grpcHealthCheck?: GrpcHealthCheck;
}

/** A health check by connecting. */
export interface TcpHealthCheck {
  /**
   * Bytes that are sent once the connection is open. Not for secrets: configuration and state show them.
   * @default - nothing is sent
   */
  readonly send?: HealthCheckPayload;
  /**
   * Bytes that must come, one after the other; what stands between them does not matter. 65,536 bytes are looked at.
   * @default - opening the connection is enough
   */
  readonly receive?: readonly HealthCheckPayload[];
}

/** Bytes, in one of two ways. */
export interface HealthCheckPayload {
  /**
   * Bytes as hexadecimal digits, such as "50494e470d0a".
   * @default - `utf8` is given
   */
  readonly hex?: string;
  /**
   * Bytes as text, such as "PING\r\n".
   * @default - `hex` is given
   */
  readonly utf8?: string;
}

/** A health check by gRPC's own protocol. */
export interface GrpcHealthCheck {
  /**
   * Service that is asked about.
   * @default - the server as a whole
   */
  readonly serviceName?: string;
  /**
   * Value of `:authority`.
   * @default - the host of `to`
   */
  readonly authority?: string;
}

/** A health check by HTTP. */
export interface HttpHealthCheck {
  /** Path that is asked for with GET, from the root of the upstream whatever path `to` has. */
  readonly path: string;
  /**
   * Value of the Host header.
   * @default - the host of `to`
   */
  readonly host?: string;
  /**
   * Ranges of statuses that say the upstream is healthy.
   * @default 200 alone
   */
  readonly expectedStatuses?: readonly StatusRange[];
}

/** Statuses from `start` up to, but not including, `end`. */
export interface StatusRange {
  /** First status that is expected. */
  readonly start: number;
  /** First status after those that are expected. */
  readonly end: number;
}

/** When upstreams are left out because of their answers, and for how long. */
export interface OutlierDetection {
  /**
   * Answers 5xx in a row, failures to answer included, after which an upstream is left out. 0: not looked at.
   * @default 5
   */
  readonly consecutive5xx?: number;
  /**
   * Answers 502, 503 and 504 in a row, failures to answer included, after which an upstream is left out. 0: not looked
   * at.
   * @default 0
   */
  readonly consecutiveGatewayFailure?: number;
  /**
   * How long it is left out the first time; the second time twice as long, and so on.
   * @default 30s
   */
  readonly baseEjectionTime?: string;
  /**
   * Longest time it is left out. After as long without trouble it counts from the beginning.
   * @default 5m
   */
  readonly maxEjectionTime?: string;
  /**
   * Largest share of the upstreams left out at once, in percent; one always may be, the last one never.
   * @default 10
   */
  readonly maxEjectionPercent?: number;
}

/** Limits towards each upstream. */
export interface CircuitBreakerThresholds {
  /**
   * Connections to each upstream; further requests wait for one. WebSocket connections are not among them, but are
   * requests.
   * @default - no limit
   */
  readonly maxConnections?: number;
  /**
   * Requests that may wait for a connection, for each upstream; more are answered 503.
   * @default 1024
   */
  readonly maxPendingRequests?: number;
  /**
   * Requests under way to each upstream, open streams and WebSocket connections included; more are answered 503.
   * @default 10000
   */
  readonly maxRequests?: number;
}
