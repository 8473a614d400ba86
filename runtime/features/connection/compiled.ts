/** Where requests go and how connections are made, as requests read it. */
import type { SecureContext } from "node:tls";

export interface Upstream {
  /** "http://host:port": what undici dispatches to. */
  readonly origin: string;
  /** Value of Host by default. */
  readonly host: string;
  /** Path of `to` without a trailing slash; "" when none. Prepended to the path of every request. */
  readonly basePath: string;
  readonly weight: number;
  /** Of the route, for its share of look-ups of names. */
  readonly owner?: string;
  /** How to connect; absent: HTTP/1.1, with the usual trust where it is https. */
  readonly connect?: UpstreamConnect;
}

export interface UpstreamConnect {
  /** Equal for equal settings of one origin: connections are shared by it. */
  readonly poolKey: string;
  readonly http2: boolean;
  /** Where connections may go, validated when they are opened; absent: anywhere. */
  readonly reach?: UpstreamReach;
  /** Of one route alone, which then has connections of its own. */
  readonly limits?: UpstreamLimits;
  readonly tls: {
    readonly rejectUnauthorized: boolean;
    readonly servername?: string;
    /** Made once, and not for each connection: reading authorities takes long. */
    readonly secureContext?: SecureContext;
  };
}

/** network: other machines; machine: this one, too. Neither has link-local and cloud metadata addresses. */
export type UpstreamReach = "network" | "machine";

/** Towards one upstream, in this process; undefined = none. */
export interface UpstreamLimits {
  readonly maxConnections: number | undefined;
  /** Requests that wait for one of `maxConnections`. */
  readonly maxPending: number | undefined;
  readonly maxRequests: number | undefined;
}

/** How long a route waits, and what it opens. */
export interface ConnectionRoute {
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Longest silence within an answer; 0 = no limit; undefined: `timeoutMs`, and no limit for streams. */
  readonly idleTimeoutMs?: number | undefined;
  /** Takes WebSocket handshakes. */
  readonly allowWebsockets: boolean;
}
