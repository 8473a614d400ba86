// Made by generate.ts, do not edit.
import type { ActionDoc, PolicyDoc } from "../../runtime/policy/parse.ts";
import type { Domain } from "../domains.ts";
import type { IResolvable } from "../framework.ts";
import type { HeaderValue } from "../header-value.ts";
import type { Secret } from "../secret.ts";

/**
 * Dynamic settings of the gateway. Static settings (listeners, TLS files, storage, the shared secret) are only in the
 * file given to `gateway run`.
 */
export interface GatewaySettings {
  /** Experimental features. */
  readonly runtimeFlags?: RuntimeFlags;
  /**
   * Domains allowed for URL-based MCP client IDs; `known-clients` includes Claude, ChatGPT, VS Code and others. Without
   * it, URL-based client IDs are rejected.
   */
  readonly mcpAllowedClientIdDomains?: readonly (Domain | string)[];
  /** Domains allowed for upstream OAuth discovery, including the hosts of `to`. Without it, discovery is disabled. */
  readonly mcpAllowedAsMetadataDomains?: readonly (Domain | string)[];
  /** Additional browser origins that can call MCP routes. The route's own origin and loopback are always allowed. */
  readonly mcpAllowedOrigins?: readonly string[];
  /** Exact redirect URIs with private-use schemes for MCP clients, such as "com.example.app:/callback". */
  readonly mcpAllowedPrivateRedirectUris?: readonly string[];
  /**
   * Dynamic registration of MCP clients (RFC 7591). If disabled, clients use a client ID metadata document or are
   * created by an administrator.
   * @default true
   */
  readonly mcpDynamicRegistration?: boolean | IResolvable;
  /**
   * Readers of the catalog of MCP servers, which clients find at `/.gateway/registry`: callers with a token of a
   * service account or a programmatic login, or also callers without a token. The latter see routes with `catalog:
   * "public"`.
   * @default - no catalog
   */
  readonly mcpCatalog?: "users" | "public";
  /**
   * Fields of authorization records: request-id, trace-id, bundle-digest, route, method, path, host, ip, user, email,
   * session-id, grant-id, client-id, actor, run, issuer, issuer-rules, auth-method, mcp-method, mcp-tool,
   * mcp-tool-parameters, replay.
   * @default request-id, user, email, mcp-method, mcp-tool
   */
  readonly authorizeLogFields?: readonly AuthorizeLogField[];
  /**
   * Origin of the sign-in, consent and user pages; its host serves no routes. Without it, scripts of upstreams could
   * consent for users.
   * @default - each route's own host
   */
  readonly authenticateServiceUrl?: string;
  /**
   * URL to open after sign-out.
   * @default - the signed-out page
   */
  readonly signoutRedirectUrl?: string;
  /** Help page (`https://`) or address (`mailto:`), linked on error pages. */
  readonly supportUrl?: string;
  /**
   * Issuer URL of the OpenID Connect identity provider; its claim `sub` is the user ID. Without it, users sign in with
   * `identityIssuers` only.
   */
  readonly idpProviderUrl?: string;
  /**
   * Provider name on the page where users select one, if `identityIssuers` has others.
   * @default - host of `idpProviderUrl`
   */
  readonly idpLabel?: string;
  /**
   * Client ID at the identity provider.
   * @default - required with `idpProviderUrl`
   */
  readonly idpClientId?: string;
  /**
   * Client secret at the identity provider.
   * @default - none (public client)
   */
  readonly idpClientSecret?: Secret;
  /**
   * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA of at least
   * 2048 bits, or Ed25519.
   * @default - client secret, or none (public client)
   */
  readonly idpClientKey?: Secret;
  /** Key ID (`kid`) of the private key. Required if the provider has several public keys of the gateway. */
  readonly idpClientKeyId?: string;
  /**
   * Client secret authentication method. Required if the provider accepts only one for this client.
   * @default - first supported method in the provider's metadata
   */
  readonly idpClientAuth?: "client_secret_basic" | "client_secret_post" | "client_secret_jwt";
  /**
   * Audience of the signed client assertion: the provider's issuer or its token endpoint.
   * @default issuer
   */
  readonly idpClientProofAudience?: "issuer" | "token_endpoint";
  /**
   * Push authorization requests (RFC 9126), even if the provider's metadata does not require it.
   * @default false
   */
  readonly idpPushRequests?: boolean | IResolvable;
  /**
   * Exact scopes to request at sign-in. Without `offline_access` most providers issue no refresh token.
   * @default - `openid, profile, email`, and `offline_access` unless the provider's metadata lists scopes without it
   */
  readonly idpScopes?: readonly string[];
  /**
   * Claim with the user's groups: a name, or a path with dots. Quote names that contain dots:
   * `access."my.client".roles`.
   * @default groups
   */
  readonly idpGroupsClaim?: string;
  /** Source for groups that the provider omits because there are too many (Entra: more than 200). */
  readonly idpGroupsResolver?: GroupsResolver;
  /**
   * Use an email address only if the provider verified it. Otherwise only addresses marked as unverified are ignored.
   * @default false
   */
  readonly idpRequireEmailVerified?: boolean | IResolvable;
  /** Additional query parameters of the provider's authorization URL, such as `access_type: "offline"`. */
  readonly idpRequestParams?: Readonly<Record<string, string>>;
  /**
   * Issuers whose signed tokens about users and workloads are accepted, by name (lower-case letters, digits and
   * dashes), which becomes part of user IDs.
   */
  readonly identityIssuers?: Readonly<Record<string, IdentityIssuer>>;
  /** Company directories (SCIM 2.0), by a name of lower-case letters, digits and dashes. */
  readonly directories?: Readonly<Record<string, Directory>>;
  /**
   * Tokens accepted in `Authorization: Bearer` besides the gateway's own: none, tokens of the identity provider, or of
   * workloads (`jwt`).
   * @default default
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token" | "jwt";
  /**
   * Accepted audiences of the identity provider's access tokens. One must match.
   * @default - `idpClientId`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Hosts that may receive the token of a programmatic login. HTTPS is required, except on loopback.
   * @default - localhost, 127.0.0.1 and [::1]
   */
  readonly programmaticRedirectDomainWhitelist?: readonly (Domain | string)[];
  /**
   * Session cookie name. `__Host-` is added with HTTPS.
   * @default gateway_session
   */
  readonly cookieName?: string;
  /**
   * Maximum lifetime of a browser session.
   * @default 14h
   */
  readonly cookieExpiration?: string;
  /**
   * Maximum time for which a user keeps access if the identity provider does not confirm the user but confirms others.
   * @default 1h
   */
  readonly unconfirmedUserLimit?: string;
  /**
   * SameSite attribute of the session cookie.
   * @default lax
   */
  readonly cookieSameSite?: "lax" | "strict" | "none";
  /**
   * Lifetime of External Tokens for MCP clients.
   * @default 15m
   */
  readonly accessTokenLifetime?: string;
  /**
   * Lifetime of External Tokens for applications of MCP client routes. At least 5 minutes.
   * @default 5m
   */
  readonly clientRouteTokenLifetime?: string;
  /**
   * Lifetime of MCP refresh tokens since their last use.
   * @default 90d
   */
  readonly refreshTokenLifetime?: string;
  /** Maximum lifetime of an MCP authorization, including all refreshes. Then the client must ask the user again. */
  readonly refreshTokenAbsoluteLifetime?: string;
  /**
   * Lifetime of MCP authorization codes.
   * @default 60s
   */
  readonly authorizationCodeLifetime?: string;
  /**
   * Send the signed identity header and claim headers to upstreams.
   * @default true
   */
  readonly passIdentityHeaders?: boolean | IResolvable;
  /** Additional identity headers: header name to claim. Lists are joined by commas. */
  readonly jwtClaimsHeaders?: Readonly<Record<string, string>>;
  /** Static response headers of all routes, sent literally. Those of a route take precedence. */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /**
   * Certificates of the public listener for hosts of the owner's own routes, by host as in `from`. Requires
   * `certificates` or `acme`.
   */
  readonly hostCertificates?: Readonly<Record<string, HostCertificate>>;
  /**
   * Maximum open WebSocket connections and event streams per user and process. Further ones get 429.
   * @default 250
   */
  readonly maxStreamsPerUser?: number;
  /**
   * Maximum time for which an accepted request continues after its access token or session expires. "0s" ends all
   * requests at expiry.
   * @default 1h
   */
  readonly expiryGrace?: string;
  /**
   * Default `timeout` of routes. "0s" disables it.
   * @default 30s
   */
  readonly defaultUpstreamTimeout?: string;
}

