/** Settings of the listeners, compiled. */

import type { AcmeSettings } from "./acme.ts";

/** A slice's certificate for the public listener. */
export interface HostCertificate {
  /** "app.example.com", or "*.example.com" for one label. */
  readonly host: string;
  readonly owner: string;
  /** DNS names of the certificate, lower case; absent for automatic ones. */
  readonly names?: readonly string[];
  /** PEM, with intermediate certificates. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface ListenerSettings {
  /** Public listener, "host:port" or ":port". */
  readonly address: string;
  /** Plain HTTP on the public listener, for development or behind a terminating load balancer. */
  readonly insecureServer: boolean;
  /** Certificates of the public listener, the first for hosts that no other names; [] = plain HTTP. */
  readonly certificates: readonly { readonly certificateFile: string; readonly keyFile: string }[];
  /** Automatic certificates; undefined = none. */
  readonly acme: AcmeSettings | undefined;
  /** Client certificates; undefined = not requested. */
  readonly downstreamMtls:
    | {
        readonly caFile: string;
        readonly enforcement: "policy_with_default_deny" | "policy" | "reject_connection";
      }
    | undefined;
  /** Plain listener next to the TLS one; undefined = none. */
  readonly httpRedirectAddress: string | undefined;
  /** Connections start with a PROXY header. */
  readonly useProxyProtocol: boolean;
  /** Number of trusted proxies for X-Forwarded-For; undefined: none. */
  readonly forwardedFor: { readonly trustedHops: number; readonly skipAppend: boolean } | undefined;
  /** Headers of proxies about the client that are passed on, lower case. */
  readonly trustedProxyHeaders: ReadonlySet<string>;
  /** Limit of open connections of the public listener. */
  readonly maxConnections: number | undefined;
  /** HTTP/1.1 implementation: node:http, or the gateway's own. */
  /** Longest time in which a client accepts no data; 0 = no limit. */
  readonly sendTimeoutMs: number;
  /** Longest time of a request in the queue; 0 = no limit. */
  readonly queueTimeoutMs: number;
  readonly adminAddress: string;
  /** Host names of the admin listener, in addition to addresses and localhost; canonical. */
  readonly adminHosts: ReadonlySet<string>;
  /** Undefined: the admin listener uses plain HTTP. */
  readonly adminTls:
    | {
        readonly certificateFile: string;
        readonly keyFile: string;
        /** If set, clients need a certificate. */
        readonly clientCaFile: string | undefined;
      }
    | undefined;
}
