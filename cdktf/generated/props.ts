// Made by generate.ts, do not edit.
import type { PolicyDoc } from "../../runtime/policy/parse.ts";
import type { Domain } from "../domains.ts";
import type { IResolvable } from "../framework.ts";
import type { HeaderValue } from "../header-value.ts";
import type { Secret } from "../secret.ts";

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
   * Domains allowed for URL-based MCP client IDs (client ID metadata documents). `*.example.com` matches subdomains,
   * not `example.com`; `known-clients` stands for those of common products (Claude, Claude Code, ChatGPT, Codex, VS
   * Code, Copilot CLI, opencode). Once it is set, products that have a document come with it and do not fall back on
   * registering themselves: those whose domain is not listed (Claude Code and Codex among them) cannot connect.
   * @default - URL-based client IDs are refused, and clients register themselves
   */
  readonly mcpAllowedClientIdDomains?: readonly (Domain | string)[];
  /**
   * Domains the service may contact during upstream OAuth discovery, the hosts of `to` included. `*.example.com`
   * matches subdomains, not `example.com`.
   * @default - no discovery
   */
  readonly mcpAllowedAsMetadataDomains?: readonly (Domain | string)[];
  /**
   * Browser origins that may call MCP routes, in addition to the route's own and loopback ones.
   * @default - same host and loopback
   */
  readonly mcpAllowedOrigins?: readonly string[];
  /**
   * Exact redirect URIs with private-use schemes that MCP clients may register, such as "com.example.app:/callback".
   * @default - https and loopback redirect URIs only
   */
  readonly mcpAllowedPrivateRedirectUris?: readonly string[];
  /**
   * Whether MCP clients may register themselves (RFC 7591). With `false` the registration endpoint answers 403 and the
   * metadata does not name it; clients come with the URL of a document, or an administrator makes them. Those
   * registered before go on.
   * @default true
   */
  readonly mcpDynamicRegistration?: boolean | IResolvable;
  /**
   * Fields included in authorization records. `issuer` is the name in `identityIssuers` of who let the user in, by an
   * assertion or at sign-in, `issuer-rules` has those of its `workloadRules` that let a workload in; `auth-method` is
   * `session` (browser), `grant` (MCP client with its user's consent), `id-jag` (MCP client by an issuer's assertion),
   * `application`, `service-account`, `workload` (job, pod or machine by its platform's token), `programmatic` or
   * `provider-token`. `replay` is all that the policy was asked about, for `gateway replay` (who, with groups and
   * devices, what, from where, and digests of arguments and claims), see `authorize_log_key`. One can list: request-id,
   * trace-id, bundle-digest, route, method, path, host, ip, user, email, session-id, grant-id, client-id, issuer,
   * issuer-rules, auth-method, mcp-method, mcp-tool, mcp-tool-parameters, replay.
   * @default request-id, user, email, mcp-method, mcp-tool
   */
  readonly authorizeLogFields?: readonly AuthorizeLogField[];
  /**
   * Origin of the sign-in, consent and user pages; its host serves no route. Without it these pages share the origin of
   * what their host serves: browsers keep most scripts there from reading and answering them, but not all, so that a
   * service worker for example could consent for its user.
   * @default - each route's own host
   */
  readonly authenticateServiceUrl?: string;
  /**
   * Where browsers go after signing out.
   * @default - the signed-out page
   */
  readonly signoutRedirectUrl?: string;
  /**
   * Where people get help: an `https://` page or a `mailto:` address. Error pages show it as a link, next to the
   * request ID.
   * @default - none
   */
  readonly supportUrl?: string;
  /**
   * Issuer URL of the OpenID Connect identity provider. Its claim `sub` is the user's id, byte for byte; nobody signs
   * in whose `sub` begins with `issuer:` or `service-account:`, which stand for other users.
   * @default - nobody can sign in
   */
  readonly idpProviderUrl?: string;
  /**
   * What the page calls it on which people choose where to sign in, when `identityIssuers` has providers too.
   * @default - the host of `idpProviderUrl`
   */
  readonly idpLabel?: string;
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
   * Private key with which the gateway signs a proof that it is the client (`private_key_jwt`), instead of a client
   * secret: PKCS #8 in PEM. EC keys (P-256, P-384), RSA of 2048 bits or more, and Ed25519. Register the public key at
   * the provider.
   * @default - a client secret, or a public client
   */
  readonly idpClientKey?: Secret;
  /**
   * Key ID (`kid`) in the header of the proof that the private key signs. Required if the provider has several public
   * keys of the gateway, as while the key is replaced: Keycloak and Ory Hydra otherwise try only the first one.
   * @default - the header names no key
   */
  readonly idpClientKeyId?: string;
  /**
   * How the client secret proves the gateway. With `client_secret_jwt` the secret signs a proof and is never sent.
   * Required if the provider lists several methods and accepts one of them for this client (Keycloak: the credential
   * type of the client).
   * @default - the first of these that the provider's metadata lists
   */
  readonly idpClientAuth?: "client_secret_basic" | "client_secret_post" | "client_secret_jwt";
  /**
   * Audience of the proof that the gateway signs with its private key or, with `client_secret_jwt`, its secret: the
   * provider's issuer, or the address of its token endpoint, which must have the issuer's origin. Ory Hydra and
   * Canaille require `token_endpoint`.
   * @default issuer
   */
  readonly idpClientProofAudience?: "issuer" | "token_endpoint";
  /**
   * Push authorization requests to the provider (RFC 9126), also where its metadata do not require it. Required if the
   * provider requires it of this client only (Keycloak: "Pushed authorization request required").
   * @default false
   */
  readonly idpPushRequests?: boolean | IResolvable;
  /**
   * Scopes requested at sign-in, exactly these. Without `offline_access` most providers give no refresh token; Google
   * knows it not and wants `access_type: "offline"` and `prompt: "consent"` among `idpRequestParams` instead. Ready
   * settings of common providers: examples/identity-providers.
   * @default - `openid, profile, email; and offline_access, unless the provider's metadata lists scopes without it`
   */
  readonly idpScopes?: readonly string[];
  /**
   * Claim that carries the user's groups: its name, or a path with dots. Names with dots are in quotes in a path:
   * `access."my.client".roles`.
   * @default groups
   */
  readonly idpGroupsClaim?: string;
  /**
   * Who is asked for the groups of users for whom the provider leaves them out because there are too many (Entra: more
   * than 200). Without an answer they are unknown: rules that ask for groups then do not decide, so that a route with
   * such an allow or deny rule refuses, and upstreams are told no groups; it is asked again within about a minute of
   * use. Groups that were asked for count for the criterion `groups`; `claim/groups` stays unknown, and the signed
   * identity header has them up to 8 KiB.
   * @default - groups that the provider leaves out are unknown
   */
  readonly idpGroupsResolver?: GroupsResolver;
  /**
   * Count an e-mail address only when the provider says that it is verified (`email_verified: true`). Without it an
   * address that the provider is silent about counts; one that it calls unverified never does.
   * @default false
   */
  readonly idpRequireEmailVerified?: boolean | IResolvable;
  /**
   * Extra query parameters on the provider's authorization URL, such as `access_type: "offline"` and `prompt:
   * "consent"` for refresh tokens of Google.
   * @default - none
   */
  readonly idpRequestParams?: Readonly<Record<string, string>>;
  /**
   * Issuers whose signed statements about users and workloads are accepted, by a name of lower-case letters, digits and
   * dashes that becomes part of their ids. Users known from an assertion alone have unknown groups and claims and no
   * tokens of the provider: rules that ask for groups or other claims do not decide, so that a route with such an allow
   * or deny rule refuses; `${gateway.access_token}` and `${gateway.id_token}` are empty; a server whose account they
   * would have to connect first answers 403, and so does one with `upstream_oauth2.id_jag`, which needs the ID token of
   * a sign-in; `workload` and `clientCredentials` there are as for everybody. Without the entry or its use, what it
   * gave access to ends at once.
   * @default - none
   */
  readonly identityIssuers?: Readonly<Record<string, IdentityIssuer>>;
  /**
   * Company directories by a name of lower-case letters, digits and dashes: the provider tells the gateway by SCIM 2.0
   * which users and groups there are. Whoever it deactivates or deletes loses sessions, grants and open streams on
   * every process within 2 s; who is deactivated does not get in before they are active again, who is deleted is
   * somebody whom it does not have (`unlistedUsers`).
   * @default - none
   */
  readonly directories?: Readonly<Record<string, Directory>>;
  /**
   * What `Authorization: Bearer` may hold on ordinary routes. default: it is passed to the upstream unchanged.
   * Otherwise an access token or ID token of the identity provider, which signs its user in for that request, or with
   * `jwt` a token that a platform gives its jobs, pods and machines, by an issuer of `identityIssuers` with the use
   * `workload`; it is taken away, and a bad one is answered 401. The gateway's own tokens are taken either way.
   * @default default
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token" | "jwt";
  /**
   * Audiences of the identity provider's access tokens that ordinary routes take; one of them must be the token's.
   * @default - `idpClientId`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Hosts to which a programmatic login may send its token, https unless they are this machine's. `*.example.com`
   * matches subdomains, not `example.com`.
   * @default - localhost, 127.0.0.1 and [::1]
   */
  readonly programmaticRedirectDomainWhitelist?: readonly (Domain | string)[];
  /**
   * Name of the session cookie; `__Host-` is added on HTTPS.
   * @default gateway_session
   */
  readonly cookieName?: string;
  /**
   * Longest life of a browser session.
   * @default 14h
   */
  readonly cookieExpiration?: string;
  /**
   * Longest time for which a user keeps access although the identity provider gives no usable response about the user,
   * while it confirms other users. Then the user's sessions and grants end. While the provider confirms no user, this
   * does not apply.
   * @default 1h
   */
  readonly unconfirmedUserLimit?: string;
  /**
   * SameSite attribute of the session cookie.
   * @default lax
   */
  readonly cookieSameSite?: "lax" | "strict" | "none";
  /**
   * Life of External Tokens given to MCP clients. Clients with a refresh token are told an end that is up to 10 seconds
   * earlier.
   * @default 15m
   */
  readonly accessTokenLifetime?: string;
  /**
   * Life of External Tokens given to applications of MCP client routes; at least 5 minutes, because none is handed out
   * with less than 4 left.
   * @default 5m
   */
  readonly clientRouteTokenLifetime?: string;
  /**
   * Life of MCP refresh tokens, from their last use.
   * @default 90d
   */
  readonly refreshTokenLifetime?: string;
  /**
   * Longest time from an authorization to its end, however often its refresh tokens are used or rotated: then the
   * client has to ask the user again. One that began before this was set ends at its next refresh.
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
   * Extra identity headers: header name to claim. Sent empty when the user lacks the claim, so that nobody can forge
   * them, and not at all when the provider left the claim out. Lists are joined by commas, without elements that have
   * one. `sub`, `user`, `email`, `name`, `groups` and `sid` are what the signed identity header says; the other claims
   * stand in it too (4 KiB in all). User names of `identityIssuers` (`preferred_username`, `upn` and the like) have the
   * form of user ids: `issuer:<name>/<value>`.
   * @default - none
   */
  readonly jwtClaimsHeaders?: Readonly<Record<string, string>>;
  /**
   * Static response headers of all routes, sent as they stand; a route's own take precedence.
   * @default - none
   */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /**
   * Certificates of the public listener for hosts of the owner's own routes, by host as in `from`: `app.example.com`,
   * or `*.example.com` for one label below. They go before a wildcard of `certificates`, and never before one of the
   * same name. A wildcard is not shown for a host that another owner serves. Needs `certificates`; owners need no leave
   * for it in `allowed_settings`.
   * @default - `certificates` alone
   */
  readonly hostCertificates?: Readonly<Record<string, HostCertificate>>;
  /**
   * Event streams (of GET requests and of `subscriptions/listen`) and WebSocket connections that one user may hold open
   * at once, in each process; more are answered 429.
   * @default 250
   */
  readonly maxStreamsPerUser?: number;
  /**
   * Longest time for which an accepted request continues after its access token or session expires. Revoked or blocked
   * access ends it sooner. Streams that clients open again end at expiry: event streams of GET requests and of
   * `subscriptions/listen`, WebSocket connections, and gRPC streams without a deadline. "0s" ends every request at
   * expiry.
   * @default 1h
   */
  readonly expiryGrace?: string;
  /**
   * Default of the routes' `timeout`; "0s" means no limit.
   * @default 30s
   */
  readonly defaultUpstreamTimeout?: string;
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
export type AuthorizeLogField = "request-id" | "trace-id" | "bundle-digest" | "route" | "method" | "path" | "host" | "ip" | "user" | "email" | "session-id" | "grant-id" | "client-id" | "issuer" | "issuer-rules" | "auth-method" | "mcp-method" | "mcp-tool" | "mcp-tool-parameters" | "replay";

