/** Settings of the listeners as they read them. */

/** A certificate of the public listener that a slice brings. */
export interface HostCertificate {
  /** "app.example.com", or "*.example.com" for one label. */
  readonly host: string;
  readonly owner: string;
  /** PEM, with those between it and the root. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface ListenerSettings {
  /** Public listener, "host:port" or ":port". */
  readonly address: string;
  /** Plain HTTP on the public listener, for development or behind a terminating load balancer. */
  readonly insecureServer: boolean;
  /** Of the public listener, the first for hosts that no other names; [] = plain HTTP. */
  readonly certificates: readonly { readonly certificateFile: string; readonly keyFile: string }[];
  /** Client certificates; undefined = clients are not asked. */
  readonly downstreamMtls:
    | {
        readonly caFile: string;
        readonly enforcement: "policy_with_default_deny" | "policy" | "reject_connection";
      }
    | undefined;
  /** Plain listener that redirects to https; undefined = none. */
  readonly httpRedirectAddress: string | undefined;
  /** Connections begin with a PROXY head. */
  readonly useProxyProtocol: boolean;
  /** Proxies whose X-Forwarded-For is believed; undefined: the usual, none. */
  readonly forwardedFor: { readonly trustedHops: number; readonly skipAppend: boolean } | undefined;
  /** What proxies say of the client and is sent on, lower case. */
  readonly trustedProxyHeaders: ReadonlySet<string>;
  /** Open connections of the public listener. */
  readonly maxConnections: number | undefined;
  /** Who reads and writes HTTP/1.1: node:http, or we ourselves. */
  /** Longest time in which a client takes nothing of what is sent to it; 0 = no limit. */
  readonly sendTimeoutMs: number;
  /** Longest wait of a request for its turn; 0: no limit. */
  readonly queueTimeoutMs: number;
  readonly adminAddress: string;
  /** Names by which the admin listener is asked, beside addresses and localhost; canonical. */
  readonly adminHosts: ReadonlySet<string>;
  /** Undefined: the admin listener speaks plain HTTP. */
  readonly adminTls:
    | {
        readonly certificateFile: string;
        readonly keyFile: string;
        /** Set: clients need a certificate. */
        readonly clientCaFile: string | undefined;
      }
    | undefined;
}
