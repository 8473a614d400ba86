import type { Domain } from "./domains.ts";
import type { IResolvable } from "./framework.ts";
import type { Secret } from "./secret.ts";

/**
 * The gateway's settings that may be published with routes. Listeners, TLS files, storage and the shared secret belong
 * to the machine and are only in the file given to `gateway run`.
 */
export interface GatewaySettings {
  /**
   * Switches of experimental parts.
   * @default - all off
   */
  readonly runtimeFlags?: RuntimeFlags;
  /**
   * Domains allowed for URL-based MCP client IDs (client ID metadata documents). "known-clients" stands for those of common
   * products; once this is set, products that have a document and whose domain is not listed cannot connect.
   * @default - URL-based client IDs are refused, and clients register themselves
   */
  readonly mcpAllowedClientIdDomains?: readonly (Domain | string)[];
  /**
   * Domains the gateway may contact during upstream OAuth discovery, the hosts of `to` included.
   * @default - no discovery
   */
  readonly mcpAllowedAsMetadataDomains?: readonly (Domain | string)[];
  /**
   * Browser origins that may call MCP routes beside the route's own and loopback ones.
   * @default - same host and loopback
   */
  readonly mcpAllowedOrigins?: readonly string[];
  /**
   * Exact redirect URIs with private-use schemes that MCP clients may register, such as "com.example.app:/callback".
   * @default - https and loopback redirect URIs only
   */
  readonly mcpAllowedPrivateRedirectUris?: readonly string[];
  /**
   * Whether MCP clients may register themselves.
   * @default true
   */
  readonly mcpDynamicRegistration?: boolean;
  /**
   * Fields included in authorization records beside the fixed ones.
   * @default request-id, user, email, mcp-method, mcp-tool
   */
  readonly authorizeLogFields?: readonly AuthorizeLogField[];
  /**
   * Origin of the sign-in, consent and user pages; its host serves no route. Without it these pages share the origin of what their host serves: browsers keep most scripts there from reading and answering them, but not all, so that a service worker for example could consent for its user.
   * @default - each route's own host
   */
  readonly authenticateServiceUrl?: string;
  /**
   * Where browsers go after signing out.
   * @default - the signed-out page
   */
  readonly signoutRedirectUrl?: string;
  /**
   * Issuer URL of the OpenID Connect identity provider.
   * @default - nobody can sign in
   */
  readonly idpProviderUrl?: string;
  /**
   * Client identifier at the identity provider.
   * @default - nobody can sign in
   */
  readonly idpClientId?: string;
  /**
   * Client secret at the identity provider.
   * @default - a public client
   */
  readonly idpClientSecret?: Secret;
  /**
   * Scopes requested at sign-in, exactly these.
   * @default openid, profile, email; and offline_access, unless the provider's metadata lists scopes without it
   */
  readonly idpScopes?: readonly string[];
  /**
   * Claim that carries the user's groups.
   * @default groups
   */
  readonly idpGroupsClaim?: string;
  /**
   * Count an e-mail address only when the provider says that it is verified. Without it an address that the provider is
   * silent about counts; one that it calls unverified never does.
   * @default false
   */
  readonly idpRequireEmailVerified?: boolean;
  /**
   * Extra query parameters on the provider's authorization URL, such as `access_type: "offline"` and `prompt: "consent"` for
   * refresh tokens of Google.
   * @default - none
   */
  readonly idpRequestParams?: Readonly<Record<string, string>>;
  /**
   * What `Authorization: Bearer` may hold on ordinary routes: the upstream's affair, or an access token or ID token of
   * the identity provider, which signs its user in for that request.
   * @default default
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token";
  /**
   * Audiences of the identity provider's access tokens that ordinary routes take; one of them must be the token's.
   * @default - `idpClientId`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Hosts to which a programmatic login may send its token.
   * @default - localhost, 127.0.0.1 and [::1]
   */
  readonly programmaticRedirectDomainWhitelist?: readonly (Domain | string)[];
  /**
   * Name of the session cookie; `__Host-` is added on HTTPS.
   * @default gateway_session
   */
  readonly cookieName?: string;
  /**
   * Longest life of a browser session, such as "14h".
   * @default 14h
   */
  readonly cookieExpiration?: string;
  /**
   * SameSite attribute of the session cookie.
   * @default lax
   */
  readonly cookieSameSite?: "lax" | "strict" | "none";
  /**
   * Life of External Tokens given to MCP clients.
   * @default 15m
   */
  readonly accessTokenLifetime?: string;
  /**
   * Life of External Tokens given to applications of MCP client routes; at least "5m".
   * @default 5m
   */
  readonly clientRouteTokenLifetime?: string;
  /**
   * Life of MCP refresh tokens, from their last use.
   * @default 90d
   */
  readonly refreshTokenLifetime?: string;
  /**
   * Longest time from an authorization to its end, however often its refresh tokens are used.
   * @default - none: it ends when it is not used for `refreshTokenLifetime`
   */
  readonly refreshTokenAbsoluteLifetime?: string;
  /**
   * Life of MCP authorization codes.
   * @default 60s
   */
  readonly authorizationCodeLifetime?: string;
  /**
   * Send the signed identity header and claim headers to upstreams.
   * @default true
   */
  readonly passIdentityHeaders?: boolean | IResolvable;
  /**
   * Extra identity headers: header name to claim. Sent empty when the user lacks the claim.
   * @default - none
   */
  readonly jwtClaimsHeaders?: Readonly<Record<string, string>>;
  /**
   * Static response headers of all routes, sent as they stand; a route's own take precedence.
   * @default - none
   */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /**
   * Certificates of the public listener for hosts of the owner's own routes, by host as in `from`; "*.example.com" is for one
   * label below. They go before a wildcard of the boot file's `certificates`.
   * @default - `certificates` alone
   */
  readonly hostCertificates?: Readonly<Record<string, HostCertificate>>;
  /**
   * Event streams (of GET requests) and WebSocket connections that one user may hold open at once, in each process; more
   * are answered 429.
   * @default 250
   */
  readonly maxStreamsPerUser?: number;
  /**
   * Default of the routes' `timeout`; "0s" means no limit.
   * @default 30s
   */
  readonly defaultUpstreamTimeout?: string;
}

/** A certificate for one host. */
export interface HostCertificate {
  /** PEM: the certificate, then those between it and the root. Must be for the host. */
  readonly certificate: string;
  /**
   * PEM of its private key, without a passphrase.
   * @default - one must be given
   */
  readonly certificateKey?: Secret;
}

/** Switches of experimental parts. */
export interface RuntimeFlags {
  /**
   * Must be true to enable MCP; until then MCP routes answer 503.
   * @default false
   */
  readonly mcp?: boolean | IResolvable;
}

/** Fields that an authorization record may carry beside the fixed ones. */
export type AuthorizeLogField =
  | "request-id"
  | "trace-id"
  | "bundle-digest"
  | "route"
  | "method"
  | "path"
  | "host"
  | "ip"
  | "user"
  | "email"
  | "session-id"
  | "grant-id"
  | "client-id"
  | "mcp-method"
  | "mcp-tool"
  | "mcp-tool-parameters";