/** Who is asked for groups that the identity provider leaves out. */
export interface GroupsResolver {
  /**
   * Asks Microsoft Graph (`getMemberObjects`) at sign-in and at each refresh. The address in the token is never asked.
   */
  readonly entra: EntraGroups;
}

/** Microsoft Graph, asked by an app registration of its own. */
export interface EntraGroups {
  /** Id of the directory (tenant). Users of another one are not asked about. */
  readonly tenant: string;
  /**
   * Application (client) id of the app registration that asks. It has the application permissions `User.Read.All` and
   * `GroupMember.Read.All` of Microsoft Graph, with an administrator's consent.
   */
  readonly clientId: string;
  /**
   * Client secret of that app registration.
   * @default - required, in one of its spellings
   */
  readonly clientSecret?: Secret;
  /**
   * Security groups alone, as `groups` has them where the app registration says so. With `false` distribution groups,
   * administrative units and directory roles too.
   * @default true
   */
  readonly securityEnabledOnly?: boolean | IResolvable;
  /**
   * Origin of the token service in a sovereign cloud, such as `https://login.microsoftonline.us`. With `graphUrl`.
   * @default https://login.microsoftonline.com
   */
  readonly loginUrl?: string;
  /**
   * Origin of Microsoft Graph in a sovereign cloud, such as `https://graph.microsoft.us`. With `loginUrl`.
   * @default https://graph.microsoft.com
   */
  readonly graphUrl?: string;
}

