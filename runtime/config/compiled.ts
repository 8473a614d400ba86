/**
 * What the running proxy reads: settings and routes with every default filled, every pattern compiled, every secret
 * resolved. Immutable; made by compile.ts from a checked configuration; never serialised.
 */
import type { CompiledPolicy } from "../policy/evaluate.ts";
import type { DomainPattern } from "../settings/domains.ts";
import type { ExtraPath } from "../features/mcp/extra-paths.ts";
import type { PatternStart } from "../features/routing/path-pattern.ts";
import type { Template } from "../features/headers/template.ts";

/** A token with which owners publish. */
export interface PublishToken {
  /** Of `owners`: a name, or a beginning with ".*" that covers several. */
  readonly entry: string;
  readonly token: string;
}

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

/** What `Authorization: Bearer` is on an ordinary route. */
export type BearerTokenFormat = "default" | "idp_access_token" | "idp_identity_token";

export interface IdpSettings {
  readonly providerUrl: string;
  readonly clientId: string;
  /** Absent = public client. */
  readonly clientSecret: string | undefined;
  /** As they are configured; undefined = the usual ones, of which the provider's metadata decides (identity/provider/idp-scopes.ts). */
  readonly scopes: readonly string[] | undefined;
  /** Claim that carries the groups. */
  readonly groupsClaim: string;
  /** An address that the provider does not say is verified counts as none. */
  readonly requireEmailVerified: boolean;
  readonly requestParams: ReadonlyMap<string, string>;
}

export interface CookieSettings {
  /** Without the `__Host-` prefix, which is added whenever the listener is secure. */
  readonly name: string;
  /** Upper bound of a browser session, seconds. */
  readonly expirationSeconds: number;
  readonly sameSite: "lax" | "strict" | "none";
}

/** All in seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly clientRouteToken: number;
  readonly refreshToken: number;
  /** From a grant's beginning; undefined = it goes on while it is used. */
  readonly refreshTokenAbsolute: number | undefined;
  readonly authorizationCode: number;
}

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

export interface Upstream {
  /** "http://host:port": what undici dispatches to. */
  readonly origin: string;
  /** Value of Host by default. */
  readonly host: string;
  /** Path of `to` without a trailing slash; "" when none. Prepended to the path of every request. */
  readonly basePath: string;
  readonly weight: number;
  /** How to connect; absent: HTTP/1.1, with the usual trust where it is https. */
  readonly connect?: UpstreamConnect;
}

