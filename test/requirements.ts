/**
 * Every statement of the requirements document, in its order, and what became of each.
 *
 * `verifiedBy` names tests as "file#title" (the title, or the part of it that identifies the test);
 * requirements.test.ts fails when a named test does not exist. `deferred` says what is still missing;
 * `notClaimed` says why we do not claim it.
 */
export interface Requirement {
  /** Section prefix and a short name; stable. */
  readonly id: string;
  /** Heading in the requirements document. */
  readonly section: string;
  /** The statement, in one sentence. */
  readonly text: string;
  readonly verifiedBy?: readonly string[];
  readonly deferred?: string;
  readonly notClaimed?: string;
}

const does = "What the service does";
const tokens = "Token types";
const global = "Global settings";
const server = "Route: MCP server";
const adaptation = "Upstream OAuth adaptation";
const client = "Route: MCP client";
const policy = "Route: policy";
const list = "MCP server list entry";
const jwt = "User identity JWT";
const record = "Authorization log record";
const headers = "Header settings (per route)";
const states = "States and transitions";
const endpoints = "Endpoints";
const behavior = "Header behavior on proxied requests";
const auth = "Authentication";
const events = "Events";
const errors = "Errors";
const limits = "Limits";
const versioning = "Versioning";

export const requirements: readonly Requirement[] = [
  // What the service does
  {
    id: "does.reverse-proxy",
    section: does,
    text: "The service is a reverse proxy in front of upstream applications.",
  },
  { id: "does.authenticates", section: does, text: "Users authenticate to the service." },
  { id: "does.policy-every-request", section: does, text: "Access policy is enforced on every request." },
  {
    id: "does.flag",
    section: does,
    text: "MCP support is enabled with the runtime flag `runtime_flags.mcp: true`, a boolean in the configuration.",
  },
  {
    id: "does.pattern-internal",
    section: does,
    text: "External MCP clients reach internal MCP servers through the service; the server implements no authentication or authorization.",
  },
  {
    id: "does.pattern-upstream",
    section: does,
    text: "The service performs the OAuth flow and token refresh with a remote upstream service; the MCP server implements no OAuth logic.",
  },
  {
    id: "does.te-only",
    section: does,
    text: "MCP clients see only the External Token; the Internal Token is never exposed.",
  },
  {
    id: "does.pattern-client",
    section: does,
    text: "A route marked as an MCP client passes an External Bearer Token to the application backend in `Authorization: Bearer`.",
  },
  {
    id: "does.client-lists",
    section: does,
    text: "The backend of an MCP client route can list the MCP servers available on the service.",
  },
  {
    id: "does.client-starts-oauth",
    section: does,
    text: "The backend of an MCP client route can start upstream OAuth flows.",
  },
  {
    id: "does.te-to-llm",
    section: does,
    text: "An External Token can be handed to an LLM API so that it calls MCP servers on the user's behalf.",
  },
  {
    id: "does.rewrites-headers",
    section: does,
    text: "The service rewrites or sets headers per route: upstream Host, request headers, response headers.",
  },

  // Token types
  {
    id: "tokens.te-represents-session",
    section: tokens,
    text: "The External Token is issued by the service to represent the user's session.",
  },
  {
    id: "tokens.te-authenticates",
    section: tokens,
    text: "External clients use the External Token to authenticate to protected MCP servers.",
  },
  { id: "tokens.te-limited", section: tokens, text: "The External Token has limited scope and lifetime." },
  {
    id: "tokens.ti-obtained",
    section: tokens,
    text: "The Internal Token is obtained by the service from upstream OAuth providers for the user.",
  },
  { id: "tokens.ti-refreshed", section: tokens, text: "The Internal Token is refreshed automatically." },
  {
    id: "tokens.ti-stored",
    section: tokens,
    text: "The Internal Token is stored by the service and used only toward upstream services.",
  },
  { id: "tokens.ti-invisible", section: tokens, text: "The Internal Token is invisible to external clients." },

  // Global settings
  { id: "global.flag", section: global, text: "`runtime_flags.mcp` is a boolean that must be true to enable MCP." },
  {
    id: "global.client-id-domains",
    section: global,
    text: "`mcp_allowed_client_id_domains` lists domain patterns allowed for URL-based MCP client IDs.",
  },
  {
    id: "global.client-id-wildcard",
    section: global,
    text: "`mcp_allowed_client_id_domains` supports wildcards such as `*.<domain>`.",
  },
  {
    id: "global.client-id-required",
    section: global,
    text: "`mcp_allowed_client_id_domains` is required when URL-based client IDs are used.",
  },
  { id: "global.wildcard-not-bare", section: global, text: "A wildcard matches subdomains but not the bare domain." },
  {
    id: "global.as-domains",
    section: global,
    text: "`mcp_allowed_as_metadata_domains` lists the domains the service may contact during upstream OAuth discovery.",
  },
  {
    id: "global.as-domains-resource-metadata",
    section: global,
    text: "The list covers `resource_metadata` URLs from `WWW-Authenticate` headers.",
  },
  {
    id: "global.as-domains-servers",
    section: global,
    text: "The list covers `authorization_servers` entries from protected-resource-metadata documents.",
  },
  { id: "global.as-domains-wildcard", section: global, text: "`mcp_allowed_as_metadata_domains` supports wildcards." },
  {
    id: "global.as-domains-to-host",
    section: global,
    text: "The host of the route's `to` URL is used for PRM fetches and is validated against the list.",
  },
  {
    id: "global.as-domains-explicit",
    section: global,
    text: "Third-party authorization-server domains inside PRM documents must be listed explicitly; they are not inferred from routes.",
  },
  {
    id: "global.log-fields",
    section: global,
    text: "`authorize_log_fields` lists the fields included in authorization logs.",
  },
  {
    id: "global.log-fields-mcp",
    section: global,
    text: "The MCP log fields are `mcp-method`, `mcp-tool` and `mcp-tool-parameters`.",
  },
  { id: "global.log-fields-other", section: global, text: "Other log fields are `request-id`, `user` and `email`." },

  // Route: MCP server
  { id: "server.empty-object", section: server, text: "`mcp.server` may be an empty object." },
  { id: "server.fields-optional", section: server, text: "All fields of `mcp.server` are optional." },
  {
    id: "server.client-id",
    section: server,
    text: "`upstream_oauth2.client_id` is the OAuth client identifier for the upstream service.",
  },
  { id: "server.client-secret", section: server, text: "`upstream_oauth2.client_secret` is the OAuth client secret." },
  {
    id: "server.client-secret-per-refresh",
    section: server,
    text: "The client secret is never stored per user; it is read from the route configuration at each token refresh.",
  },
  {
    id: "server.auth-url",
    section: server,
    text: "`upstream_oauth2.endpoint.auth_url` is the upstream authorization endpoint.",
  },
  {
    id: "server.token-url",
    section: server,
    text: "`upstream_oauth2.endpoint.token_url` is the upstream token endpoint.",
  },
  {
    id: "server.auth-style",
    section: server,
    text: "`upstream_oauth2.endpoint.auth_style` is `header` or `params`: how client credentials reach the token endpoint.",
  },
  { id: "server.scopes", section: server, text: "`upstream_oauth2.scopes` lists the scopes requested." },
  {
    id: "server.authorization-url-params",
    section: server,
    text: "`upstream_oauth2.authorization_url_params` adds query parameters to the authorization URL.",
  },
  {
    id: "server.max-request-bytes",
    section: server,
    text: "`max_request_bytes` is the maximum request body size in bytes, default 4 KiB.",
  },
  {
    id: "server.path",
    section: server,
    text: "`path` is a sub-path appended to the upstream URL for the MCP endpoint.",
  },
  {
    id: "server.authorization-server-url",
    section: server,
    text: "`authorization_server_url` (HTTPS required) is the fallback issuer when PRM discovery fails.",
  },

  // Upstream OAuth adaptation
  {
    id: "adaptation.static",
    section: adaptation,
    text: "With client id, secret and endpoint the given credentials and endpoints are used directly, without discovery or registration.",
  },
  {
    id: "adaptation.credentials",
    section: adaptation,
    text: "With client id and secret but no endpoint, endpoints are discovered through RFC 9728 and there is no dynamic registration.",
  },
  {
    id: "adaptation.auto",
    section: adaptation,
    text: "With nothing configured, endpoints are discovered and the service registers itself as a client and manages the whole lifecycle.",
  },

  // Route: MCP client
  { id: "client.marks", section: client, text: "`mcp: { client: {} }` marks the route as an MCP client route." },
  { id: "client.empty-significant", section: client, text: "The empty object is significant." },
  {
    id: "client.supplies-token",
    section: client,
    text: "The service supplies external tokens to the application of a client route.",
  },
  { id: "client.extra-endpoints", section: client, text: "The service exposes the extra endpoints on client routes." },

  // Route: policy
  {
    id: "policy.allow-deny",
    section: policy,
    text: "A route has `policy` with `allow` and `deny` blocks, each built from `and` / `or` lists of criteria.",
  },
  { id: "policy.email", section: policy, text: "The criterion `email`." },
  { id: "policy.domain", section: policy, text: "The criterion `domain`." },
  { id: "policy.groups-has", section: policy, text: "The criterion `groups` with `has`." },
  { id: "policy.mcp-tool", section: policy, text: "The criterion `mcp_tool`, a string matcher on the tool name." },
  { id: "policy.route-fields", section: policy, text: "The route fields `from`, `to`, `policy`, `mcp`." },
  { id: "policy.is", section: policy, text: "`is` matches exactly." },
  { id: "policy.starts-with", section: policy, text: "`starts_with` matches a prefix." },
  { id: "policy.ends-with", section: policy, text: "`ends_with` matches a suffix." },
  { id: "policy.contains", section: policy, text: "`contains` matches a substring." },
  { id: "policy.in", section: policy, text: "`in` matches any listed name." },
  {
    id: "policy.not-in",
    section: policy,
    text: "`not_in` matches none of the listed names and builds allowlists under `deny`.",
  },

  // MCP server list entry
  { id: "list.name", section: list, text: "`name` is the display name of the MCP server." },
  { id: "list.url", section: list, text: "`url` is the address of the MCP server route." },
  {
    id: "list.connected",
    section: list,
    text: "`connected` is true when the user has completed all required upstream OAuth flows.",
  },

  // User identity JWT
  { id: "jwt.header", section: jwt, text: "The signed JWT is sent in the `X-Gateway-Assertion` header." },
  {
    id: "jwt.claims",
    section: jwt,
    text: "It carries `email`, `groups` (list of strings), `iss`, `name`, `sub`, `aud` and others.",
  },
  { id: "jwt.verifiable", section: jwt, text: "It can be verified with standard JWT libraries or the service's SDK." },

  // Authorization log record
  { id: "record.mcp-method", section: record, text: "`mcp-method` is the JSON-RPC method." },
  { id: "record.mcp-tool", section: record, text: "`mcp-tool` is the tool name for `tools/call`." },
  {
    id: "record.mcp-tool-parameters",
    section: record,
    text: "`mcp-tool-parameters` is an object of the tool arguments.",
  },
  { id: "record.user-email", section: record, text: "`email` and `user` identify the caller." },
  {
    id: "record.allow",
    section: record,
    text: "`allow`, `allow-why-true` and `allow-why-false` tell the verdict and its reasons.",
  },
  { id: "record.deny", section: record, text: "`deny` and `deny-why-false` tell the deny rules' outcome." },
  {
    id: "record.envelope",
    section: record,
    text: "`level`, `request-id`, `service`, `time` and `message` complete the record.",
  },
  {
    id: "record.reason-codes",
    section: record,
    text: "The reason codes are `domain-ok`, `mcp-tool-ok`, `mcp-tool-unauthorized`, `authenticated-user`.",
  },

  // Header settings
  {
    id: "headers.preserve-host",
    section: headers,
    text: "`preserve_host_header` passes the incoming Host upstream instead of the host of `to`.",
  },
  { id: "headers.host-rewrite", section: headers, text: "`host_rewrite` sets Host to a fixed value." },
  {
    id: "headers.host-rewrite-header",
    section: headers,
    text: "`host_rewrite_header` sets Host from the named incoming request header.",
  },
  {
    id: "headers.host-regex-pattern",
    section: headers,
    text: "`host_path_regex_rewrite_pattern` is applied to the request path to derive Host.",
  },
  {
    id: "headers.host-regex-substitution",
    section: headers,
    text: "`host_path_regex_rewrite_substitution` is the substitution, with capture groups written `\\1`.",
  },
  {
    id: "headers.set-request",
    section: headers,
    text: "`set_request_headers` sets headers on the upstream request; values may contain substitutions.",
  },
  {
    id: "headers.remove-request",
    section: headers,
    text: "`remove_request_headers` removes headers before the request goes upstream.",
  },
  {
    id: "headers.set-response",
    section: headers,
    text: "`set_response_headers` sets static response headers and takes precedence over the global setting.",
  },
  {
    id: "headers.rewrite-response",
    section: headers,
    text: "`rewrite_response_headers` is a list of objects with `header`, `prefix`, `value`.",
  },
  {
    id: "headers.default-host",
    section: headers,
    text: "By default the upstream Host is the host of the route's `to` URL.",
  },
  { id: "headers.authority", section: headers, text: "The Host settings affect Host and `:authority` identically." },
  {
    id: "headers.kubernetes",
    section: headers,
    text: "In Kubernetes each setting is an annotation `ingress.gateway.io/<setting>` with the same name and type.",
  },
  { id: "headers.kubernetes-yaml", section: headers, text: "Map and list annotation values are written as YAML text." },
  { id: "headers.terraform", section: headers, text: "The settings are available through Terraform." },
  { id: "headers.console", section: headers, text: "The settings are available in the Enterprise console." },

  // States and transitions
  {
    id: "states.connected",
    section: states,
    text: "Completing the upstream OAuth flow turns `connected` true and redirects the user to `redirect_url`.",
  },
  {
    id: "states.recreated",
    section: states,
    text: "An expired session is re-created by a refresh request while the provider refresh token works and the identity is valid.",
  },
  { id: "states.new-tokens", section: states, text: "A re-created session issues new MCP access and refresh tokens." },
  { id: "states.current-policy", section: states, text: "The new session is evaluated under current policy." },
  { id: "states.rotation", section: states, text: "Refresh tokens of public clients are rotated on each use." },
  {
    id: "states.invalid-grant",
    section: states,
    text: "With a dead provider refresh token or a disabled account the client receives `invalid_grant` and must re-authenticate.",
  },
  {
    id: "states.lifetime",
    section: states,
    text: "The MCP session may outlive `cookie_expiration`; it is bounded by the MCP refresh token and the provider's refresh-token validity.",
  },

  // Endpoints
  {
    id: "endpoints.list",
    section: endpoints,
    text: "`GET https://<client-route-host>/.gateway/mcp/routes` lists MCP servers, on client routes only.",
  },
  {
    id: "endpoints.list-auth",
    section: endpoints,
    text: "The list takes `Authorization: Bearer <EXTERNAL_TOKEN>` and `Accept: application/json`.",
  },
  {
    id: "endpoints.list-shape",
    section: endpoints,
    text: "The list answers `{ servers: [ { name, url, connected } ] }`.",
  },
  {
    id: "endpoints.connect",
    section: endpoints,
    text: "`GET https://<mcp-server-route-host>/.gateway/mcp/connect` starts the upstream OAuth flow.",
  },
  {
    id: "endpoints.connect-redirect",
    section: endpoints,
    text: "`redirect_url` must match the host of a configured MCP client route; the user is redirected to it afterwards.",
  },
  {
    id: "endpoints.callback",
    section: endpoints,
    text: "The upstream OAuth callback is `https://<route-from-domain>/.gateway/mcp/client/oauth/callback`.",
  },
  {
    id: "endpoints.callback-auto",
    section: endpoints,
    text: "In auto-discovery mode the callback is handled automatically.",
  },
  {
    id: "endpoints.traffic",
    section: endpoints,
    text: "The route proxies MCP JSON-RPC requests to the upstream URL plus `mcp.server.path`.",
  },
  {
    id: "endpoints.methods",
    section: endpoints,
    text: "The methods `initialize`, `tools/list`, `tools/call`, `resources/list` are proxied.",
  },
  {
    id: "endpoints.tool-name",
    section: endpoints,
    text: "For `tools/call` the tool name is the `name` in the payload.",
  },
  { id: "endpoints.body-bound", section: endpoints, text: "Body size is bounded by `max_request_bytes`." },
  {
    id: "endpoints.as",
    section: endpoints,
    text: "The service acts as an OAuth 2.1 authorization server for MCP clients.",
  },
  {
    id: "endpoints.as-refresh",
    section: endpoints,
    text: "The authorization server supports `grant_type=refresh_token`.",
  },
  {
    id: "endpoints.as-url-ids",
    section: endpoints,
    text: "The authorization server accepts URL-based client IDs whose host is allowed.",
  },

  // Header behavior
  {
    id: "behavior.upstream-request",
    section: behavior,
    text: "`set_request_headers` and `remove_request_headers` apply to the upstream request.",
  },
  {
    id: "behavior.no-pseudo",
    section: behavior,
    text: "Pseudo-headers and Host cannot be changed through `set_request_headers`.",
  },
  {
    id: "behavior.access-token",
    section: behavior,
    text: "`${gateway.access_token}` is the access token from the identity provider.",
  },
  {
    id: "behavior.id-token",
    section: behavior,
    text: "`${gateway.id_token}` is the ID token from the identity provider.",
  },
  {
    id: "behavior.hosted-authenticate",
    section: behavior,
    text: "Provider tokens are unavailable with the hosted authenticate service.",
  },
  {
    id: "behavior.fingerprint",
    section: behavior,
    text: "`${gateway.client_cert_fingerprint}` is the SHA-256 fingerprint of the client certificate when mTLS is enabled.",
  },
  {
    id: "behavior.jwt",
    section: behavior,
    text: "`${gateway.jwt}` is the JWT, the same value as the `X-Gateway-Jwt-Assertion` header.",
  },
  {
    id: "behavior.request-header",
    section: behavior,
    text: '`${gateway.request.headers["<NAME>"]}` is the value of the named incoming request header.',
  },
  { id: "behavior.form-required", section: behavior, text: "The form `${gateway.<token>}` is required." },
  { id: "behavior.dollar", section: behavior, text: "A literal `$` in a header value is written `$$`." },
  {
    id: "behavior.host-from-header",
    section: behavior,
    text: "When `host_rewrite_header` is set, Host takes the value of the named header.",
  },
  {
    id: "behavior.host-from-path",
    section: behavior,
    text: "The pattern `^/(.+)/.+$` with `\\1` turns the path `/<host>/<rest>` into `<host>`.",
  },
  {
    id: "behavior.rewrite-prefix",
    section: behavior,
    text: "A response header value that starts with `prefix` has that prefix replaced by `value`.",
  },
  {
    id: "behavior.rewrite-any",
    section: behavior,
    text: "Response rewriting works for any header, for example `Location`.",
  },

  // Authentication
  {
    id: "auth.mcp-users",
    section: auth,
    text: "MCP client users must authenticate; policy is enforced on every request.",
  },
  {
    id: "auth.te",
    section: auth,
    text: "External MCP clients authenticate to protected routes with the External Token.",
  },
  {
    id: "auth.client-route-te",
    section: auth,
    text: "On client routes the application receives the token in `Authorization: Bearer`, and its calls to the routes endpoint carry it.",
  },
  {
    id: "auth.url-ids",
    section: auth,
    text: "MCP clients may use client ID metadata documents; the host must match `mcp_allowed_client_id_domains`.",
  },
  {
    id: "auth.refresh",
    section: auth,
    text: "The refresh-token grant is supported; access tokens are short-lived and refresh tokens long-lived.",
  },
  {
    id: "auth.ti-never",
    section: auth,
    text: "The Internal Token is never given to clients; `client_secret` comes from route configuration at refresh time.",
  },
  {
    id: "auth.assertion",
    section: auth,
    text: "The assertion header carries a signed JWT with user claims, for MCP servers and client applications.",
  },
  {
    id: "auth.tools-call-only",
    section: auth,
    text: "`mcp_tool` applies only to `tools/call`; for any other method it evaluates to false.",
  },
  {
    id: "auth.recommended",
    section: auth,
    text: "Identity checks under `allow` with `mcp_tool` under `deny`, and allowlists as `deny` with `not_in`, work.",
  },
  {
    id: "auth.allow-only",
    section: auth,
    text: "With `mcp_tool` only under `allow`, other requests do not satisfy `allow` unless separate clauses cover them.",
  },
  {
    id: "auth.shapes",
    section: auth,
    text: "Example shapes: allow by `domain` or `groups`; deny by `mcp_tool` with `is`, `starts_with`, `in`, `not_in`.",
  },

  // Events
  {
    id: "events.one-per-check",
    section: events,
    text: "One authorization record is emitted per check, with message `authorize check` and service `authorize`.",
  },
  { id: "events.fields", section: events, text: "Which fields appear is controlled by `authorize_log_fields`." },
  {
    id: "events.permitted",
    section: events,
    text: "A permitted tool call records `allow: true`, `mcp-tool-ok` in `allow-why-true`, and `mcp-tool`.",
  },
  {
    id: "events.blocked",
    section: events,
    text: "A blocked tool call records `allow: false`, `mcp-tool-unauthorized` in `allow-why-false`, and `mcp-tool`.",
  },
  {
    id: "events.tools-list",
    section: events,
    text: "A permitted `tools/list` records its method and a reason such as `authenticated-user`.",
  },
  {
    id: "events.not-a-tool-call",
    section: events,
    text: "A non-tool-call request evaluated with `mcp_tool` records a reason that says so.",
  },
  { id: "events.resources-list", section: events, text: "`resources/list` records `mcp-method: resources/list`." },
  { id: "events.webhooks", section: events, text: "Webhooks or other outbound event delivery are not shown." },

  // Errors
  {
    id: "errors.recreation",
    section: errors,
    text: "A refresh whose session recreation fails answers `invalid_grant`.",
  },
  {
    id: "errors.client-id-domain",
    section: errors,
    text: "A client ID URL of an unlisted domain gets an error page that names the restriction, the request id and the client id.",
  },
  {
    id: "errors.tool-rejected",
    section: errors,
    text: "A tool call rejected by policy is denied with log reason `mcp-tool-unauthorized`.",
  },
  {
    id: "errors.allow-only",
    section: errors,
    text: "With `mcp_tool` under `allow` only, a request that is not `tools/call` does not meet the allow condition.",
  },
  {
    id: "errors.discovery-domain",
    section: errors,
    text: "The service does not contact an upstream discovery URL whose domain is not listed.",
  },

  // Limits
  {
    id: "limits.max-request-bytes",
    section: limits,
    text: "`max_request_bytes` defaults to 4 KiB and is configurable.",
  },
  { id: "limits.authorization-server-url", section: limits, text: "`authorization_server_url` must be HTTPS." },
  {
    id: "limits.wildcards",
    section: limits,
    text: "In both allowlists `*.<domain>` matches subdomains, not the bare domain.",
  },

  // Versioning
  {
    id: "versioning.flag",
    section: versioning,
    text: "MCP support is experimental and requires `runtime_flags.mcp: true`.",
  },
  {
    id: "versioning.images",
    section: versioning,
    text: "MCP support is available only in the main development branch or images built from it.",
  },
  {
    id: "versioning.authorization-spec",
    section: versioning,
    text: "MCP behavior follows the MCP authorization specification with OAuth 2.1 refresh tokens.",
  },
  { id: "versioning.prm", section: versioning, text: "MCP behavior follows RFC 9728 protected-resource metadata." },
  {
    id: "versioning.cimd",
    section: versioning,
    text: "MCP behavior follows the client ID metadata document specification.",
  },
  { id: "versioning.dcr", section: versioning, text: "Dynamic client registration is used." },
];