/** An issuer whose signed statements about users or workloads are accepted. */
export interface IdentityIssuer {
  /**
   * Its issuer identifier, exactly as `iss` has it, a slash at the end included: `https://`, or `http://` on a loopback
   * host. When it is `idpProviderUrl`, its users are those who sign in there, with the groups that a sign-in brought;
   * the users of every other issuer are `issuer:<name>/<sub>`, so that another issuer needs another name.
   * `kubernetes:///` stands for the cluster in which the gateway runs (with `workload`): its issuer is read from the
   * pod's own token and its keys from its API server, which the role `system:service-account-issuer-discovery` lets it
   * do; `kubernetes://host:port` asks that address.
   */
  readonly issuer: string;
  /**
   * What its statements are accepted for. `idJag`: MCP clients exchange an identity assertion authorization grant
   * (ID-JAG) of this issuer for an access token, without sign-in and consent page (enterprise-managed authorization).
   * `workload`: a job, pod or machine exchanges the token that its platform gives it for an access token, without a
   * stored secret (workload identity federation), and opens ordinary routes with `bearerTokenFormat: "jwt"` with it, as
   * `workloadRules` say; its user id is `workload:<name>/<sub>`. `logout`: it ends what its users have here, by OIDC
   * back-channel logout and by global token revocation. `signIn`: people sign in there.
   */
  readonly uses: readonly IssuerUse[];
  /**
   * Address of its keys, instead of discovery: `https://`, or `http://` on a loopback host; it may be in a private
   * network.
   * @default - what `/.well-known/openid-configuration` below `issuer` names, on the issuer's own origin or at a public address
   */
  readonly jwksUrl?: string;
  /**
   * Its public keys as JSON (a JWK set), instead of reading them anywhere.
   * @default - keys are read, at most every 30 seconds in each process, and used for 5 minutes; while they cannot be read again, for at most a day
   */
  readonly jwks?: string;
  /**
   * Signature algorithms that it uses.
   * @default ES256, ES384, EdDSA, PS256, RS256
   */
  readonly algorithms?: readonly SignatureAlgorithm[];
  /**
   * Hosts on which its assertions and tokens count (`idJag`, `workload`). Each host with MCP servers is an
   * authorization server of its own, which the issuer has to name as the audience.
   * @default - all hosts
   */
  readonly hosts?: readonly string[];
  /**
   * Client identifiers that may present its assertions, as they are registered here or as address of a client ID
   * metadata document.
   * @default - every client that the issuer names in an assertion
   */
  readonly allowedClients?: readonly string[];
  /**
   * Also clients that prove nothing (`token_endpoint_auth_method: "none"`). Whoever has an assertion can use it then,
   * once, under the name of its client.
   * @default false
   */
  readonly allowPublicClients?: boolean | IResolvable;
  /**
   * Longest time between issue and end of an assertion: at most `1h` with `idJag`, else `24h`. With `logout`, how long
   * ago a logout token may have been issued.
   * @default - `5m` with `idJag` and `logout`, `1h` with `workload`
   */
  readonly maxAssertionAge?: string;
  /**
   * Longest life of the tokens that its assertions are exchanged for. They never outlive the assertion of a workload
   * either.
   * @default - `accessTokenLifetime`
   */
  readonly maxTokenLifetime?: string;
  /**
   * Domains of the e-mail addresses that it may vouch for. An address counts when it is in one of them, and not called
   * unverified; with `signIn` whoever types one on the page of choices is led to this provider. Global token revocation
   * may name users by these addresses.
   * @default - its addresses count for nothing
   */
  readonly emailDomains?: readonly string[];
  /**
   * With `workload`: what its tokens may name in `aud`; one that names anything else beside is refused.
   * @default - the origin of the host where a token is presented, with or without a slash at its end, and its token endpoint
   */
  readonly audiences?: readonly string[];
  /**
   * With `workload`: whether one token may be exchanged several times. `allowed` is for platforms that give a workload
   * the same token for a while, as Kubernetes gives pods theirs from a file. Ordinary routes take a token as often as
   * it is sent.
   * @default once
   */
  readonly replay?: "once" | "allowed";
  /**
   * With `workload`: a `clientId` that is sent without a proof says nothing. Without this it must be that of a client
   * that has nothing to prove.
   * @default false
   */
  readonly ignoreClientId?: boolean | IResolvable;
  /**
   * With `workload`: which workloads may come in, by names for the log. All that a token fits count together. A rule
   * that is changed or taken away ends what it gave access to at once.
   * @default - none, which `workload` does not go with
   */
  readonly workloadRules?: Readonly<Record<string, WorkloadRule>>;
  /**
   * Further client identifiers under which it knows this gateway: one of them, or the one under which its users sign in
   * here, must be the audience of its back-channel logout tokens.
   * @default - the client under which its users sign in here
   */
  readonly logoutAudiences?: readonly string[];
  /**
   * Its back-channel logout ends what MCP clients may do for the user, too, assertions included that were issued
   * before. Otherwise it ends browser sessions and the tokens made in them. Global token revocation always ends
   * everything.
   * @default false
   */
  readonly logoutEndsGrants?: boolean | IResolvable;
  /**
   * How its people sign in; with the use `signIn`. Register `https://<host of the sign-in
   * pages>/.gateway/callback/<name>` as redirect URI. The provider is found by its metadata below `issuer`.
   * @default - nobody signs in there
   */
  readonly signIn?: IssuerSignIn;
}

/** What statements of an issuer are accepted for. */
export type IssuerUse = "id_jag" | "workload" | "logout" | "sign_in";