/** Experimental features. */
export interface RuntimeFlags {
  /**
   * Enable MCP. Otherwise MCP routes get 503.
   * @default false
   */
  readonly mcp?: boolean | IResolvable;
}

/** Optional fields of authorization records. */
export type AuthorizeLogField = "request-id" | "trace-id" | "bundle-digest" | "route" | "method" | "path" | "host" | "ip" | "user" | "email" | "session-id" | "grant-id" | "client-id" | "actor" | "run" | "issuer" | "issuer-rules" | "auth-method" | "mcp-method" | "mcp-tool" | "mcp-tool-parameters" | "replay";

/** Source for groups that the identity provider omits. */
export interface GroupsResolver {
  /** Microsoft Graph (`getMemberObjects`), queried at sign-in and each refresh. */
  readonly entra: EntraGroups;
}

/** Microsoft Graph, queried with an app registration. */
export interface EntraGroups {
  /** Directory (tenant) ID. */
  readonly tenant: string;
  /**
   * Application (client) ID with the permissions `User.Read.All` and `GroupMember.Read.All` of Microsoft Graph and
   * admin consent.
   */
  readonly clientId: string;
  /**
   * Client secret of that application.
   * @default - required, in one of its forms
   */
  readonly clientSecret?: Secret;
  /**
   * Security groups only. With `false` also distribution groups, administrative units and directory roles.
   * @default true
   */
  readonly securityEnabledOnly?: boolean | IResolvable;
  /**
   * Token service origin of a sovereign cloud. Requires `graphUrl`.
   * @default https://login.microsoftonline.com
   */
  readonly loginUrl?: string;
  /**
   * Microsoft Graph origin of a sovereign cloud. Requires `loginUrl`.
   * @default https://graph.microsoft.com
   */
  readonly graphUrl?: string;
}

/** Issuer whose signed tokens about users or workloads are accepted. */
export interface IdentityIssuer {
  /** Issuer identifier, exactly as in `iss`. Its users are `issuer:<name>/<sub>`, unless it equals `idpProviderUrl`. */
  readonly issuer: string;
  /**
   * What its tokens are accepted for: identity assertions of MCP clients, tokens of workloads, revoking access, or
   * sign-in.
   */
  readonly uses: readonly IssuerUse[];
  /**
   * URL of its public keys: `https://`, or `http://` on loopback.
   * @default - discovered from `issuer`, on its own origin or a public address
   */
  readonly jwksUrl?: string;
  /** Public keys as JSON (JWK set), instead of `jwksUrl` and discovery. */
  readonly jwks?: string;
  /**
   * Accepted signature algorithms.
   * @default ES256, ES384, EdDSA, PS256, RS256
   */
  readonly algorithms?: readonly SignatureAlgorithm[];
  /**
   * Hosts on which its assertions and tokens are accepted (`idJag`, `workload`).
   * @default - all hosts
   */
  readonly hosts?: readonly string[];
  /**
   * Client IDs that can present its assertions.
   * @default - every client named in an assertion
   */
  readonly allowedClients?: readonly string[];
  /**
   * Accept clients without authentication. Anyone who has an assertion can then use it once, as its client.
   * @default false
   */
  readonly allowPublicClients?: boolean | IResolvable;
  /**
   * Maximum lifetime of an assertion (up to `1h` with `idJag`, else `24h`), or age of a logout token.
   * @default - `5m` with `idJag` and `logout`, `1h` with `workload`
   */
  readonly maxAssertionAge?: string;
  /**
   * Maximum lifetime of tokens issued for its assertions.
   * @default - `accessTokenLifetime`
   */
  readonly maxTokenLifetime?: string;
  /** Email domains for which it is trusted. Other addresses, and those marked as unverified, are ignored. */
  readonly emailDomains?: readonly string[];
  /**
   * With `workload`: accepted audiences (`aud`). Tokens with any other audience are rejected.
   * @default - origin of the requested host, with or without a trailing slash, and its token endpoint
   */
  readonly audiences?: readonly string[];
  /**
   * With `workload`: whether a token can be exchanged once or repeatedly.
   * @default once
   */
  readonly replay?: "once" | "allowed";
  /**
   * With `workload`: ignore a `clientId` sent without authentication.
   * @default false
   */
  readonly ignoreClientId?: boolean | IResolvable;
  /**
   * Workloads to accept, by rule name. All matching rules apply.
   * @default - required with `workload`
   */
  readonly workloadRules?: Readonly<Record<string, WorkloadRule>>;
  /** Additional client IDs accepted as audience of back-channel logout tokens. */
  readonly logoutAudiences?: readonly string[];
  /**
   * Back-channel logout also revokes grants of MCP clients and earlier assertions.
   * @default false
   */
  readonly logoutEndsGrants?: boolean | IResolvable;
  /** Sign-in of its users. Register the redirect URI `/.gateway/callback/<name>` on the host of the sign-in pages. */
  readonly signIn?: IssuerSignIn;
}

