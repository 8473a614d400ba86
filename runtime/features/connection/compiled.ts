/** Upstream addresses and connections, compiled for requests. */
import type { SecureContext } from "node:tls";

export interface Upstream {
  /** "http://host:port": undici's dispatch origin. */
  readonly origin: string;
  /** Value of Host by default. */
  readonly host: string;
  /** Path of `to` without a trailing slash; "" when none. Prepended to the path of every request. */
  readonly basePath: string;
  readonly weight: number;
  /** Owner of the route, for its share of DNS lookups. */
  readonly owner?: string;
  /** Connection settings; absent: HTTP/1.1, with default trust for https. */
  readonly connect?: UpstreamConnect;
}

export interface UpstreamConnect {
  /** Equal for equal settings of one origin: connections are shared by this key. */
  readonly poolKey: string;
  readonly http2: boolean;
  /** Networks that connections may reach, validated at connect; absent: any. */
  readonly reach?: UpstreamReach;
  /** Limits of one route, which then has separate connections. */
  readonly limits?: UpstreamLimits;
  readonly tls: {
    readonly rejectUnauthorized: boolean;
    readonly servername?: string;
    /** Created once, not for each connection: parsing authorities is slow. */
    readonly secureContext?: SecureContext;
  };
}

/** network: other hosts; machine: also this host. Both exclude link-local and cloud metadata addresses. */
export type UpstreamReach = "network" | "machine";

/** Limits for one upstream in this process; undefined = none. */
export interface UpstreamLimits {
  readonly maxConnections: number | undefined;
  /** Requests that wait for a connection within `maxConnections`. */
  readonly maxPending: number | undefined;
  readonly maxRequests: number | undefined;
}

/** Timeouts of a route, and its permitted protocols. */
export interface ConnectionRoute {
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Idle timeout within a response; 0 = no limit; undefined: `timeoutMs`, and no limit for streams. */
  readonly idleTimeoutMs?: number | undefined;
  /** Accepts WebSocket handshakes. */
  readonly allowWebsockets: boolean;
}