/** Asymmetric signatures. */
export type SignatureAlgorithm = "ES256" | "ES384" | "EdDSA" | "PS256" | "RS256";

/** Which workloads of a platform may come in, to what, in which groups. */
export interface WorkloadRule {
  /**
   * Claims that a token must have. A name is that of a claim as it is, or a JSON Pointer (RFC 6901) to one within
   * others: `/kubernetes.io/serviceaccount/name`. All of them must be there, each with one of the values of its list;
   * where the claim is a list itself, one of its values. A value is a text, compared byte for byte, in which `*` stands
   * for one whole segment between `:` and `/` (`repo:acme/*:ref:refs/heads/main`); a number or a flag is written as
   * JSON: `json:true`, `json:42`.
   */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /**
   * What it opens: addresses of MCP servers, as clients name them; of ordinary routes with `bearerTokenFormat: "jwt"`,
   * the origin, or origin and prefix.
   */
  readonly resources: readonly string[];
  /**
   * Groups that its workloads are in, for policies. Nothing else of a token is taken over: they have no e-mail address
   * and no claims.
   * @default - none
   */
  readonly groups?: readonly string[];
}

/** How the people of an issuer sign in. */
export interface IssuerSignIn {
  /** Client identifier at this provider. */
  readonly clientId: string;
  /**
   * Client secret at this provider.
   * @default - a public client
   */
  readonly clientSecret?: Secret;
  /**
   * Private key with which the gateway signs a proof that it is the client (`private_key_jwt`), instead of a client
   * secret: PKCS #8 in PEM. EC keys (P-256, P-384), RSA of 2048 bits or more, and Ed25519. Register the public key at
   * the provider.
   * @default - a client secret, or a public client
   */
  readonly clientKey?: Secret;
  /**
   * Key ID (`kid`) in the header of the proof that the private key signs. Required if the provider has several public
   * keys of the gateway, as while the key is replaced: Keycloak and Ory Hydra otherwise try only the first one.
   * @default - the header names no key
   */
  readonly clientKeyId?: string;
  /**
   * How the client secret proves the gateway. With `client_secret_jwt` the secret signs a proof and is never sent.
   * Required if the provider lists several methods and accepts one of them for this client (Keycloak: the credential
   * type of the client).
   * @default - the first of these that the provider's metadata lists
   */
  readonly clientAuth?: "client_secret_basic" | "client_secret_post" | "client_secret_jwt";
  /**
   * Audience of the proof that the gateway signs with its private key or, with `client_secret_jwt`, its secret: the
   * provider's issuer, or the address of its token endpoint, which must have the issuer's origin. Ory Hydra and
   * Canaille require `token_endpoint`.
   * @default issuer
   */
  readonly clientProofAudience?: "issuer" | "token_endpoint";
  /**
   * Push authorization requests to the provider (RFC 9126), also where its metadata do not require it. Required if the
   * provider requires it of this client only (Keycloak: "Pushed authorization request required").
   * @default false
   */
  readonly pushRequests?: boolean | IResolvable;
  /**
   * What the page calls it on which people choose where to sign in.
   * @default - the name of the entry
   */
  readonly label?: string;
  /**
   * Scopes requested at sign-in, exactly these.
   * @default - as for `idpScopes`
   */
  readonly scopes?: readonly string[];
  /**
   * Claim that carries the user's groups.
   * @default groups
   */
  readonly groupsClaim?: string;
  /**
   * Who is asked for the groups of users for whom the provider leaves them out, as `idpGroupsResolver` says.
   * @default - they are unknown
   */
  readonly groupsResolver?: GroupsResolver;
  /**
   * Count an e-mail address only when the provider says that it is verified.
   * @default false
   */
  readonly requireEmailVerified?: boolean | IResolvable;
  /**
   * Extra query parameters on the provider's authorization URL.
   * @default - none
   */
  readonly requestParams?: Readonly<Record<string, string>>;
  /**
   * Claims that the ID token must have, with exactly this text: `hd: example.com` at Google, `tid` at Entra. Nobody
   * signs in without them, and whose refreshed ID token has another value is signed out.
   * @default - everybody whom the provider signs in
   */
  readonly requiredClaims?: Readonly<Record<string, string>>;
}

/** A company's directory, which tells by SCIM which people and groups there are. */
export interface Directory {
  /**
   * Whose people it knows: `default` for `idpProviderUrl`, or a name in `identityIssuers`. A provider has at most one
   * directory.
   * @default default
   */
  readonly provider?: string;
  /**
   * Token with which the provider calls `/.gateway/scim/v2` and the name of the directory below it, on the host of the
   * sign-in pages, as SCIM clients send it (`Authorization: Bearer`). At least 20 characters.
   * @default - required, in one of its spellings
   */
  readonly token?: Secret;
  /**
   * The token before, good as well while the provider is told the new one.
   * @default - none
   */
  readonly previousToken?: Secret;
  /**
   * Attribute of a user there that says who they are here.
   * @default externalId
   */
  readonly subjectAttribute?: "externalId" | "userName";
  /**
   * What of the provider it is compared with, byte for byte: `sub`, or `oid` at Entra, where `sub` is another one for
   * each application; map `objectId` to `externalId` there. By `oid` users are known once they have signed in.
   * @default sub
   */
  readonly subjectClaim?: "sub" | "oid";
  /**
   * Which groups people have. `directory`: those of this directory alone; of who is not in it they are unknown. `both`:
   * and those that a sign-in brought. `claims`: those alone; the directory only says who is active.
   * @default directory
   */
  readonly groups?: "directory" | "both" | "claims";
  /**
   * What policies call its groups.
   * @default displayName
   */
  readonly groupAttribute?: "displayName" | "externalId";
  /**
   * People of the provider who are not in the directory.
   * @default allowed
   */
  readonly unlistedUsers?: "allowed" | "refused";
  /**
   * How many users the provider may make there, as each process counts them now and then; more are refused.
   * @default 250000
   */
  readonly maxUsers?: number;
  /**
   * How many groups, likewise.
   * @default 50000
   */
  readonly maxGroups?: number;
}

/** A certificate for one host. */
export interface HostCertificate {
  /** PEM: the certificate, then those between it and the root. Must be for the host, and valid when it is published. */
  readonly certificate: string;
  /**
   * PEM of its private key, without a passphrase: RSA of at most 4096 bits, P-256, P-384, P-521 or EdDSA.
   * @default - required, in one of its spellings
   */
  readonly certificateKey?: Secret;
}

/**
 * The header settings of a route. At most one of the four ways to choose the Host header may be used; the regular
 * expression and its substitution are one way.
 */