/** Accepted uses of an issuer's tokens. */
export type IssuerUse = "id_jag" | "workload" | "logout" | "sign_in";

/** Asymmetric signature algorithms. */
export type SignatureAlgorithm = "ES256" | "ES384" | "EdDSA" | "PS256" | "RS256";

/** Workloads of a platform: accepted claims, resources and groups. */
export interface WorkloadRule {
  /**
   * Required claims of the token: name, or JSON Pointer to a nested claim, to values. Every claim must have one of its
   * values.
   */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /**
   * URLs of MCP servers as clients use them; for routes with `bearerTokenFormat: "jwt"`, the origin, or origin and
   * prefix.
   */
  readonly resources: readonly string[];
  /** Groups of its workloads, for policies. */
  readonly groups?: readonly string[];
  /** Lets the workloads request agent runs, in which they act for a user who approves it. */
  readonly agentRuns?: AgentRuns;
}

/** Agent runs of a workload rule: a workload acts for a user who approves it. */
export interface AgentRuns {
  /**
   * Claims that only the tokens of one run share, by name or JSON Pointer: `run_id`, `/kubernetes.io/pod/uid`. Tokens
   * must have all of them.
   */
  readonly identifiedBy: readonly string[];
  /**
   * Groups of which the approver must have one.
   * @default - any user
   */
  readonly approverGroups?: readonly string[];
  /**
   * Maximum duration, up to `720h`.
   * @default 8h
   */
  readonly maxDuration?: string;
}

/** Sign-in of an issuer's users. */
export interface IssuerSignIn {
  /** Client ID at this provider. */
  readonly clientId: string;
  /**
   * Client secret at the identity provider.
   * @default - none (public client)
   */
  readonly clientSecret?: Secret;
  /**
   * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA of at least
   * 2048 bits, or Ed25519.
   * @default - client secret, or none (public client)
   */
  readonly clientKey?: Secret;
  /** Key ID (`kid`) of the private key. Required if the provider has several public keys of the gateway. */
  readonly clientKeyId?: string;
  /**
   * Client secret authentication method. Required if the provider accepts only one for this client.
   * @default - first supported method in the provider's metadata
   */
  readonly clientAuth?: "client_secret_basic" | "client_secret_post" | "client_secret_jwt";
  /**
   * Audience of the signed client assertion: the provider's issuer or its token endpoint.
   * @default issuer
   */
  readonly clientProofAudience?: "issuer" | "token_endpoint";
  /**
   * Push authorization requests (RFC 9126), even if the provider's metadata does not require it.
   * @default false
   */
  readonly pushRequests?: boolean | IResolvable;
  /**
   * Name on the page where users select a provider.
   * @default - name of the entry
   */
  readonly label?: string;
  /**
   * Exact scopes to request at sign-in. Without `offline_access` most providers issue no refresh token.
   * @default - `openid, profile, email`, and `offline_access` unless the provider's metadata lists scopes without it
   */
  readonly scopes?: readonly string[];
  /**
   * Claim with the user's groups: a name, or a path with dots. Quote names that contain dots:
   * `access."my.client".roles`.
   * @default groups
   */
  readonly groupsClaim?: string;
  /** Source for groups that the provider omits because there are too many (Entra: more than 200). */
  readonly groupsResolver?: GroupsResolver;
  /**
   * Use an email address only if the provider verified it. Otherwise only addresses marked as unverified are ignored.
   * @default false
   */
  readonly requireEmailVerified?: boolean | IResolvable;
  /** Additional query parameters of the provider's authorization URL, such as `access_type: "offline"`. */
  readonly requestParams?: Readonly<Record<string, string>>;
  /**
   * Required claims of the ID token and their exact values, such as `hd: example.com` for Google or `tid` for Entra.
   */
  readonly requiredClaims?: Readonly<Record<string, string>>;
}

/** Company directory of users and groups (SCIM). */
export interface Directory {
  /**
   * Identity provider of its users: `default` for `idpProviderUrl`, or a name in `identityIssuers`.
   * @default default
   */
  readonly provider?: string;
  /**
   * Bearer token of the provider's SCIM client. At least 20 characters.
   * @default - required, in one of its forms
   */
  readonly token?: Secret;
  /** Previous token, also accepted during rotation. */
  readonly previousToken?: Secret;
  /**
   * SCIM attribute that identifies the user.
   * @default externalId
   */
  readonly subjectAttribute?: "externalId" | "userName";
  /**
   * Claim that `subjectAttribute` must equal exactly. For Entra use `oid` and map `objectId` to `externalId`.
   * @default sub
   */
  readonly subjectClaim?: "sub" | "oid";
  /**
   * Source of user groups: this directory, also the sign-in, or only the sign-in.
   * @default directory
   */
  readonly groups?: "directory" | "both" | "claims";
  /**
   * Attribute that names groups in policies.
   * @default displayName
   */
  readonly groupAttribute?: "displayName" | "externalId";
  /**
   * Treatment of users of the provider who are not in the directory.
   * @default allowed
   */
  readonly unlistedUsers?: "allowed" | "refused";
  /**
   * Maximum number of users. Further ones are rejected.
   * @default 250000
   */
  readonly maxUsers?: number;
  /**
   * Maximum number of groups.
   * @default 50000
   */
  readonly maxGroups?: number;
}