export interface UpstreamConnect {
  /** Equal for equal settings of one origin: connections are shared by it. */
  readonly poolKey: string;
  readonly http2: boolean;
  /** Where connections may go, judged when they are opened; absent: anywhere. */
  readonly reach?: UpstreamReach;
  /** Of one route alone, which then has connections of its own. */
  readonly limits?: UpstreamLimits;
  readonly tls: {
    readonly rejectUnauthorized: boolean;
    readonly servername?: string;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
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

/** How a route chooses among its upstreams. */
export interface Balancing {
  readonly policy: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  /** Prime; at least as many places as the route has upstreams. */
  readonly maglevTableSize: number;
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

export type PathMatch =
  | { readonly kind: "exact"; readonly path: string }
  /** Whole string prefix as written; "/" matches everything. Segment-wise: "/a" matches "/a" and "/a/b", not "/ab". */
  | { readonly kind: "prefix"; readonly prefix: string }
  /** RE2 on whole paths. */
  | (PatternStart & { readonly kind: "regex"; readonly pattern: string; readonly priority: number });

/** How the path changes on its way upstream. What comes out still has to be judged. */
export type PathRewrite =
  /** In place of the route's base, or of the whole path where the route is no prefix. */
  | { readonly kind: "prefix"; readonly text: string }
  /** Linear time; undefined when the path is too long for it. */
  | { readonly kind: "regex"; readonly apply: (path: string) => string | undefined };

/** What a route answers by itself, once its policy allows it. */
export type RouteAnswer =
  | {
      readonly kind: "redirect";
      readonly status: 301 | 302 | 303 | 307 | 308;
      readonly scheme: "http" | "https" | undefined;
      /** Without port. */
      readonly host: string | undefined;
      readonly port: number | undefined;
      readonly path: string | undefined;
      /** With its "?"; in place of the request's. */
      readonly query: string | undefined;
      /** In place of the route's base. */
      readonly prefix: string | undefined;
      readonly stripQuery: boolean;
    }
  | { readonly kind: "response"; readonly status: number; readonly body: string };

/** How the upstream Host header is chosen; at most one form per route. */
export type HostRule =
  | { readonly kind: "to" }
  | { readonly kind: "preserve" }
  | { readonly kind: "fixed"; readonly value: string }
  | { readonly kind: "header"; readonly name: string }
  /** `apply` returns undefined when the pattern does not match the path. Linear time. */
  | { readonly kind: "path-regex"; readonly apply: (path: string) => string | undefined };

export interface HeaderRules {
  /** Names as written, with their lower-case form. */
  readonly set: readonly { readonly name: string; readonly lower: string; readonly value: Template }[];
  /** Lower-case names; applied after `set`. */
  readonly remove: ReadonlySet<string>;
}

export interface ResponseHeaderRules {
  /** Global ones with the route's overrides applied; they replace the upstream's. */
  readonly set: readonly { readonly name: string; readonly lower: string; readonly value: string }[];
  readonly rewrite: readonly { readonly lower: string; readonly prefix: string; readonly value: string }[];
}

export interface UpstreamOAuth {
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly endpoint: { readonly authUrl: string; readonly tokenUrl: string } | undefined;
  readonly authStyle: "header" | "params" | undefined;
  readonly scopes: readonly string[];
  readonly authorizationUrlParams: ReadonlyMap<string, string>;
}

export interface McpServer {
  readonly kind: "server";
  /** "" or "/sub/path" without trailing slash. */
  readonly path: string;
  /** Below the base, see extra-paths.ts. */
  readonly extraPaths: readonly ExtraPath[];
  readonly maxRequestBytes: number;
  /** The protected resource and listed URL: `from` + prefix + `path`, no trailing slash unless it is a bare origin. */
  readonly resource: string;
  readonly upstreamOAuth: UpstreamOAuth | undefined;
  readonly authorizationServerUrl: string | undefined;
  /** Owners whose applications may call it, beside its own, as features/process/owners.ts reads them. */
  readonly allowedApplications: readonly string[];
}

export interface McpClient {
  readonly kind: "client";
}

export interface CompiledRoute {
  /** "<owner>/<name>", unique. */
  readonly key: string;
  readonly owner: string;
  /** The owner to whose MCP servers an application of this route is held; undefined without `owners`, and in the boot file. */
  readonly heldTo?: string | undefined;
  /** Display name. */
  readonly name: string;
  /** Scheme, host and port of `from`: "https://github.example.com". With a wildcard no address: "https://*.example.com". */
  readonly origin: string;
  /** Host as it stands in the Host header: lower case, port only when not the scheme's default. May be "*.example.com". */
  readonly host: string;
  /** Host without port, for assertion `iss`/`aud`. May be "*.example.com". */
  readonly hostname: string;
  /** The host is every one below a domain; never so on MCP routes. */
  readonly isWildcard: boolean;
  readonly match: PathMatch;
  /** Prefix or exact path that the route owns, without trailing slash; "" for the whole host and for patterns. */
  readonly base: string;
  /** undefined: the path goes upstream as it is. */
  readonly rewrite: PathRewrite | undefined;
  /** undefined: an upstream answers. */
  readonly answer: RouteAnswer | undefined;
  /** [] where the route answers by itself. */
  readonly to: readonly Upstream[];
  /** undefined: upstreams take turns, and those that cannot be reached are left out for a while. */
  readonly balancing?: Balancing | undefined;
  readonly policy: CompiledPolicy;
  /** Somebody may pass without signing in (an `accept` allow rule and nothing that needs a user is decided by policy). */
  readonly allowsAnonymous: boolean;
  /** "default" on MCP routes. */
  readonly bearerTokenFormat: BearerTokenFormat;
  /** Audiences of the provider's access tokens. */
  readonly accessTokenAudiences: readonly string[];
  /** Denials name the rules that decided. */
  readonly showErrorDetails: boolean;
  readonly hostRule: HostRule;
  readonly requestHeaders: HeaderRules;
  readonly responseHeaders: ResponseHeaderRules;
  readonly passIdentityHeaders: boolean;
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Longest silence within an answer; 0 = no limit; undefined: `timeoutMs`, and no limit for streams. */
  readonly idleTimeoutMs?: number | undefined;
  /** Takes WebSocket handshakes. */
  readonly allowWebsockets: boolean;
  readonly mcp: McpServer | McpClient | undefined;
}

/** One consistent configuration in force. */
export interface Snapshot {
  /** SHA-256 (hex) of the canonical JSON of settings, routes and certificates. */
  readonly digest: string;
  /** Grows by one with each swap of this process. */
  readonly generation: number;
  readonly settings: LiveSettings;
  /** Of slices, one for a host at most. */
  readonly certificates?: readonly HostCertificate[];
  /** Sorted by key. */
  readonly routes: readonly CompiledRoute[];
  /** The boot file has `owners`: their applications are held apart. */
  readonly holdsOwnersApart?: boolean;
}

/** The configuration in force and its changes; implemented by bundle/. */
export interface Snapshots {
  current(): Snapshot;
  /** Called after each swap, synchronously, with the new snapshot. @returns unsubscribe */
  subscribe(listener: (next: Snapshot, previous: Snapshot) => void): () => void;
  /** Called with a snapshot before it is put in force, which waits for what takes long. @returns takes it back */
  prepare?(work: (next: Snapshot) => Promise<void>): () => void;
}

/** A fixed snapshot source, for tests and one-shot commands. */
export function fixedSnapshot(snapshot: Snapshot): Snapshots {
  return { current: () => snapshot, subscribe: () => () => {} };
}