export interface HeaderSettings {
  /**
   * Pass the incoming Host header upstream instead of the host of the route's `to` URL.
   * @default false
   */
  readonly preserveHostHeader?: boolean | IResolvable;
  /**
   * Set the Host header to this fixed `host` or `host:port`.
   * @default - the host of `to`
   */
  readonly hostRewrite?: string;
  /**
   * Set the Host header from the value of the named incoming request header. When the header is missing, empty or no
   * valid host, the host of `to` is used.
   * @default - the host of `to`
   */
  readonly hostRewriteHeader?: string;
  /**
   * RE2 regular expression applied to the request path (without query) to derive the Host header; the first match is
   * replaced. Needs `hostPathRegexRewriteSubstitution`.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewritePattern?: string;
  /**
   * What the match of `hostPathRegexRewritePattern` is replaced by; capture groups are written `\\1` to `\\9`.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewriteSubstitution?: string;
  /**
   * Headers set on the upstream request, replacing what the client sent. A string is sent as it stands; use
   * `headerValue`, `gatewayToken` and `requestHeader` for values that are known per request.
   * @default - no headers are set
   */
  readonly setRequestHeaders?: Readonly<Record<string, HeaderValue | string>>;
  /**
   * Headers set on the upstream request like `setRequestHeaders`, whose values are secrets, by header name. They are
   * sent as they are: a `$` in them means itself.
   * @default - no headers are set
   */
  readonly setRequestHeadersSecret?: Readonly<Record<string, Secret>>;
  /**
   * Names of request headers removed before the request goes upstream. Applied after `setRequestHeaders`: a header
   * named in both is removed.
   * @default - no headers are removed
   */
  readonly removeRequestHeaders?: readonly string[];
  /**
   * Static response headers, sent as they stand. They replace headers of the upstream and those of the gateway's own
   * `setResponseHeaders`.
   * @default - only the gateway's `setResponseHeaders`
   */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /**
   * Rules that replace the beginning of response header values, applied in list order after `setResponseHeaders`.
   * @default - nothing is rewritten
   */
  readonly rewriteResponseHeaders?: readonly ResponseHeaderRewrite[];
}

/** One rule of `rewriteResponseHeaders`. */
export interface ResponseHeaderRewrite {
  /** Name of the response header, such as `Location`. */
  readonly header: string;
  /** Literal text the value must begin with to be rewritten. Empty text matches every value. */
  readonly prefix: string;
  /** What the prefix is replaced by, as it stands. */
  readonly value: string;
}

/** Which requests a route takes, how their path changes on the way, and answers without an upstream. */
export interface RoutingSettings {
  /**
   * The route takes requests whose path is this one or lies below it, by whole segments. MCP server routes own it as
   * their base.
   * @default - every path of the host
   */
  readonly prefix?: string;
  /**
   * The route takes requests with exactly this path. Not together with `prefix`.
   * @default - every path of the host
   */
  readonly path?: string;
  /**
   * The route takes requests whose whole path this RE2 regular expression matches; it goes before every `prefix`. Not
   * together with `prefix` or `path`, and not on MCP routes.
   * @default - every path of the host
   */
  readonly regex?: string;
  /**
   * Of several `regex` routes of a host that match, the one with the highest number is taken; of equal ones the one
   * with the longest literal beginning.
   * @default 0
   */
  readonly regexPriorityOrder?: number;
  /**
   * Takes the place of `prefix` in the path that the upstream sees, by whole segments; with `path` and `regex` of the
   * whole path. Then `to` has no path of its own.
   * @default - the path is sent as it is
   */
  readonly prefixRewrite?: string;
  /**
   * RE2 regular expression; every match of it in the path (without query) is replaced for the upstream. Needs
   * `regexRewriteSubstitution`. Then `to` has no path of its own.
   * @default - the path is sent as it is
   */
  readonly regexRewritePattern?: string;
  /**
   * What matches of `regexRewritePattern` are replaced by; capture groups are written `\\1` to `\\9`. A result that is
   * no plain path is refused with 400.
   * @default - the path is sent as it is
   */
  readonly regexRewriteSubstitution?: string;
  /**
   * Answer with a redirect instead of forwarding the request. The route's policy decides first.
   * @default - the request goes to `to`
   */
  readonly redirect?: RouteRedirect;
  /**
   * Answer with this instead of forwarding the request. The route's policy decides first.
   * @default - the request goes to `to`
   */
  readonly response?: RouteResponse;
}

/** Where a route redirects to; what is not given is that of the request. */
export interface RouteRedirect {
  /**
   * Send to https, and from port 80 to 443. Not together with `schemeRedirect`.
   * @default false
   */
  readonly httpsRedirect?: boolean | IResolvable;
  /**
   * Scheme to send to.
   * @default - the scheme of the route
   */
  readonly schemeRedirect?: "http" | "https";
  /**
   * Host to send to, without port.
   * @default - the host of the request
   */
  readonly hostRedirect?: string;
  /**
   * Port to send to.
   * @default - the port of the request; with another host or scheme the scheme's own
   */
  readonly portRedirect?: number;
  /**
   * Path to send to. With a query of its own it replaces that of the request. Not together with `prefixRewrite`.
   * @default - the path of the request
   */
  readonly pathRedirect?: string;
  /**
   * Takes the place of the route's `prefix` in the path, by whole segments; with `path` and `regex` of the whole path.
   * @default - the path of the request
   */
  readonly prefixRewrite?: string;
  /**
   * Status of the answer: 301, 302, 303, 307 or 308.
   * @default 301
   */
  readonly responseCode?: number;
  /**
   * Leave the query of the request out.
   * @default false
   */
  readonly stripQuery?: boolean | IResolvable;
}

/** An answer that the gateway gives by itself. */
export interface RouteResponse {
  /** Status of the answer, 200 to 599. */
  readonly status: number;
  /**
   * Body of the answer, up to 65,536 bytes. Plain text, unless `setResponseHeaders` has another Content-Type.
   * @default - an empty body
   */
  readonly body?: string;
}

/** How a route treats its upstreams: which takes a request, which are left out, how much each is given. */
export interface BalancingSettings {
  /**
   * Which upstream takes the next request: `round_robin` (weighted), `random`, `least_request` (fewest active
   * requests), or (`ring_hash`, `maglev`) always the same one for the same user, or for the same address without a
   * user. `maglev` is another name of `ring_hash`.
   * @default round_robin
   */
  readonly loadBalancingPolicy?: "round_robin" | "random" | "least_request" | "ring_hash" | "maglev";
  /**
   * Accepted for configurations that have it, and without effect: `maglev` needs no table here.
   * @default - no effect either
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
   * Percentage: with a smaller share of healthy upstreams all are used, whatever is known of them. 0: never; requests
   * are answered 503 when none is healthy.
   * @default - all are used when none is healthy
   */
  readonly healthyPanicThreshold?: number;
  /**
   * Limits of this route towards each upstream, in each process. With several upstreams another one is tried before the
   * answer is 503.
   * @default - 10,000 requests under way
   */
  readonly circuitBreakerThresholds?: CircuitBreakerThresholds;
}