/** Certificate for one host. */
export interface HostCertificate {
  /** Certificate chain (PEM), leaf first, without the root. Must match the host and be valid when published. */
  readonly certificate: string;
  /**
   * Private key (PEM) without passphrase: RSA up to 4096 bits, P-256, P-384, P-521 or EdDSA.
   * @default - required, in one of its forms
   */
  readonly certificateKey?: Secret;
}

/**
 * Header settings of a route. Set at most one of the four ways to select the Host header; the regular expression and
 * its substitution are one.
 */
export interface HeaderSettings {
  /**
   * Forward the incoming Host header instead of the host of `to`.
   * @default false
   */
  readonly preserveHostHeader?: boolean | IResolvable;
  /**
   * Host header to send: `host` or `host:port`.
   * @default - the host of `to`
   */
  readonly hostRewrite?: string;
  /**
   * Request header whose value is sent as Host header.
   * @default - the host of `to`
   */
  readonly hostRewriteHeader?: string;
  /**
   * RE2 regular expression on the request path that derives the Host header. Requires
   * `hostPathRegexRewriteSubstitution`.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewritePattern?: string;
  /**
   * Replacement for the first match of `hostPathRegexRewritePattern`. Capture groups are `\\1` to `\\9`.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewriteSubstitution?: string;
  /**
   * Request headers to set for the upstream. They replace the client's. Strings are sent literally; use `headerValue`,
   * `gatewayToken` and `requestHeader` for values per request.
   */
  readonly setRequestHeaders?: Readonly<Record<string, HeaderValue | string>>;
  /** Request headers with secret values, by header name, like `setRequestHeaders`. Sent literally, including `$`. */
  readonly setRequestHeadersSecret?: Readonly<Record<string, Secret>>;
  /** Request headers to remove, after `setRequestHeaders` is applied. */
  readonly removeRequestHeaders?: readonly string[];
  /** Request headers to send next to the client's. Write `$$` for a literal `$`. */
  readonly addRequestHeaders?: Readonly<Record<string, string>>;
  /** Response headers to send next to the upstream's. Write `$$` for a literal `$`. */
  readonly addResponseHeaders?: Readonly<Record<string, string>>;
  /** Response headers of the upstream to remove. */
  readonly removeResponseHeaders?: readonly string[];
  /**
   * Static response headers, sent literally. They replace those of the upstream and of the gateway's
   * `setResponseHeaders`.
   */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /** Rules that replace prefixes of response header values, in list order. */
  readonly rewriteResponseHeaders?: readonly ResponseHeaderRewrite[];
}

/** Rule of `rewriteResponseHeaders`. */
export interface ResponseHeaderRewrite {
  /** Response header, such as `Location`. */
  readonly header: string;
  /** Literal prefix to match. Empty matches every value. */
  readonly prefix: string;
  /** Literal replacement for the prefix. */
  readonly value: string;
}

/** Request matching, path rewriting, and responses without an upstream. */
export interface RoutingSettings {
  /**
   * Path prefix to match, by whole segments. On MCP server routes, the base path.
   * @default - every path
   */
  readonly prefix?: string;
  /**
   * Exact path to match. Not with `prefix`.
   * @default - every path
   */
  readonly path?: string;
  /**
   * RE2 regular expression for the whole path, before every `prefix`. Not with `prefix` or `path`, and not on MCP
   * routes.
   * @default - every path
   */
  readonly regex?: string;
  /**
   * Priority between matching `regex` routes of a host: the highest number wins.
   * @default 0
   */
  readonly regexPriorityOrder?: number;
  /**
   * HTTP methods to match. Not with `regex` or `mcp`.
   * @default - every method
   */
  readonly matchMethods?: readonly string[];
  /** Request headers that must have these values. Not with `regex` or `mcp`. */
  readonly matchHeaders?: Readonly<Record<string, string>>;
  /** Query parameters that must have these values. Not with `regex` or `mcp`. */
  readonly matchQuery?: Readonly<Record<string, string>>;
  /**
   * Priority between equally many conditions: the highest number wins.
   * @default 0
   */
  readonly matchPriorityOrder?: number;
  /**
   * Replacement for `prefix`, by whole segments, in the upstream path; with `path` or `regex`, for the whole path. `to`
   * must not have a path.
   */
  readonly prefixRewrite?: string;
  /**
   * RE2 regular expression on the path (without query); every match is replaced. Requires `regexRewriteSubstitution`.
   * `to` must not have a path.
   */
  readonly regexRewritePattern?: string;
  /** Replacement for matches of `regexRewritePattern`. Capture groups are `\\1` to `\\9`. */
  readonly regexRewriteSubstitution?: string;
  /** Redirect instead of an upstream request. The policy is evaluated first. */
  readonly redirect?: RouteRedirect;
  /** Static response instead of an upstream request. The policy is evaluated first. */
  readonly response?: RouteResponse;
}

/** Redirect target. Defaults are those of the request. */
export interface RouteRedirect {
  /**
   * Redirect to https, and from port 80 to 443. Not with `schemeRedirect`.
   * @default false
   */
  readonly httpsRedirect?: boolean | IResolvable;
  /**
   * Scheme of the target.
   * @default - scheme of the route
   */
  readonly schemeRedirect?: "http" | "https";
  /**
   * Host of the target, without port.
   * @default - host of the request
   */
  readonly hostRedirect?: string;
  /**
   * Port of the target.
   * @default - port of the request; the scheme's default port if host or scheme changes
   */
  readonly portRedirect?: number;
  /**
   * Path of the target. A query in it replaces the request's.
   * @default - path of the request
   */
  readonly pathRedirect?: string;
  /** Replacement for the route's `prefix`, by whole segments. */
  readonly prefixRewrite?: string;
  /**
   * Response status: 301, 302, 303, 307 or 308.
   * @default 301
   */
  readonly responseCode?: number;
  /**
   * Remove the query of the request.
   * @default false
   */
  readonly stripQuery?: boolean | IResolvable;
}

