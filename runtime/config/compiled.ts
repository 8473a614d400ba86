/**
 * What the running proxy reads: settings and routes with every default filled, every pattern compiled, every secret
 * resolved. Immutable; made by compile.ts from a checked configuration; never serialised.
 */
import type { RoutedRoute } from "../features/routing/compiled.ts";
import type { BalancedRoute } from "../features/balancing/compiled.ts";
import type { HeaderRoute } from "../features/headers/compiled.ts";
import type { AccessRoute, BearerTokenFormat } from "../features/access/compiled.ts";
import type { ConnectionRoute } from "../features/connection/compiled.ts";
import type { McpRoute, Lifetimes } from "../features/mcp/compiled.ts";
import type { PublishToken } from "../features/process/compiled.ts";
import type { IdpSettings, CookieSettings } from "../features/sign-in/compiled.ts";
import type { DomainPattern } from "../settings/domains.ts";

/** Settings that only the file given to `gateway run` may carry. */
export interface BootSettings {
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
  /** Loopback http origins and upstream discovery over http are accepted; listeners must be loopback. */
  readonly development: boolean;
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
  readonly adminToken: string | undefined;
  /** Good for some owners' slices only. */
  readonly publishTokens: readonly PublishToken[];
  /** Current first, then previous ones; raw bytes. */
  readonly sharedSecrets: readonly Buffer[];
  /** PEM of the assertion keys, first signs; [] = derived from shared_secret. */
  readonly signingKeys: readonly string[];
  /** "memory:", "sqlite:///path", "postgres://…". */
  readonly storageUrl: string;
  readonly drainTimeoutMs: number;
  /** Before the listener closes. */
  readonly drainDelayMs: number;
  /** Where authorization records go: "stdout" or a file path. */
  readonly authorizeLog: string;
  readonly logLevel: string;
  /** Undefined: no trace context of ours, no spans. */
  readonly tracing:
    | {
        /** Undefined: spans are not exported. */
        readonly endpoint: string | undefined;
        readonly headers: ReadonlyMap<string, string>;
        readonly serviceName: string;
        readonly sampleOneIn: number;
        /** Clients' traces are gone on with. */
        readonly continueTraces: boolean;
      }
    | undefined;
}

/** Settings that a published slice may carry too. */
export interface LiveSettings {
  readonly mcpEnabled: boolean;
  readonly mcpAllowedClientIdDomains: readonly DomainPattern[];
  readonly mcpAllowedAsMetadataDomains: readonly DomainPattern[];
  /** Extra origins that may call MCP routes from a browser; same host and loopback always may. */
  readonly mcpAllowedOrigins: readonly string[];
  /** Exact redirect URIs with private-use schemes that registration accepts. */
  readonly mcpDynamicRegistration: boolean;
  readonly mcpAllowedPrivateRedirectUris: readonly string[];
  readonly authorizeLogFields: readonly string[];
  /** Origin ("https://auth.example.com") of sign-in, consent and user pages; undefined = on each route's own host. */
  readonly authenticateServiceUrl: string | undefined;
  readonly signOutRedirectUrl: string | undefined;
  /** Of ordinary routes that say nothing themselves. */
  readonly bearerTokenFormat: BearerTokenFormat;
  readonly accessTokenAudiences: readonly string[];
  /** Where a programmatic login may send a token; undefined = to this machine. */
  readonly programmaticRedirectDomains: readonly DomainPattern[] | undefined;
  readonly idp: IdpSettings | undefined;
  readonly cookie: CookieSettings;
  readonly lifetimes: Lifetimes;
  readonly passIdentityHeaders: boolean;
  /** Header name → claim, for `X-Gateway-Claim-…` style headers. */
  readonly jwtClaimsHeaders: ReadonlyMap<string, string>;
  /** Global response headers, names as written. */
  readonly setResponseHeaders: readonly (readonly [name: string, value: string])[];
  readonly defaultUpstreamTimeoutMs: number;
  /** Endless streams that one user may hold in this process. */
  readonly maxStreamsPerUser: number;
}

export interface CompiledRoute extends RoutedRoute, BalancedRoute, HeaderRoute, AccessRoute, ConnectionRoute, McpRoute {
  readonly owner: string;
  /** The owner to whose MCP servers an application of this route is held; undefined without `owners`, and in the boot file. */
  readonly heldTo?: string | undefined;
  /** Display name. */
  readonly name: string;
}