/** Without effect: the table of Maglev hashing. */
export interface MaglevLbConfig {
  /**
   * Has no effect.
   * @default - no effect either
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
   * @default - required: this check or another one
   */
  readonly httpHealthCheck?: HttpHealthCheck;
  /**
   * Healthy: a connection can be opened (over TLS where `to` is https), and what is expected comes. `{}`: opening it is
   * enough.
   * @default - required: this check or another one
   */
  readonly tcpHealthCheck?: TcpHealthCheck;
  /**
   * Healthy: `grpc.health.v1.Health/Check` answers SERVING, over HTTP/2 whatever `http2` says.
   * @default - required: this check or another one
   */
  readonly grpcHealthCheck?: GrpcHealthCheck;
}

/** A health check by HTTP. */
export interface HttpHealthCheck {
  /** Path requested with GET, from the root of the upstream whatever path `to` has. */
  readonly path: string;
  /**
   * Value of the Host header.
   * @default - the host of `to`
   */
  readonly host?: string;
  /**
   * Ranges of statuses that say the upstream is healthy.
   * @default - `200 alone`
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
   * @default - required: `hex` or `utf8`
   */
  readonly hex?: string;
  /**
   * Bytes as text, such as "PING\r\n".
   * @default - required: `hex` or `utf8`
   */
  readonly utf8?: string;
}