/** Static response of the gateway. */
export interface RouteResponse {
  /** Response status, 200 to 599. */
  readonly status: number;
  /**
   * Response body, up to 65,536 bytes. Plain text, unless `setResponseHeaders` sets Content-Type.
   * @default - empty
   */
  readonly body?: string;
  /**
   * Percentage of requests that get this response. The others go to `to`.
   * @default - all, without `to`
   */
  readonly percentage?: number;
}

/** Load balancing: upstream selection, health checks, ejection and limits. */
export interface BalancingSettings {
  /**
   * Selection of the upstream: weighted turns, random, fewest active requests, or the same one for the same user or
   * client address (`ring_hash`, alias `maglev`).
   * @default round_robin
   */
  readonly loadBalancingPolicy?: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  /** Accepted for compatibility, no effect. */
  readonly maglevLbConfig?: MaglevLbConfig;
  /** Active health checks. All must pass. */
  readonly healthChecks?: readonly HealthCheck[];
  /**
   * Ejects upstreams that respond with errors. Without it, only unreachable upstreams are ejected, for up to 30
   * seconds.
   */
  readonly outlierDetection?: OutlierDetection;
  /**
   * Percentage of healthy upstreams below which all are used. 0: never, so that requests get 503.
   * @default - all upstreams are used if none is healthy
   */
  readonly healthyPanicThreshold?: number;
  /**
   * Limits for each upstream of this route, per process. Other upstreams are tried before the response is 503.
   * @default - 10,000 active requests per upstream
   */
  readonly circuitBreakerThresholds?: CircuitBreakerThresholds;
}

/** No effect: table of Maglev hashing. */
export interface MaglevLbConfig {
  /** No effect. */
  readonly tableSize?: number;
}

/** Health check: exactly one of `httpHealthCheck`, `tcpHealthCheck` and `grpcHealthCheck`. */
export interface HealthCheck {
  /**
   * Time between checks.
   * @default 10s
   */
  readonly interval?: string;
  /**
   * Maximum duration of a check.
   * @default 5s
   */
  readonly timeout?: string;
  /**
   * Consecutive failures before an upstream is unhealthy.
   * @default 3
   */
  readonly unhealthyThreshold?: number;
  /**
   * Consecutive successes before it is healthy again.
   * @default 2
   */
  readonly healthyThreshold?: number;
  /**
   * HTTP check: healthy if the response has an expected status.
   * @default - required unless another check is set
   */
  readonly httpHealthCheck?: HttpHealthCheck;
  /**
   * TCP check: healthy if a connection opens and the expected bytes arrive. `{}`: a connection is enough.
   * @default - required unless another check is set
   */
  readonly tcpHealthCheck?: TcpHealthCheck;
  /**
   * Check with gRPC: healthy if `grpc.health.v1.Health/Check` returns SERVING.
   * @default - required unless another check is set
   */
  readonly grpcHealthCheck?: GrpcHealthCheck;
}

/** HTTP health check. */
export interface HttpHealthCheck {
  /** Path of the GET request, from the root of the upstream. */
  readonly path: string;
  /**
   * Host header.
   * @default - the host of `to`
   */
  readonly host?: string;
  /**
   * Ranges of healthy statuses.
   * @default - `200`
   */
  readonly expectedStatuses?: readonly StatusRange[];
}

/** Statuses from `start` (inclusive) to `end` (exclusive). */
export interface StatusRange {
  /** First expected status. */
  readonly start: number;
  /** First status after the range. */
  readonly end: number;
}

/** TCP health check. */
export interface TcpHealthCheck {
  /** Bytes to send after connecting. Not for secrets: configuration and state show them. */
  readonly send?: HealthCheckPayload;
  /** Bytes to expect, in this order, within the first 65,536 bytes. */
  readonly receive?: readonly HealthCheckPayload[];
}

/** Bytes as hexadecimal or text. */
export interface HealthCheckPayload {
  /**
   * Bytes in hexadecimal, such as "50494e470d0a".
   * @default - required unless `utf8` is set
   */
  readonly hex?: string;
  /**
   * Bytes as text, such as "PING\r\n".
   * @default - required unless `hex` is set
   */
  readonly utf8?: string;
}

/** gRPC health check. */
export interface GrpcHealthCheck {
  /**
   * Service to check.
   * @default - the whole server
   */
  readonly serviceName?: string;
  /**
   * The `:authority` header.
   * @default - the host of `to`
   */
  readonly authority?: string;
}

/** Ejection of upstreams that respond with errors. */
export interface OutlierDetection {
  /**
   * Consecutive 5xx responses or failures before an upstream is ejected. 0 disables it.
   * @default 5
   */
  readonly consecutive5xx?: number;
  /**
   * Consecutive 502, 503 and 504 responses or failures before an upstream is ejected. 0 disables it.
   * @default 0
   */
  readonly consecutiveGatewayFailure?: number;
  /**
   * Duration of the first ejection. Each further ejection adds this duration.
   * @default 30s
   */
  readonly baseEjectionTime?: string;
  /**
   * Maximum ejection time. The count restarts after the same time without ejection.
   * @default 5m
   */
  readonly maxEjectionTime?: string;
  /**
   * Maximum percentage of ejected upstreams. At least one can be ejected, never the last one.
   * @default 10
   */
  readonly maxEjectionPercent?: number;
}

/** Limits for each upstream. */
export interface CircuitBreakerThresholds {
  /** Maximum connections to each upstream. Further requests wait for one. */
  readonly maxConnections?: number;
  /**
   * Maximum requests that wait for a connection to each upstream. Further requests get 503.
   * @default 1024
   */
  readonly maxPendingRequests?: number;
  /**
   * Maximum active requests to each upstream. Further requests get 503.
   * @default 10000
   */
  readonly maxRequests?: number;
}