/** A health check by gRPC's own protocol. */
export interface GrpcHealthCheck {
  /**
   * Name of the service to check.
   * @default - the server as a whole
   */
  readonly serviceName?: string;
  /**
   * Value of `:authority`.
   * @default - the host of `to`
   */
  readonly authority?: string;
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
   * Largest share of the upstreams left out at once. At least one may be; the last one never is.
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

/** The other settings of every kind of route. */
export interface RouteSettings {
  /**
   * Address users visit: scheme, host and optionally a port. HTTPS unless `insecure_server` or `development` is set.
   * `https://*.example.com` takes every host below example.com that no other route names more exactly; not on MCP
   * routes. Example: "https://notes.example.com".
   */
  readonly from: string;
  /**
   * Address of the upstream, or a list of at most 1,000; "url,weight" gives one more or less of the traffic. Required
   * unless `redirect` or `response` answers.
   * @default - `redirect` or `response` answers
   */
  readonly to?: string | readonly string[];
  /**
   * Who may pass; see `allow` and `deny`. A request passes when some allow rule matches and no deny rule does.
   * @default - everything is denied
   */
  readonly policy?: PolicyDoc;
  /**
   * Everybody may pass, signed in or not. The policy's deny rules still hold.
   * @default false
   */
  readonly allowPublicUnauthenticatedAccess?: boolean | IResolvable;
  /**
   * Everybody who is signed in may pass. The policy's deny rules still hold.
   * @default false
   */
  readonly allowAnyAuthenticatedUser?: boolean | IResolvable;
  /**
   * A candidate for `policy`: what it would say in its place is recorded and counted, and never enforced. See `shadow`
   * for single rules.
   * @default - there is no candidate
   */
  readonly shadowPolicy?: PolicyDoc;
  /**
   * E-mail addresses or user ids of those who may pass, in addition to those whom the policy allows. What has no @ is
   * an id, and so is what begins with `issuer:` or `service-account:`.
   * @default - only the policy allows
   */
  readonly allowedUsers?: readonly string[];
  /**
   * Domains of e-mail addresses whose users may pass, in addition to those whom the policy allows. Without wildcards.
   * @default - only the policy allows
   */
  readonly allowedDomains?: readonly string[];
  /**
   * Map of claims to values: whoever has one of the values in one of the claims may pass, in addition to those whom the
   * policy allows.
   * @default - only the policy allows
   */
  readonly allowedIdpClaims?: Readonly<Record<string, readonly string[]>>;
  /**
   * CORS preflight requests (OPTIONS with Origin and Access-Control-Request-Method) reach the upstream without sign-in.
   * Not on MCP server routes, where the gateway answers them.
   * @default false
   */
  readonly corsAllowPreflight?: boolean | IResolvable;
  /**
   * What `Authorization: Bearer` may hold on this route, in addition to the gateway's own tokens. Not on MCP routes.
   * @default - the gateway's `bearerTokenFormat`
   */
  readonly bearerTokenFormat?: "default" | "idp_access_token" | "idp_identity_token" | "jwt";
  /**
   * Audiences of the identity provider's access tokens that this route takes; one of them must be the token's.
   * @default - the gateway's `idpAccessTokenAllowedAudiences`
   */
  readonly idpAccessTokenAllowedAudiences?: readonly string[];
  /**
   * Pages and answers that deny access name the rules that decided and what they found of the user. Values that rules
   * ask for are not shown. Not on MCP server routes.
   * @default false
   */
  readonly showErrorDetails?: boolean | IResolvable;
  /**
   * How often the route may be used by those whom policy lets pass, counted together by all processes that share the
   * store. A request must be within all of them; one that is refused (429) counts for none.
   * @default - there are no limits
   */
  readonly rateLimits?: readonly RateLimit[];
  /**
   * Send the signed identity header and claim headers to the upstream.
   * @default - the gateway's `passIdentityHeaders`
   */
  readonly passIdentityHeaders?: boolean | IResolvable;
  /**
   * Pass WebSocket connections to the upstream. Browsers may open them from pages of the same origin only. Not on MCP
   * server routes.
   * @default false
   */
  readonly allowWebsockets?: boolean | IResolvable;
  /**
   * Speak HTTP/2 to the upstream: to https addresses that offer it, to http addresses always (h2c).
   * @default false
   */
  readonly http2?: boolean | IResolvable;
  /**
   * Take any certificate from the upstream. Whoever is between can then read and change everything.
   * @default false
   */
  readonly tlsSkipVerify?: boolean | IResolvable;
  /**
   * Host that the upstream's certificate must be for, sent as SNI.
   * @default - the host of `to`
   */
  readonly tlsServerName?: string;
  /**
   * PEM of the authorities that may have signed the upstream's certificate, instead of the usual ones: at most 524,288
   * characters, and 4,194,304 in all different ones of a slice. By reference or sealed.
   * @default - the authorities that Node.js trusts
   */
  readonly tlsCustomCa?: Secret;
  /**
   * PEM of the certificate that the gateway shows to the upstream. Needs `tlsClientKey`. By reference or sealed.
   * @default - no client certificate
   */
  readonly tlsClientCert?: Secret;
  /**
   * PEM of the private key of `tlsClientCert`: RSA of at most 4096 bits, P-256, P-384, P-521 or EdDSA. By reference or
   * sealed.
   * @default - no client certificate
   */
  readonly tlsClientKey?: Secret;
  /**
   * Longest wait for the upstream's answer to begin, of a gRPC call from the end of its request; "0s" means no limit.
   * Example: "30s".
   * @default - `defaultUpstreamTimeout`; no limit on MCP server routes
   */
  readonly timeout?: string;
  /**
   * Longest silence within an answer, event streams included, within a gRPC call and on a WebSocket connection; "0s"
   * means no limit.
   * @default - `timeout`; no limit for event streams, gRPC calls and WebSocket
   */
  readonly idleTimeout?: string;
}

/** One limit: exactly one of `requests` and `concurrency`. */
export interface RateLimit {
  /** Name of the limit on this route, shown to callers, in records and metrics. */
  readonly name: string;
  /**
   * What is counted by itself: each `user`, each `client` (of OAuth), each `tool` of `tools`, or each combination of
   * them. Callers without a user, or without a client, are counted as one.
   * @default - all requests of the route together
   */
  readonly per?: readonly RateLimitKey[];
  /**
   * Requests that may pass within any span of `window`.
   * @default - required: `requests` or `concurrency`
   */
  readonly requests?: number;
  /**
   * Span in which `requests` are counted, from one second to 30 days.
   * @default 1m
   */
  readonly window?: string;
  /**
   * Requests that may be under way at a time; open event streams and WebSocket connections are among them.
   * @default - required: `requests` or `concurrency`
   */
  readonly concurrency?: number;
  /**
   * On MCP server routes: only calls of these tools count, and only they are limited.
   * @default - every request counts
   */
  readonly tools?: readonly string[];
  /**
   * While the store cannot be reached: each process counts by itself, with its share of the limit (`share`), or
   * requests are answered 503 (`refuse`).
   * @default share
   */
  readonly withoutStore?: "share" | "refuse";
}

/** What a rate limit counts by itself. */
export type RateLimitKey = "user" | "client" | "tool";

/** Settings of a route to an MCP server that stand below `mcp.server` in files under the same name. */
export interface McpServerSettings {
  /**
   * Largest request body in bytes; larger ones are refused with 413, which names this limit. Arguments of a tool call
   * count: 65536 lets a file of some tens of KB through. A message is held in memory while it is judged.
   * @default 4096
   */
  readonly maxRequestBytes?: number;
  /**
   * Whether lists (tools, prompts, resources, resource templates) leave out what the policy would refuse its user
   * whatever the arguments are, where the policy has `mcp_` criteria. What is left out cannot be used either way.
   * @default true
   */
  readonly filterLists?: boolean | IResolvable;
  /**
   * The tools of this server as they were reviewed, whole, and its prompts, resource templates and `instructions` if
   * they are in the lock. What the server lists is compared with the lock. An item that is missing from a list does not
   * differ, since lists may differ by user.
   * @default - the server may change all of it
   */
  readonly toolLock?: ToolLock;
  /**
   * Scopes that OAuth clients need for calls of tools, beside `mcp`, which every token has: names of tools, or
   * beginnings with `*` behind them, and their scopes. A tool that several entries name needs the scopes of all. Users
   * agree to them on the consent page; a call that policy allows and whose token lacks one is answered 403 with
   * `insufficient_scope` and all that it needs, and clients ask for it. Tools stay in lists. Tokens of applications
   * (MCP client routes) and those that `gateway service-account` prints were never asked for with scopes, and need
   * none.
   * @default - no tool needs more than `mcp`
   */
  readonly toolScopes?: Readonly<Record<string, readonly string[]>>;
  /**
   * What records tell of the arguments of tools: in the field `mcp-tool-parameters`, in `replay`, and in the copies of
   * records that are kept for queries or sent elsewhere. What lies below a pointer goes with it. The longest pointer
   * counts, and a tool's own before one of `*` that is as long; what `*` says of something below a pointer of the
   * tool's own counts only where it is stricter. `digest` and `omit` also meet names that differ in case or punctuation
   * (`-`, `_`, `.`, brackets, …), up to four names written as one ("user.password" for "/user/password"), and other
   * forms that servers accept: lists of such objects, objects with members `0`, `1`, …, a single object instead of a
   * list; a text where an object or a list is declared is hidden whole, since servers may read JSON or a form in it.
   * Records list in `mcp-tool-parameters-redacted` what was changed. The key of digests is `authorize_log_key`, or
   * where that is not set one that is derived from `shared_secret`.
   * @default - in the log arguments stand as they are; in copies and in `replay` they are digests
   */
  readonly recordArguments?: RecordArguments;
  /**
   * Paths below the base of the route that go upstream in addition to the MCP endpoint: `/sse` is that path alone,
   * `/files/*` what lies below it. All others are answered 404. `mcp_tool` judges messages: requests without one (GET,
   * DELETE) pass by who their user is.
   * @default - the MCP endpoint alone
   */
  readonly extraPaths?: readonly string[];
  /**
   * Other owners whose applications (MCP client routes) may call this server with the tokens that they get, beside its
   * own owner's and those of the boot file: names such as "team-a", beginnings such as "kubernetes.*", or "*" for all.
   * Where the boot file has no `owners`, all may.
   * @default - applications of the same owner, and of the boot file
   */
  readonly allowedApplications?: readonly string[];
  /**
   * Service accounts that may ask about all tokens for this server (RFC 7662, at `/.gateway/mcp/introspect` of its
   * host), by name: the client of such an account learns whether a token is good, whose it is, with their email
   * address, and which client holds it.
   * @default - clients may ask about their own tokens only
   */
  readonly introspectionAccounts?: readonly string[];
  /**
   * Authorization server issuer used when discovery fails. With `clientId` or `workload` in `upstreamOauth2`, the only
   * issuer that gets the credentials; by default the first one that was used. Endpoints of this issuer may be at other
   * origins. HTTPS only.
   * @default - none
   */
  readonly authorizationServerUrl?: string;
}

/** The tools of an MCP server as they were reviewed: `tools` or `file`. */
export interface ToolLock {
  /**
   * By name of a tool, the digests of what was reviewed under it (`sha256:…`, as `gateway tools lock` writes them);
   * several where users are shown several ones.
   * @default - those of `file`
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
  /**
   * The same for prompts. Getting a prompt that differs, and completing its arguments, is denied as calls of tools are.
   * @default - prompts may change; with `file`, those of the file
   */
  readonly prompts?: Readonly<Record<string, readonly string[]>>;
  /**
   * The same for resource templates, by `uriTemplate`. Completing a template that differs is denied; reading a resource
   * is up to the policy.
   * @default - resource templates may change; with `file`, those of the file
   */
  readonly resourceTemplates?: Readonly<Record<string, readonly string[]>>;
  /**
   * Digests of the server's `instructions` that were reviewed; an empty list: none were. Others are removed from the
   * response, unless `onDrift` is `warn`.
   * @default - instructions may change; with `file`, those of the file
   */
  readonly instructions?: readonly string[];
  /**
   * Instead of `tools`: path of the file that `gateway tools lock` wrote, on the gateway's machine, read again when it
   * changes. What stands there for the public address of this server counts. Owners need leave for it in
   * `allowed_refs`.
   * @default - none
   */
  readonly file?: string;
  /**
   * What becomes of tools that differ from what was reviewed, or were not. `warn`: they are recorded and counted.
   * `hide`: they are left out of lists, too, and their calls denied. `deny`: they stay in lists, where people see what
   * has changed, and their calls are denied.
   * @default hide
   */
  readonly onDrift?: "warn" | "hide" | "deny";
  /**
   * Calls of locked tools that no list has shown yet, so that nothing is known of their definition. `pass`: they are
   * made. `deny`: they are denied until a list has shown the tool as it was reviewed, in any process of the gateway.
   * Other processes know of it within 2 seconds.
   * @default pass
   */
  readonly onUnlisted?: "pass" | "deny";
}

/** What records tell of the arguments of tools: by tool, JSON pointers. */
export interface RecordArguments {
  /**
   * Arguments that stand in clear in every record and copy: tool name, or "*" for all tools, to JSON pointers; `""` is
   * all arguments.
   * @default - in clear in the log alone
   */
  readonly plain?: Readonly<Record<string, readonly string[]>>;
  /**
   * Arguments of which records have keyed digests: tool name, or "*" for all tools, to JSON pointers. Equal values have
   * equal digests, so calls can be compared. A list or an object is one digest; of `""` each argument is one, with its
   * name.
   * @default - in copies and in the field `replay` alone
   */
  readonly digest?: Readonly<Record<string, readonly string[]>>;
  /**
   * Arguments that no record has in any form: tool name, or "*" for all tools, to JSON pointers. `gateway replay`
   * cannot decide rules that ask for them.
   * @default - none
   */
  readonly omit?: Readonly<Record<string, readonly string[]>>;
}

/** Asked of the upstream whichever way its OAuth is reached. */
export interface UpstreamOauth2Options {
  /**
   * Scopes requested from the upstream.
   * @default - what the upstream's metadata names
   */
  readonly scopes?: readonly string[];
  /**
   * Extra query parameters on the authorization URL, for example to request offline access.
   * @default - none
   */
  readonly authorizationUrlParams?: Readonly<Record<string, string>>;
  /**
   * Resource identifier of the upstream (`resource` of RFC 8707) in requests for tokens with `workload` and
   * `clientCredentials`.
   * @default - as the upstream's metadata has it; with `endpoint` the upstream's own address
   */
  readonly resource?: string;
  /**
   * Whether requests to the upstream's authorization server have `resource` (RFC 8707). `false` for a server that
   * refuses it, such as Microsoft Entra ID (`AADSTS9010010`): the scopes alone then say what a token is for. With
   * `idJag` the identity provider is asked with it all the same.
   * @default true
   */
  readonly sendResource?: boolean | IResolvable;
  /**
   * Enterprise-managed authorization: the identity provider decides who may use the upstream, and users connect
   * nothing. The ID token of the user's sign-in is exchanged at the identity provider that gave it for an assertion
   * (ID-JAG), which the upstream's authorization server takes from the gateway as `clientId`. That server and the
   * resource are always discovered, so that an assertion gets to the server that it is for, and what it opens to this
   * upstream. Service accounts, and users known from an assertion alone, have no ID token: they get 403.
   * @default - users connect their accounts
   */
  readonly idJag?: UpstreamIdJag;
  /**
   * Workload identity: the gateway shows a token of its own platform to the upstream's authorization server, and all
   * users of the route have the access that it gets for it. Policy alone tells them apart.
   * @default - users connect their accounts
   */
  readonly workload?: UpstreamWorkload;
  /**
   * Client credentials: the gateway gets tokens as `clientId` itself, and all users of the route have the access of
   * this client. Policy alone tells them apart.
   * @default false
   */
  readonly clientCredentials?: boolean | IResolvable;
}

/** Access that the company's identity provider gives. */
export interface UpstreamIdJag {
  /**
   * Scopes asked of the identity provider. `upstream_oauth2.scopes`, which the upstream is asked for, must be among
   * them.
   * @default - `upstream_oauth2.scopes`
   */
  readonly scopes?: readonly string[];
}

/** Access by a token of the gateway's platform. */
export interface UpstreamWorkload {
  /**
   * The platform's token (a JWT) about the gateway, whose audience is the upstream's authorization server (its issuer
   * or token endpoint; compared unless `endpoint` is set). Usually a file that the platform renews, such as a projected
   * token of a Kubernetes service account: `assertion_ref: file:/var/run/secrets/tokens/upstream`, which is read again
   * whenever it changes.
   * @default - required, in one of its spellings
   */
  readonly assertion?: Secret;
}

/** A client that was registered at the upstream by hand. */
export interface UpstreamOauth2Credentials extends UpstreamOauth2Options {
  /** OAuth client identifier for the upstream service. */
  readonly clientId: string;
  /**
   * OAuth client secret. Never stored per user; read from the route at each token refresh.
   * @default - a public client
   */
  readonly clientSecret?: Secret;
  /**
   * Private key with which the gateway signs what proves it to be `clientId` (`private_key_jwt`), instead of a client
   * secret: PKCS #8 in PEM. EC keys (P-256, P-384), RSA and Ed25519; the upstream's authorization server has the public
   * key.
   * @default - `clientSecret`, or a public client
   */
  readonly clientKey?: Secret;
}

/** The same with the endpoints known, so that nothing is discovered. */
export interface UpstreamOauth2Endpoints extends UpstreamOauth2Credentials {
  /** Upstream OAuth endpoints. */
  readonly endpoint: UpstreamOauth2Endpoint;
}

/** The upstream's OAuth endpoints. */
export interface UpstreamOauth2Endpoint {
  /** Upstream authorization endpoint. */
  readonly authUrl: string;
  /** Upstream token endpoint. */
  readonly tokenUrl: string;
  /**
   * How client credentials are sent to the token endpoint: `header` (HTTP Basic) or `params` (form fields).
   * @default - `header`, or what the upstream's metadata says
   */
  readonly authStyle?: "header" | "params";
}