/** Other settings of all kinds of routes. */
export interface RouteSettings {
  /**
   * Public URL: scheme, host and optional port; `http://` requires `insecure_server`, or `http_redirect_address`, the
   * port and a public route. `https://*.example.com` matches hosts below example.com without a more specific route.
   * Example: "https://notes.example.com".
   */
  readonly from: string;
  /**
   * Upstream URL, or a list of at most 1,000; "url,weight" sets a weight.
   * @default - required unless `redirect` or `response` is set
   */
  readonly to?: string | readonly string[];
  /**
   * Display name of up to 40 characters. Shown on the portal and in the catalog.
   * @default - `name`
   */
  readonly title?: string;
  /**
   * What the route is for, in one line of up to 300 characters. Shown on the portal and in the catalog, which has the
   * first 100.
   */
  readonly description?: string;
  /**
   * Icon: a PNG, JPEG or WebP image of up to 16,384 bytes as `data:image/png;base64,…`. Shown on the portal and in the
   * catalog.
   * @default - two letters of the name
   */
  readonly icon?: string;
  /**
   * Version of what the route serves in the catalog, such as `1.4.2`.
   * @default - `1.0.0`
   */
  readonly version?: string;
  /** Documentation for users (`https://`). Linked on the portal and in the catalog. */
  readonly documentationUrl?: string;
  /** Page (`https://`) or address (`mailto:`) for questions about the route. Linked on the portal. */
  readonly contact?: string;
  /**
   * Readers who find an MCP server in the catalog: callers with a token, if the policy could allow them a request, or
   * also callers without a token. The latter need `mcpCatalog: "public"`.
   * @default users
   */
  readonly catalog?: "users" | "public";
  /** Access rules; see `allow` and `deny`. A request is allowed if an allow rule matches and no deny rule does. */
  readonly policy?: PolicyDoc;
  /**
   * Allow all requests, also without sign-in. Deny rules still apply.
   * @default false
   */
  readonly allowPublicUnauthenticatedAccess?: boolean | IResolvable;
  /**
   * Allow all signed-in users. Deny rules still apply.
   * @default false
   */
  readonly allowAnyAuthenticatedUser?: boolean | IResolvable;
  /**
   * Shadow policy: its result instead of `policy` is recorded and counted, and never enforced. See `shadow` for single
   * rules.
   */
  readonly shadowPolicy?: PolicyDoc;
  /** Email addresses or user IDs to allow, in addition to the policy. */
  readonly allowedUsers?: readonly string[];
  /** Email domains to allow, in addition to the policy. No wildcards. */
  readonly allowedDomains?: readonly string[];
  /** Claims to allow, in addition to the policy: claim name to values. One value of one claim must match. */
  readonly allowedIdpClaims?: Readonly<Record<string, readonly string[]>>;
  /**
   * Forward CORS preflight requests without sign-in. Not on MCP server routes, where the gateway responds to them.
   * @default false
   */
  readonly corsAllowPreflight?: boolean | IResolvable;
  /**
   * Tokens accepted in `Authorization: Bearer` on this route, in addition to the gateway's own. Not on MCP routes.
   * @default - the gateway's `bearerTokenFormat`
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token" | "jwt";
  /**
   * Accepted audiences of the identity provider's access tokens on this route. One must match.
   * @default - the gateway's `idpAccessTokenAllowedAudiences`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Show the rules that denied access, and which user attributes they found, in responses. Not on MCP server routes.
   * @default false
   */
  readonly showErrorDetails?: boolean | IResolvable;
  /** Rate limits of allowed requests, shared by all processes with the same store. Every limit must allow a request. */
  readonly rateLimits?: readonly RateLimit[];
  /**
   * Send the signed identity header and claim headers to the upstream.
   * @default - the gateway's `passIdentityHeaders`
   */
  readonly passIdentityHeaders?: boolean | IResolvable;
  /**
   * Forward WebSocket connections; browsers can open them from the same origin only. Not on MCP server routes.
   * @default false
   */
  readonly allowWebsockets?: boolean | IResolvable;
  /**
   * Use HTTP/2 to the upstream: https if it supports HTTP/2, http always (h2c).
   * @default false
   */
  readonly http2?: boolean | IResolvable;
  /**
   * Disables upstream certificate verification. Insecure.
   * @default false
   */
  readonly tlsSkipVerify?: boolean | IResolvable;
  /**
   * Server name (SNI) that the upstream's certificate must match.
   * @default - the host of `to`
   */
  readonly tlsServerName?: string;
  /**
   * CA certificates (PEM) for the upstream, instead of the defaults: at most 524,288 characters, 4,194,304 in a slice.
   * By reference or sealed.
   * @default - CAs trusted by Node.js
   */
  readonly tlsCustomCa?: Secret;
  /** Client certificate (PEM) for the upstream. Requires `tlsClientKey`. By reference or sealed. */
  readonly tlsClientCert?: Secret;
  /**
   * Private key (PEM) of `tlsClientCert`: RSA up to 4096 bits, P-256, P-384, P-521 or EdDSA. By reference or sealed.
   */
  readonly tlsClientKey?: Secret;
  /**
   * Maximum time until the upstream's response starts. "0s" disables it. Example: "30s".
   * @default - `defaultUpstreamTimeout`; on MCP server routes none
   */
  readonly timeout?: string;
  /**
   * Idle timeout for responses, event streams, gRPC calls and WebSockets. "0s" disables it.
   * @default - `timeout`; for event streams, gRPC calls and WebSockets none
   */
  readonly idleTimeout?: string;
}

/** Rate limit: exactly one of `requests` and `concurrency`. */
export interface RateLimit {
  /** Limit name, shown in responses, records and metrics. */
  readonly name: string;
  /**
   * Keys counted separately: each `user`, OAuth `client`, `tool` of `tools`, or combination.
   * @default - one count for all requests of the route
   */
  readonly per?: readonly RateLimitKey[];
  /**
   * Maximum requests within `window`.
   * @default - required unless `concurrency` is set
   */
  readonly requests?: number;
  /**
   * Sliding window for `requests`, from 1 second to 30 days.
   * @default 1m
   */
  readonly window?: string;
  /**
   * Maximum concurrent requests, including open event streams and WebSockets.
   * @default - required unless `requests` is set
   */
  readonly concurrency?: number;
  /**
   * Tools whose calls are counted and limited, on MCP server routes.
   * @default - every request
   */
  readonly tools?: readonly string[];
  /**
   * While the store is unavailable, each process enforces its share of the limit, or requests get 503.
   * @default share
   */
  readonly withoutStore?: "share" | "refuse";
}

/** Keys that a rate limit counts separately. */
export type RateLimitKey = "user" | "client" | "tool";

/** Settings of an MCP server route, in files below `mcp.server`. */
export interface McpServerSettings {
  /** MCP server routes offered together here, instead of `to`: prefix to route name or `owner/name`. */
  readonly members?: Readonly<Record<string, string>>;
  /** More members: the owner's routes with such `labels`, or `owner/label`. */
  readonly membersByLabel?: readonly string[];
  /** Labels for `membersByLabel` of federated routes. */
  readonly labels?: readonly string[];
  /**
   * Prefix where selected by label.
   * @default - the name of the route
   */
  readonly memberPrefix?: string;
  /**
   * Resources of one member: start of the URI to the member's prefix. Others belong to the first member that lists
   * them.
   */
  readonly resourcePrefixes?: Readonly<Record<string, string>>;
  /**
   * Number of tools above which lists have `find_tools` and `use_tool` instead, to search and call them. Only with
   * `members`.
   * @default - never
   */
  readonly searchToolsAbove?: number;
  /**
   * Maximum request body in bytes, including arguments of tool calls. Larger ones get 413.
   * @default 4096
   */
  readonly maxRequestBytes?: number;
  /**
   * Remove items that the policy always denies for the user from lists, if the policy has `mcp_` criteria.
   * @default true
   */
  readonly filterLists?: boolean | IResolvable;
  /** Digests of reviewed tools and, if included, prompts, resource templates, skills and `instructions`. */
  readonly toolLock?: ToolLock;
  /** OAuth scopes required for tool calls, in addition to `mcp`: tool name, or prefix with `*`, to scopes. */
  readonly toolScopes?: Readonly<Record<string, readonly string[]>>;
  /**
   * Which tool arguments records contain, by JSON pointer. The longest matching pointer applies.
   * @default - plain text in the log; digests in copies and `replay`
   */
  readonly recordArguments?: RecordArguments;
  /**
   * Rules that restrict allowed calls by earlier calls. Each has exactly one of `after`, `notAfter`, `atMost` and
   * `total`.
   */
  readonly historyRules?: readonly HistoryRule[];
  /** HTTP service that allows, denies or changes allowed tool calls, and their results if set. */
  readonly guardrail?: Guardrail;
  /**
   * Paths below the route's base to forward in addition to the MCP endpoint: `/sse` exactly, `/files/*` with all paths
   * below.
   */
  readonly extraPaths?: readonly string[];
  /**
   * Other owners whose MCP client routes and federated routes can use this server: "team-a", "kubernetes.*", or "*" for
   * all.
   * @default - the same owner and the main configuration file
   */
  readonly allowedApplications?: readonly string[];
  /** Service accounts whose clients can introspect all tokens for this server (RFC 7662). */
  readonly introspectionAccounts?: readonly string[];
  /**
   * Tokens bound to a key of the client (DPoP, RFC 9449): `allowed` for clients that send proofs, `required` for all.
   * @default - off
   */
  readonly dpop?: "allowed" | "required";
  /**
   * Proofs must contain a nonce of the gateway, which is valid for two minutes. Clients get it with a 401.
   * @default false
   */
  readonly dpopNonce?: boolean | IResolvable;
  /**
   * Authorization server issuer if discovery fails. With a configured client or `workload`, the only issuer that
   * receives the credentials.
   */
  readonly authorizationServerUrl?: string;
}

/** Lock of an MCP server's reviewed tools: `tools` or `file`. */
export interface ToolLock {
  /**
   * Digests of the reviewed tools, by tool name. Several if users see different definitions.
   * @default - those in `file`
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
  /**
   * Digests of reviewed prompts, by name.
   * @default - those in `file`; otherwise not checked
   */
  readonly prompts?: Readonly<Record<string, readonly string[]>>;
  /**
   * Digests of reviewed resource templates, by `uriTemplate`.
   * @default - those in `file`; otherwise not checked
   */
  readonly resourceTemplates?: Readonly<Record<string, readonly string[]>>;
  /**
   * Digests of reviewed skills, by the URI of their `SKILL.md`.
   * @default - those in `file`; otherwise not checked
   */
  readonly skills?: Readonly<Record<string, readonly string[]>>;
  /**
   * Digests of the server's reviewed `instructions`. An empty list allows none.
   * @default - those in `file`; otherwise not checked
   */
  readonly instructions?: readonly string[];
  /** File written by `gateway tools lock`, instead of `tools`, reloaded when it changes. Owners need `allowed_refs`. */
  readonly file?: string;
  /**
   * Reviewed classes of tools, by name, for `mcp_tool_class`: read, write, destructive, external, sensitive, untrusted.
   * @default - those in `file`
   */
  readonly classes?: Readonly<Record<string, readonly string[]>>;
  /**
   * Tools that are not locked or differ: recorded, also hidden and denied, or denied but listed.
   * @default hide
   */
  readonly onDrift?: "warn" | "hide" | "deny";
  /**
   * Whether calls of locked tools pass before a list has shown them.
   * @default pass
   */
  readonly onUnlisted?: "pass" | "deny";
}

/** Recording of tool arguments: JSON pointers by tool. */
export interface RecordArguments {
  /** Arguments recorded in plain text: tool name, or "*" for all tools, to JSON pointers; `""` is all arguments. */
  readonly plain?: Readonly<Record<string, readonly string[]>>;
  /** Arguments recorded as keyed digests, as in `plain`. Equal values have equal digests. */
  readonly digest?: Readonly<Record<string, readonly string[]>>;
  /** Arguments that are not recorded, as in `plain`. */
  readonly omit?: Readonly<Record<string, readonly string[]>>;
}

/** Rule over earlier calls: exactly one of `after`, `notAfter`, `atMost` and `total`. */
export interface HistoryRule {
  /** Rule name, shown in responses, records and metrics. */
  readonly name: string;
  /** Calls that the rule restricts: criteria on tools, arguments, prompts, resources and methods. */
  readonly calls: ActionDoc;
  /**
   * Whose earlier calls count; only `user` outlasts client registrations and sign-ins. With `run`, the rule is for
   * agent runs only.
   * @default user
   */
  readonly per?: "user" | "grant" | "client" | "run";
  /** Deny the call unless such a call succeeded within the window. */
  readonly after?: HistoryAfter;
  /** Deny the call after such a call within the window. */
  readonly notAfter?: HistoryNotAfter;
  /** Deny calls above a number within the window. */
  readonly atMost?: HistoryAtMost;
  /** Deny calls by which the sum of an argument would exceed a limit within the window. */
  readonly total?: HistoryTotal;
  /**
   * Evaluate and record the rule without enforcing it.
   * @default false
   */
  readonly shadow?: boolean | IResolvable;
}

/** Earlier call that must have succeeded. */
export interface HistoryAfter {
  /** Calls of which one must have succeeded before. */
  readonly calls: ActionDoc;
  /** Window, from 1 second to 30 days. */
  readonly within: string;
  /** Argument, as a JSON pointer, that must have the same value in both calls. */
  readonly sameArgument?: string;
}

/** Earlier call after which calls are denied. */
export interface HistoryNotAfter {
  /** Calls after which the call is denied, from their decision on. */
  readonly calls: ActionDoc;
  /** Window, from 1 second to 30 days. */
  readonly within: string;
  /**
   * Require an approval of the tool call instead of denying it.
   * @default false
   */
  readonly unlessApproved?: boolean | IResolvable;
  /**
   * Groups whose members can approve. Only with `unlessApproved`.
   * @default - the caller confirms
   */
  readonly approvers?: readonly string[];
}

/** Number of calls within a window. */
export interface HistoryAtMost {
  /** Maximum calls within the window. */
  readonly count: number;
  /** Window, from 1 second to 30 days. */
  readonly within: string;
}

/** Sum of an argument within a window. */
export interface HistoryTotal {
  /** Argument to add up, as a JSON pointer. */
  readonly argument: string;
  /** Highest sum within the window: a decimal number up to 1000000000, with at most 6 decimals. */
  readonly limit: string;
  /** Window, from 1 second to 30 days. */
  readonly within: string;
}

/** HTTP service that checks tool calls of an MCP server. */
export interface Guardrail {
  /** Address of the service. Each check is a signed POST request with JSON. */
  readonly url: string;
  /**
   * Signing key according to Standard Webhooks: base64 of 24 to 64 random bytes. Several for rotation: each signs.
   * @default - required, in one of its forms
   */
  readonly secret?: Secret;
  /**
   * Also check results of calls. Results above 1 MiB are denied.
   * @default false
   */
  readonly results?: boolean | IResolvable;
  /**
   * Time limit for each check, up to 1 minute. Calls without a verdict are denied.
   * @default 5s
   */
  readonly timeout?: string;
  /**
   * Record verdicts without enforcing them. Calls still wait for them.
   * @default false
   */
  readonly shadow?: boolean | IResolvable;
}

/** Options for all kinds of upstream OAuth. */
export interface UpstreamOauth2Options {
  /**
   * Scopes to request from the upstream.
   * @default - those in the upstream's metadata
   */
  readonly scopes?: readonly string[];
  /** More query parameters of the authorization URL, such as `access_type: "offline"`. */
  readonly authorizationUrlParams?: Readonly<Record<string, string>>;
  /**
   * Resource identifier (RFC 8707) in token requests with `workload` and `clientCredentials`.
   * @default - that of the upstream's metadata; with `endpoint` the upstream's address
   */
  readonly resource?: string;
  /**
   * Send `resource` (RFC 8707) to the upstream's authorization server. Disable it for servers that reject it, such as
   * Entra ID.
   * @default true
   */
  readonly sendResource?: boolean | IResolvable;
  /**
   * Enterprise-managed authorization: the identity provider decides who can use the upstream, without account
   * connections.
   */
  readonly idJag?: UpstreamIdJag;
  /**
   * Workload identity: the gateway presents a token of its platform. All users of the route share the resulting access.
   */
  readonly workload?: UpstreamWorkload;
  /**
   * Client credentials: the gateway gets tokens as `clientId`. All users of the route share this access.
   * @default false
   */
  readonly clientCredentials?: boolean | IResolvable;
}

/** Access granted by the company's identity provider. */
export interface UpstreamIdJag {
  /**
   * Scopes to request from the identity provider. Must include `upstream_oauth2.scopes`.
   * @default - `upstream_oauth2.scopes`
   */
  readonly scopes?: readonly string[];
}

/** Access with a token of the gateway's platform. */
export interface UpstreamWorkload {
  /**
   * Platform token (JWT) of the gateway for the upstream's authorization server. Usually a file that the platform
   * renews.
   * @default - required, in one of its forms
   */
  readonly assertion?: Secret;
}

/** Credentials of a client registered manually at the upstream. */
export interface UpstreamOauth2Credentials extends UpstreamOauth2Options {
  /** OAuth client ID at the upstream. */
  readonly clientId: string;
  /**
   * OAuth client secret.
   * @default - none (public client)
   */
  readonly clientSecret?: Secret;
  /**
   * Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA or Ed25519.
   * @default - `clientSecret`, or none (public client)
   */
  readonly clientKey?: Secret;
}

/** Credentials with explicit endpoints, without discovery. */
export interface UpstreamOauth2Endpoints extends UpstreamOauth2Credentials {
  /** Upstream OAuth endpoints. */
  readonly endpoint: UpstreamOauth2Endpoint;
}

/** Upstream OAuth endpoints. */
export interface UpstreamOauth2Endpoint {
  /** Upstream authorization endpoint. */
  readonly authUrl: string;
  /** Upstream token endpoint. */
  readonly tokenUrl: string;
  /**
   * Client authentication at the token endpoint: HTTP Basic or form fields.
   * @default - `header`, or according to the upstream's metadata
   */
  readonly authStyle?: "header" | "params";
}
