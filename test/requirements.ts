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
    verifiedBy: ["test/runtime/features/headers/header-settings.test.ts#is the host of `"],
  },
  {
    id: "does.authenticates",
    section: does,
    text: "Users authenticate to the service.",
    verifiedBy: [
      "test/runtime/identity/sign-in/sign-in.test.ts#brings a browser to the provider and back to where it was, signed in",
    ],
  },
  {
    id: "does.policy-every-request",
    section: does,
    text: "Access policy is enforced on every request.",
    verifiedBy: [
      "test/hostile/same-request.test.ts#method, host and path in the record are those the victim received",
      "test/flows/issuer-gateway.test.ts#R1, R4, R9: 401 with one Bearer challenge for every bad credential, on POST, GET and DELETE",
    ],
  },
  {
    id: "does.flag",
    section: does,
    text: "MCP support is enabled with the runtime flag `runtime_flags.mcp: true`, a boolean in the configuration.",
    verifiedBy: [
      "test/hostile/mcp-messages.test.ts#with the flag off MCP routes answer 503 and forward nothing",
      "test/flows/issuer-metadata.test.ts#is 404 while the flag is off, like every endpoint of the issuer (D4)",
    ],
  },
  {
    id: "does.pattern-internal",
    section: does,
    text: "External MCP clients reach internal MCP servers through the service; the server implements no authentication or authorization.",
    verifiedBy: [
      "test/flows/sdk-clients.test.ts#registers, signs in, lists and calls a tool; a denied tool is an error, not a broken connection",
    ],
  },
  {
    id: "does.pattern-upstream",
    section: does,
    text: "The service performs the OAuth flow and token refresh with a remote upstream service; the MCP server implements no OAuth logic.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "does.te-only",
    section: does,
    text: "MCP clients see only the External Token; the Internal Token is never exposed.",
    verifiedBy: ["test/flows/issuer-gateway.test.ts#the token never reaches the server behind"],
  },
  {
    id: "does.pattern-client",
    section: does,
    text: "A route marked as an MCP client passes an External Bearer Token to the application backend in `Authorization: Bearer`.",
    verifiedBy: [
      "test/hostile/forged-headers.test.ts#an MCP client route gets the application token in place of what the client sent",
      "test/flows/application-tokens.test.ts#the application gets a bearer token of the user who visits it",
    ],
  },
  {
    id: "does.client-lists",
    section: does,
    text: "The backend of an MCP client route can list the MCP servers available on the service.",
    verifiedBy: ["test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others"],
  },
  {
    id: "does.client-starts-oauth",
    section: does,
    text: "The backend of an MCP client route can start upstream OAuth flows.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "does.te-to-llm",
    section: does,
    text: "An External Token can be handed to an LLM API so that it calls MCP servers on the user's behalf.",
    verifiedBy: ["test/flows/application-tokens.test.ts#works at the MCP servers on the user's behalf"],
  },
  {
    id: "does.rewrites-headers",
    section: does,
    text: "The service rewrites or sets headers per route: upstream Host, request headers, response headers.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#sets headers and overwrites the client's, in any form",
      "test/runtime/features/headers/header-settings.test.ts#replaces the upstream's, the route's before the global ones, whatever their case",
    ],
  },

  // Token types
  {
    id: "tokens.te-represents-session",
    section: tokens,
    text: "The External Token is issued by the service to represent the user's session.",
    verifiedBy: ["test/runtime/identity/authenticate.test.ts#never takes a token for another user than its session's"],
  },
  {
    id: "tokens.te-authenticates",
    section: tokens,
    text: "External clients use the External Token to authenticate to protected MCP servers.",
    verifiedBy: ["test/flows/issuer.test.ts#register, sign in, consent, tokens, refresh"],
  },
  {
    id: "tokens.te-limited",
    section: tokens,
    text: "The External Token has limited scope and lifetime.",
    verifiedBy: [
      "test/flows/issuer-gateway.test.ts#R5: a token for one route is invalid on the other",
      "test/flows/issuer-gateway.test.ts#an access token ends after 15 minutes, and a refresh gives another",
    ],
  },
  {
    id: "tokens.ti-obtained",
    section: tokens,
    text: "The Internal Token is obtained by the service from upstream OAuth providers for the user.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "tokens.ti-refreshed",
    section: tokens,
    text: "The Internal Token is refreshed automatically.",
    verifiedBy: [
      "test/flows/upstream-requests.test.ts#a token is renewed before its end, in the background",
      "test/runtime/oauth/client/tokens/token-store.test.ts#refreshes an expired token with the resource of the first request, and keeps the rotated one",
    ],
  },
  {
    id: "tokens.ti-stored",
    section: tokens,
    text: "The Internal Token is stored by the service and used only toward upstream services.",
    verifiedBy: [
      "test/runtime/oauth/client/tokens/token-store.test.ts#returns the stored token without a request while it is valid",
      "test/flows/upstream-requests.test.ts#no Internal Token, code, verifier or client secret is in any response, log line or record, whatever goes wrong",
    ],
  },
  {
    id: "tokens.ti-invisible",
    section: tokens,
    text: "The Internal Token is invisible to external clients.",
    verifiedBy: [
      "test/flows/upstream-requests.test.ts#no Internal Token, code, verifier or client secret is in any response, log line or record, whatever goes wrong",
    ],
  },

  // Global settings
  {
    id: "global.flag",
    section: global,
    text: "`runtime_flags.mcp` is a boolean that must be true to enable MCP.",
    verifiedBy: ["test/hostile/mcp-messages.test.ts#with the flag off MCP routes answer 503 and forward nothing"],
  },
  {
    id: "global.client-id-domains",
    section: global,
    text: "`mcp_allowed_client_id_domains` lists domain patterns allowed for URL-based MCP client IDs.",
    verifiedBy: [
      "test/flows/issuer-authorize.test.ts#a good document is a client: consent, tokens, refresh",
      "test/flows/issuer-token.test.ts#a URL client outside the list is no client here either",
    ],
  },
  {
    id: "global.client-id-wildcard",
    section: global,
    text: "`mcp_allowed_client_id_domains` supports wildcards such as `*.<domain>`.",
    verifiedBy: [
      "test/runtime/settings/domains.test.ts#property: a wildcard matches only longer names that end in its domain",
    ],
  },
  {
    id: "global.client-id-required",
    section: global,
    text: "`mcp_allowed_client_id_domains` is required when URL-based client IDs are used.",
    verifiedBy: ["test/flows/issuer-authorize.test.ts#an empty list turns them off"],
  },
  {
    id: "global.wildcard-not-bare",
    section: global,
    text: "A wildcard matches subdomains but not the bare domain.",
    verifiedBy: [
      "test/runtime/settings/domains.test.ts#property: a wildcard matches only longer names that end in its domain",
    ],
  },
  {
    id: "global.as-domains",
    section: global,
    text: "`mcp_allowed_as_metadata_domains` lists the domains the service may contact during upstream OAuth discovery.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#no host is contacted that is not listed, the upstream's own included",
    ],
  },
  {
    id: "global.as-domains-resource-metadata",
    section: global,
    text: "The list covers `resource_metadata` URLs from `WWW-Authenticate` headers.",
    verifiedBy: ["test/runtime/oauth/client/discovery/discover.test.ts#a challenge cannot send us anywhere else"],
  },
  {
    id: "global.as-domains-servers",
    section: global,
    text: "The list covers `authorization_servers` entries from protected-resource-metadata documents.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#no host is contacted that is not listed, the upstream's own included",
    ],
  },
  {
    id: "global.as-domains-wildcard",
    section: global,
    text: "`mcp_allowed_as_metadata_domains` supports wildcards.",
    verifiedBy: [
      "test/runtime/settings/domains.test.ts#property: a wildcard matches only longer names that end in its domain",
    ],
  },
  {
    id: "global.as-domains-to-host",
    section: global,
    text: "The host of the route's `to` URL is used for PRM fetches and is validated against the list.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#no host is contacted that is not listed, the upstream's own included",
    ],
  },
  {
    id: "global.as-domains-explicit",
    section: global,
    text: "Third-party authorization-server domains inside PRM documents must be listed explicitly; they are not inferred from routes.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#no host is contacted that is not listed, the upstream's own included",
    ],
  },
  {
    id: "global.log-fields",
    section: global,
    text: "`authorize_log_fields` lists the fields included in authorization logs.",
    verifiedBy: ["test/runtime/audit/record.test.ts#only the listed fields, in a fixed order, unknown names ignored"],
  },
  {
    id: "global.log-fields-mcp",
    section: global,
    text: "The MCP log fields are `mcp-method`, `mcp-tool` and `mcp-tool-parameters`.",
    verifiedBy: ["test/runtime/audit/record.test.ts#every field has a value when everything is known"],
  },
  {
    id: "global.log-fields-other",
    section: global,
    text: "Other log fields are `request-id`, `user` and `email`.",
    verifiedBy: ["test/runtime/audit/record.test.ts#every field has a value when everything is known"],
  },

  // Route: MCP server
  {
    id: "server.empty-object",
    section: server,
    text: "`mcp.server` may be an empty object.",
    verifiedBy: ["test/runtime/config/load.test.ts#keeps empty blocks, which have a meaning"],
  },
  {
    id: "server.fields-optional",
    section: server,
    text: "All fields of `mcp.server` are optional.",
    verifiedBy: ["test/runtime/config/compile.test.ts#fills in every default"],
  },
  {
    id: "server.client-id",
    section: server,
    text: "`upstream_oauth2.client_id` is the OAuth client identifier for the upstream service.",
    verifiedBy: ["test/runtime/settings/fields.test.ts#has every setting"],
  },
  {
    id: "server.client-secret",
    section: server,
    text: "`upstream_oauth2.client_secret` is the OAuth client secret.",
    verifiedBy: [
      "test/runtime/settings/secrets.test.ts#returns plain text unchanged, resolves references, opens seals",
    ],
  },
  {
    id: "server.client-secret-per-refresh",
    section: server,
    text: "The client secret is never stored per user; it is read from the route configuration at each token refresh.",
    verifiedBy: [
      "test/flows/upstream-requests.test.ts#the client secret is read from the route at each refresh",
      "test/runtime/oauth/client/tokens/token-store.test.ts#the secret of the route is stored nowhere",
    ],
  },
  {
    id: "server.auth-url",
    section: server,
    text: "`upstream_oauth2.endpoint.auth_url` is the upstream authorization endpoint.",
    verifiedBy: ["test/runtime/settings/fields.test.ts#has every setting"],
  },
  {
    id: "server.token-url",
    section: server,
    text: "`upstream_oauth2.endpoint.token_url` is the upstream token endpoint.",
    verifiedBy: ["test/runtime/settings/fields.test.ts#has every setting"],
  },
  {
    id: "server.auth-style",
    section: server,
    text: "`upstream_oauth2.endpoint.auth_style` is `header` or `params`: how client credentials reach the token endpoint.",
    verifiedBy: [
      "test/runtime/oauth/client/connect/token-endpoint.test.ts#auth_style header sends the client's credentials as Basic, and not in the body",
      "test/runtime/oauth/client/connect/token-endpoint.test.ts#auth_style params sends the client's credentials in the body, and no header",
    ],
  },
  {
    id: "server.scopes",
    section: server,
    text: "`upstream_oauth2.scopes` lists the scopes requested.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "server.authorization-url-params",
    section: server,
    text: "`upstream_oauth2.authorization_url_params` adds query parameters to the authorization URL.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "server.max-request-bytes",
    section: server,
    text: "`max_request_bytes` is the maximum request body size in bytes, default 4 KiB.",
    verifiedBy: [
      "test/hostile/mcp-messages.test.ts#an oversize chunked body is refused when it passes the limit",
      "test/runtime/settings/fields.test.ts#have the defaults of the requirements",
    ],
  },
  {
    id: "server.path",
    section: server,
    text: "`path` is a sub-path appended to the upstream URL for the MCP endpoint.",
    verifiedBy: [
      "test/flows/story.test.ts#a message at the base, or at the path itself, goes to the upstream URL plus path",
    ],
  },
  {
    id: "server.authorization-server-url",
    section: server,
    text: "`authorization_server_url` (HTTPS required) is the fallback issuer when PRM discovery fails.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#authorization_server_url of the route is used if there is no protected resource metadata",
    ],
  },

  // Upstream OAuth adaptation
  {
    id: "adaptation.static",
    section: adaptation,
    text: "With client id, secret and endpoint the given credentials and endpoints are used directly, without discovery or registration.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "adaptation.credentials",
    section: adaptation,
    text: "With client id and secret but no endpoint, endpoints are discovered through RFC 9728 and there is no dynamic registration.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#endpoints are discovered through RFC 9728, the configured credentials are used, nothing is registered",
    ],
  },
  {
    id: "adaptation.auto",
    section: adaptation,
    text: "With nothing configured, endpoints are discovered and the service registers itself as a client and manages the whole lifecycle.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#everything is discovered, the gateway registers itself once, and the flow connects",
    ],
  },

  // Route: MCP client
  {
    id: "client.marks",
    section: client,
    text: "`mcp: { client: {} }` marks the route as an MCP client route.",
    verifiedBy: ["test/runtime/config/compile.test.ts#distinguishes an empty client block from an absent one"],
  },
  {
    id: "client.empty-significant",
    section: client,
    text: "The empty object is significant.",
    verifiedBy: [
      "test/runtime/config/load.test.ts#keeps empty blocks, which have a meaning",
      "test/cdktf/terraform.test.ts#delivers literal text and substitutions unread, and keeps empty blocks",
    ],
  },
  {
    id: "client.supplies-token",
    section: client,
    text: "The service supplies external tokens to the application of a client route.",
    verifiedBy: ["test/flows/application-tokens.test.ts#the application gets a bearer token of the user who visits it"],
  },
  {
    id: "client.extra-endpoints",
    section: client,
    text: "The service exposes the extra endpoints on client routes.",
    verifiedBy: [
      "test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others",
      "test/flows/application-tokens.test.ts#is only there on hosts of client routes",
    ],
  },

  // Route: policy
  {
    id: "policy.allow-deny",
    section: policy,
    text: "A route has `policy` with `allow` and `deny` blocks, each built from `and` / `or` lists of criteria.",
    verifiedBy: [
      "test/runtime/policy/parse.test.ts#keeps the order of criteria and parses again",
      "test/runtime/policy/evaluate.test.ts#rules of one action are joined by or",
    ],
  },
  {
    id: "policy.email",
    section: policy,
    text: "The criterion `email`.",
    verifiedBy: ["test/runtime/policy/evaluate.test.ts#email and domain compare in lower case on both sides"],
  },
  {
    id: "policy.domain",
    section: policy,
    text: "The criterion `domain`.",
    verifiedBy: [
      "test/runtime/policy/evaluate.test.ts#email and domain compare in lower case on both sides",
      "test/runtime/policy/evaluate.test.ts#domain of an address without @ is empty and matches no domain",
    ],
  },
  {
    id: "policy.groups-has",
    section: policy,
    text: "The criterion `groups` with `has`.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.mcp-tool",
    section: policy,
    text: "The criterion `mcp_tool`, a string matcher on the tool name.",
    verifiedBy: [
      "test/runtime/policy/evaluate.test.ts#states whether a tool must be known",
      "test/runtime/policy/evaluate.test.ts#a tool call without a tool is undecidable: denied",
    ],
  },
  {
    id: "policy.route-fields",
    section: policy,
    text: "The route fields `from`, `to`, `policy`, `mcp`.",
    verifiedBy: ["test/runtime/settings/fields.test.ts#has every setting"],
  },
  {
    id: "policy.is",
    section: policy,
    text: "`is` matches exactly.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.starts-with",
    section: policy,
    text: "`starts_with` matches a prefix.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.ends-with",
    section: policy,
    text: "`ends_with` matches a suffix.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.contains",
    section: policy,
    text: "`contains` matches a substring.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.in",
    section: policy,
    text: "`in` matches any listed name.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },
  {
    id: "policy.not-in",
    section: policy,
    text: "`not_in` matches none of the listed names and builds allowlists under `deny`.",
    verifiedBy: ["test/runtime/policy/match.test.ts#%j evaluates %j as %s"],
  },

  // MCP server list entry
  {
    id: "list.name",
    section: list,
    text: "`name` is the display name of the MCP server.",
    verifiedBy: ["test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others"],
  },
  {
    id: "list.url",
    section: list,
    text: "`url` is the address of the MCP server route.",
    verifiedBy: ["test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others"],
  },
  {
    id: "list.connected",
    section: list,
    text: "`connected` is true when the user has completed all required upstream OAuth flows.",
    verifiedBy: [
      "test/flows/upstream-callback.test.ts#has exactly the keys name, url and connected, in stable order, only what the user may use",
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },

  // User identity JWT
  {
    id: "jwt.header",
    section: jwt,
    text: "The signed JWT is sent in the `X-Gateway-Assertion` header.",
    verifiedBy: ["test/hostile/forged-headers.test.ts#are the gateway's own, under both names, once each"],
  },
  {
    id: "jwt.claims",
    section: jwt,
    text: "It carries `email`, `groups` (list of strings), `iss`, `name`, `sub`, `aud` and others.",
    verifiedBy: ["test/runtime/identity/tokens/assertion.test.ts#makes an ES256 JWT with exactly the promised claims"],
  },
  {
    id: "jwt.verifiable",
    section: jwt,
    text: "It can be verified with standard JWT libraries or the service's SDK.",
    verifiedBy: ["test/runtime/identity/tokens/assertion.test.ts#works with verifyAssertion()"],
  },

  // Authorization log record
  {
    id: "record.mcp-method",
    section: record,
    text: "`mcp-method` is the JSON-RPC method.",
    verifiedBy: ["test/runtime/audit/record.test.ts#tools/list and other methods have no tool, nor parameters"],
  },
  {
    id: "record.mcp-tool",
    section: record,
    text: "`mcp-tool` is the tool name for `tools/call`.",
    verifiedBy: ["test/runtime/audit/record.test.ts#a permitted tool call, fields as by default"],
  },
  {
    id: "record.mcp-tool-parameters",
    section: record,
    text: "`mcp-tool-parameters` is an object of the tool arguments.",
    verifiedBy: ["test/runtime/audit/record.test.ts#are the arguments as sent, numbers untouched"],
  },
  {
    id: "record.user-email",
    section: record,
    text: "`email` and `user` identify the caller.",
    verifiedBy: ["test/runtime/audit/record.test.ts#a permitted tool call, fields as by default"],
  },
  {
    id: "record.allow",
    section: record,
    text: "`allow`, `allow-why-true` and `allow-why-false` tell the verdict and its reasons.",
    verifiedBy: [
      "test/runtime/audit/record.test.ts#a permitted tool call, fields as by default",
      "test/runtime/audit/record.test.ts#a blocked tool call",
    ],
  },
  {
    id: "record.deny",
    section: record,
    text: "`deny` and `deny-why-false` tell the deny rules' outcome.",
    verifiedBy: ["test/runtime/audit/record.test.ts#a blocked tool call"],
  },
  {
    id: "record.envelope",
    section: record,
    text: "`level`, `request-id`, `service`, `time` and `message` complete the record.",
    verifiedBy: ["test/runtime/audit/record.test.ts#a permitted tool call, fields as by default"],
  },
  {
    id: "record.reason-codes",
    section: record,
    text: "The reason codes are `domain-ok`, `mcp-tool-ok`, `mcp-tool-unauthorized`, `authenticated-user`.",
    verifiedBy: [
      "test/runtime/audit/record.test.ts#a permitted tool call, fields as by default",
      "test/runtime/policy/evaluate.test.ts#name every criterion that supported the outcome, sorted and once",
    ],
  },

  // Header settings
  {
    id: "headers.preserve-host",
    section: headers,
    text: "`preserve_host_header` passes the incoming Host upstream instead of the host of `to`.",
    verifiedBy: ["test/runtime/features/headers/header-settings.test.ts#preserve_host_header passes the incoming one"],
  },
  {
    id: "headers.host-rewrite",
    section: headers,
    text: "`host_rewrite` sets Host to a fixed value.",
    verifiedBy: ["test/runtime/features/headers/header-settings.test.ts#host_rewrite sets a fixed value"],
  },
  {
    id: "headers.host-rewrite-header",
    section: headers,
    text: "`host_rewrite_header` sets Host from the named incoming request header.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#host_rewrite_header takes the value of the named header",
    ],
  },
  {
    id: "headers.host-regex-pattern",
    section: headers,
    text: "`host_path_regex_rewrite_pattern` is applied to the request path to derive Host.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#host_path_regex_rewrite_pattern and host_path_regex_rewrite_substitution derive it from the path",
    ],
  },
  {
    id: "headers.host-regex-substitution",
    section: headers,
    text: "`host_path_regex_rewrite_substitution` is the substitution, with capture groups written `\\1`.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#host_path_regex_rewrite_pattern and host_path_regex_rewrite_substitution derive it from the path",
      "test/runtime/config/compile.test.ts#derives Host from the path with the regex pair",
    ],
  },
  {
    id: "headers.set-request",
    section: headers,
    text: "`set_request_headers` sets headers on the upstream request; values may contain substitutions.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#sets headers and overwrites the client's, in any form",
      "test/runtime/features/headers/header-settings.test.ts#replaces its substitutions, once",
    ],
  },
  {
    id: "headers.remove-request",
    section: headers,
    text: "`remove_request_headers` removes headers before the request goes upstream.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#removes headers, and wins over set_request_headers and over our own",
    ],
  },
  {
    id: "headers.set-response",
    section: headers,
    text: "`set_response_headers` sets static response headers and takes precedence over the global setting.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces the upstream's, the route's before the global ones, whatever their case",
    ],
  },
  {
    id: "headers.rewrite-response",
    section: headers,
    text: "`rewrite_response_headers` is a list of objects with `header`, `prefix`, `value`.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces a prefix of any header, rule by rule, and leaves other values unchanged",
    ],
  },
  {
    id: "headers.default-host",
    section: headers,
    text: "By default the upstream Host is the host of the route's `to` URL.",
    verifiedBy: ["test/runtime/features/headers/header-settings.test.ts#is the host of `"],
  },
  {
    id: "headers.authority",
    section: headers,
    text: "The Host settings affect Host and `:authority` identically.",
    verifiedBy: ["test/runtime/upstreams/http2-upstream.test.ts#The Host settings affect Host and"],
  },
  {
    id: "headers.kubernetes",
    section: headers,
    text: "In Kubernetes each setting is an annotation `ingress.gateway.io/<setting>` with the same name and type.",
    verifiedBy: [
      "test/runtime/kubernetes/translate/annotations.test.ts#takes the header setting %s as an annotation of the same name and type",
      "test/runtime/kubernetes/translate/annotations.test.ts#each header setting of a route has an annotation of its own name",
    ],
  },
  {
    id: "headers.kubernetes-yaml",
    section: headers,
    text: "Map and list annotation values are written as YAML text.",
    verifiedBy: ["test/runtime/kubernetes/translate/annotations.test.ts#takes YAML text of a map written as %s"],
  },
  {
    id: "headers.terraform",
    section: headers,
    text: "The settings are available through Terraform.",
    verifiedBy: [
      "test/terraform/schema.test.ts#has every live setting and every route setting, and no boot setting",
      "test/terraform/routes-attribute.test.ts#publishes the same as blocks, and plans empty",
      "test/cdktf/terraform.test.ts#publishes the bytes of gateway.bundle.json: the demo program",
    ],
  },
  {
    id: "headers.console",
    section: headers,
    text: "The settings are available in the Enterprise console.",
    notClaimed:
      "the console shows header settings as they will be sent and exports drafts; what a slice owns is edited in files, Terraform and constructs",
  },

  // States and transitions
  {
    id: "states.connected",
    section: states,
    text: "Completing the upstream OAuth flow turns `connected` true and redirects the user to `redirect_url`.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "states.recreated",
    section: states,
    text: "An expired session is re-created by a refresh request while the provider refresh token works and the identity is valid.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#a good provider refresh token re-creates it: new tokens, rotated, for a whole session again",
      "test/flows/issuer-gateway.test.ts#is re-created from the provider's refresh token, once for 8 parallel refreshes",
    ],
  },
  {
    id: "states.new-tokens",
    section: states,
    text: "A re-created session issues new MCP access and refresh tokens.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#a good provider refresh token re-creates it: new tokens, rotated, for a whole session again",
    ],
  },
  {
    id: "states.current-policy",
    section: states,
    text: "The new session is evaluated under current policy.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#current policy decides: a user without access gets invalid_grant",
      "test/flows/issuer-refresh.test.ts#current claims decide",
    ],
  },
  {
    id: "states.rotation",
    section: states,
    text: "Refresh tokens of public clients are rotated on each use.",
    verifiedBy: ["test/flows/issuer-refresh.test.ts#A6: a public client gets a new refresh token each time"],
  },
  {
    id: "states.invalid-grant",
    section: states,
    text: "With a dead provider refresh token or a disabled account the client receives `invalid_grant` and must re-authenticate.",
    verifiedBy: [
      "test/flows/issuer-gateway.test.ts#gives invalid_grant when the provider revoked its refresh token",
      "test/flows/issuer-gateway.test.ts#gives invalid_grant when the account is disabled",
    ],
  },
  {
    id: "states.lifetime",
    section: states,
    text: "The MCP session may outlive `cookie_expiration`; it is bounded by the MCP refresh token and the provider's refresh-token validity.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#the chain may outlive cookie_expiration many times, until the refresh token itself ends after 90 days unused",
    ],
  },

  // Endpoints
  {
    id: "endpoints.list",
    section: endpoints,
    text: "`GET https://<client-route-host>/.gateway/mcp/routes` lists MCP servers, on client routes only.",
    verifiedBy: [
      "test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others",
      "test/flows/application-tokens.test.ts#is only there on hosts of client routes",
    ],
  },
  {
    id: "endpoints.list-auth",
    section: endpoints,
    text: "The list takes `Authorization: Bearer <EXTERNAL_TOKEN>` and `Accept: application/json`.",
    verifiedBy: ["test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others"],
  },
  {
    id: "endpoints.list-shape",
    section: endpoints,
    text: "The list answers `{ servers: [ { name, url, connected } ] }`.",
    verifiedBy: ["test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others"],
  },
  {
    id: "endpoints.connect",
    section: endpoints,
    text: "`GET https://<mcp-server-route-host>/.gateway/mcp/connect` starts the upstream OAuth flow.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "endpoints.connect-redirect",
    section: endpoints,
    text: "`redirect_url` must match the host of a configured MCP client route; the user is redirected to it afterwards.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#answers 400 before any redirect when redirect_url is %s",
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "endpoints.callback",
    section: endpoints,
    text: "The upstream OAuth callback is `https://<route-from-domain>/.gateway/mcp/client/oauth/callback`.",
    verifiedBy: [
      "test/flows/upstream-callback.test.ts#works once: a replay is refused and changes nothing",
      "test/flows/upstream-connect.test.ts#connect leads through the upstream's authorization server back to redirect_url, and the token is attached",
    ],
  },
  {
    id: "endpoints.callback-auto",
    section: endpoints,
    text: "In auto-discovery mode the callback is handled automatically.",
    verifiedBy: [
      "test/flows/upstream-connect.test.ts#everything is discovered, the gateway registers itself once, and the flow connects",
    ],
  },
  {
    id: "endpoints.traffic",
    section: endpoints,
    text: "The route proxies MCP JSON-RPC requests to the upstream URL plus `mcp.server.path`.",
    verifiedBy: [
      "test/flows/story.test.ts#a message at the base, or at the path itself, goes to the upstream URL plus path",
    ],
  },
  {
    id: "endpoints.methods",
    section: endpoints,
    text: "The methods `initialize`, `tools/list`, `tools/call`, `resources/list` are proxied.",
    verifiedBy: ["test/conformance/conformance.test.ts#every check says the same through the authenticated gateway"],
  },
  {
    id: "endpoints.tool-name",
    section: endpoints,
    text: "For `tools/call` the tool name is the `name` in the payload.",
    verifiedBy: ["test/hostile/mcp-messages.test.ts#a denied tool is denied however its name is escaped"],
  },
  {
    id: "endpoints.body-bound",
    section: endpoints,
    text: "Body size is bounded by `max_request_bytes`.",
    verifiedBy: [
      "test/hostile/mcp-messages.test.ts#an oversize chunked body is refused when it passes the limit",
      "test/runtime/mcp/inspect.test.ts#%s: a longer Content-Length is refused before anything is read",
    ],
  },
  {
    id: "endpoints.as",
    section: endpoints,
    text: "The service acts as an OAuth 2.1 authorization server for MCP clients.",
    verifiedBy: ["test/flows/issuer.test.ts#register, sign in, consent, tokens, refresh"],
  },
  {
    id: "endpoints.as-refresh",
    section: endpoints,
    text: "The authorization server supports `grant_type=refresh_token`.",
    verifiedBy: ["test/flows/issuer-refresh.test.ts#A6: a public client gets a new refresh token each time"],
  },
  {
    id: "endpoints.as-url-ids",
    section: endpoints,
    text: "The authorization server accepts URL-based client IDs whose host is allowed.",
    verifiedBy: [
      "test/flows/client-documents.test.ts#is supported by the metadata, and its user can sign in and call the server",
    ],
  },

  // Header behavior
  {
    id: "behavior.upstream-request",
    section: behavior,
    text: "`set_request_headers` and `remove_request_headers` apply to the upstream request.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#sets headers and overwrites the client's, in any form",
      "test/runtime/features/headers/header-settings.test.ts#removes headers, and wins over set_request_headers and over our own",
    ],
  },
  {
    id: "behavior.no-pseudo",
    section: behavior,
    text: "Pseudo-headers and Host cannot be changed through `set_request_headers`.",
    verifiedBy: [
      "test/golden/config/set-request-headers.txt#is a pseudo-header; Host is chosen with the host settings",
    ],
  },
  {
    id: "behavior.access-token",
    section: behavior,
    text: "`${gateway.access_token}` is the access token from the identity provider.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces its substitutions, once",
      "test/runtime/identity/identities.test.ts#are sealed at rest, and the newest are returned",
    ],
  },
  {
    id: "behavior.id-token",
    section: behavior,
    text: "`${gateway.id_token}` is the ID token from the identity provider.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces its substitutions, once",
      "test/runtime/identity/identities.test.ts#are sealed at rest, and the newest are returned",
    ],
  },
  {
    id: "behavior.hosted-authenticate",
    section: behavior,
    text: "Provider tokens are unavailable with the hosted authenticate service.",
    notClaimed: "there is no hosted authenticate service",
  },
  {
    id: "behavior.fingerprint",
    section: behavior,
    text: "`${gateway.client_cert_fingerprint}` is the SHA-256 fingerprint of the client certificate when mTLS is enabled.",
    verifiedBy: [
      "test/runtime/http/listener/client-certificate.test.ts#is the SHA-256 fingerprint of the presented client certificate",
    ],
  },
  {
    id: "behavior.jwt",
    section: behavior,
    text: "`${gateway.jwt}` is the JWT, the same value as the `X-Gateway-Jwt-Assertion` header.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces its substitutions, once",
      "test/hostile/forged-headers.test.ts#are the gateway's own, under both names, once each",
    ],
  },
  {
    id: "behavior.request-header",
    section: behavior,
    text: '`${gateway.request.headers["<NAME>"]}` is the value of the named incoming request header.',
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces its substitutions, once",
      "test/runtime/features/headers/header-settings.test.ts#substitutions see neither our credentials nor forged identity",
    ],
  },
  {
    id: "behavior.form-required",
    section: behavior,
    text: "The form `${gateway.<token>}` is required.",
    verifiedBy: ["test/golden/config/substitutions.txt#has an unknown substitution, must be ${gateway.\u2026}"],
  },
  {
    id: "behavior.dollar",
    section: behavior,
    text: "A literal `$` in a header value is written `$$`.",
    verifiedBy: [
      "test/runtime/features/headers/template.test.ts#property: text without dollar renders as itself; every dollar doubled renders as itself",
    ],
  },
  {
    id: "behavior.host-from-header",
    section: behavior,
    text: "When `host_rewrite_header` is set, Host takes the value of the named header.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#host_rewrite_header takes the value of the named header",
    ],
  },
  {
    id: "behavior.host-from-path",
    section: behavior,
    text: "The pattern `^/(.+)/.+$` with `\\1` turns the path `/<host>/<rest>` into `<host>`.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#host_path_regex_rewrite_pattern and host_path_regex_rewrite_substitution derive it from the path",
    ],
  },
  {
    id: "behavior.rewrite-prefix",
    section: behavior,
    text: "A response header value that starts with `prefix` has that prefix replaced by `value`.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces a prefix of any header, rule by rule, and leaves other values unchanged",
    ],
  },
  {
    id: "behavior.rewrite-any",
    section: behavior,
    text: "Response rewriting works for any header, for example `Location`.",
    verifiedBy: [
      "test/runtime/features/headers/header-settings.test.ts#replaces a prefix of any header, rule by rule, and leaves other values unchanged",
    ],
  },

  // Authentication
  {
    id: "auth.mcp-users",
    section: auth,
    text: "MCP client users must authenticate; policy is enforced on every request.",
    verifiedBy: [
      "test/flows/issuer-gateway.test.ts#R1, R4, R9: 401 with one Bearer challenge for every bad credential, on POST, GET and DELETE",
    ],
  },
  {
    id: "auth.te",
    section: auth,
    text: "External MCP clients authenticate to protected routes with the External Token.",
    verifiedBy: ["test/flows/issuer.test.ts#register, sign in, consent, tokens, refresh"],
  },
  {
    id: "auth.client-route-te",
    section: auth,
    text: "On client routes the application receives the token in `Authorization: Bearer`, and its calls to the routes endpoint carry it.",
    verifiedBy: [
      "test/flows/application-tokens.test.ts#the application gets a bearer token of the user who visits it",
      "test/flows/application-tokens.test.ts#lists the servers that the user could use, and no others",
    ],
  },
  {
    id: "auth.url-ids",
    section: auth,
    text: "MCP clients may use client ID metadata documents; the host must match `mcp_allowed_client_id_domains`.",
    verifiedBy: [
      "test/flows/client-documents.test.ts#is supported by the metadata, and its user can sign in and call the server",
      "test/flows/client-documents.test.ts#a URL client id outside the list shows the administrator's restriction, and its host is never contacted",
    ],
  },
  {
    id: "auth.refresh",
    section: auth,
    text: "The refresh-token grant is supported; access tokens are short-lived and refresh tokens long-lived.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#A6: a public client gets a new refresh token each time",
      "test/flows/issuer-gateway.test.ts#an access token ends after 15 minutes, and a refresh gives another",
    ],
  },
  {
    id: "auth.ti-never",
    section: auth,
    text: "The Internal Token is never given to clients; `client_secret` comes from route configuration at refresh time.",
    verifiedBy: [
      "test/flows/upstream-requests.test.ts#no Internal Token, code, verifier or client secret is in any response, log line or record, whatever goes wrong",
      "test/flows/upstream-requests.test.ts#the client secret is read from the route at each refresh",
    ],
  },
  {
    id: "auth.assertion",
    section: auth,
    text: "The assertion header carries a signed JWT with user claims, for MCP servers and client applications.",
    verifiedBy: [
      "test/cdktf/examples.test.ts#greets callers that the gateway verifies, and no others",
      "test/hostile/forged-headers.test.ts#are the gateway's own, under both names, once each",
    ],
  },
  {
    id: "auth.tools-call-only",
    section: auth,
    text: "`mcp_tool` applies only to `tools/call`; for any other method it evaluates to false.",
    verifiedBy: ["test/runtime/policy/evaluate.test.ts#other methods never match, whatever tool the facts name"],
  },
  {
    id: "auth.recommended",
    section: auth,
    text: "Identity checks under `allow` with `mcp_tool` under `deny`, and allowlists as `deny` with `not_in`, work.",
    verifiedBy: [
      "test/hostile/mcp-messages.test.ts#a denied tool is answered with a JSON-RPC error of the same id",
      "test/flows/story.test.ts#an allowlist is a denial with not_in",
    ],
  },
  {
    id: "auth.allow-only",
    section: auth,
    text: "With `mcp_tool` only under `allow`, other requests do not satisfy `allow` unless separate clauses cover them.",
    verifiedBy: [
      "test/flows/story.test.ts#with mcp_tool under allow alone, other methods are denied and recorded as no tool call",
    ],
  },
  {
    id: "auth.shapes",
    section: auth,
    text: "Example shapes: allow by `domain` or `groups`; deny by `mcp_tool` with `is`, `starts_with`, `in`, `not_in`.",
    verifiedBy: [
      "test/cdktf/policy.test.ts#give the data of a configuration file",
      "test/flows/story.test.ts#an allowlist is a denial with not_in",
    ],
  },

  // Events
  {
    id: "events.one-per-check",
    section: events,
    text: "One authorization record is emitted per check, with message `authorize check` and service `authorize`.",
    verifiedBy: ["test/flows/story.test.ts#each check leaves one record, with the words of the requirements"],
  },
  {
    id: "events.fields",
    section: events,
    text: "Which fields appear is controlled by `authorize_log_fields`.",
    verifiedBy: ["test/runtime/audit/record.test.ts#only the listed fields, in a fixed order, unknown names ignored"],
  },
  {
    id: "events.permitted",
    section: events,
    text: "A permitted tool call records `allow: true`, `mcp-tool-ok` in `allow-why-true`, and `mcp-tool`.",
    verifiedBy: [
      "test/runtime/audit/record.test.ts#a permitted tool call, fields as by default",
      "test/flows/story.test.ts#each check leaves one record, with the words of the requirements",
    ],
  },
  {
    id: "events.blocked",
    section: events,
    text: "A blocked tool call records `allow: false`, `mcp-tool-unauthorized` in `allow-why-false`, and `mcp-tool`.",
    verifiedBy: [
      "test/runtime/audit/record.test.ts#a blocked tool call",
      "test/flows/story.test.ts#each check leaves one record, with the words of the requirements",
    ],
  },
  {
    id: "events.tools-list",
    section: events,
    text: "A permitted `tools/list` records its method and a reason such as `authenticated-user`.",
    verifiedBy: ["test/flows/story.test.ts#each check leaves one record, with the words of the requirements"],
  },
  {
    id: "events.not-a-tool-call",
    section: events,
    text: "A non-tool-call request evaluated with `mcp_tool` records a reason that says so.",
    verifiedBy: [
      "test/flows/story.test.ts#with mcp_tool under allow alone, other methods are denied and recorded as no tool call",
    ],
  },
  {
    id: "events.resources-list",
    section: events,
    text: "`resources/list` records `mcp-method: resources/list`.",
    verifiedBy: ["test/flows/story.test.ts#each check leaves one record, with the words of the requirements"],
  },
  {
    id: "events.webhooks",
    section: events,
    text: "Webhooks or other outbound event delivery are not shown.",
    notClaimed: "the document shows no webhooks, and none are built",
  },

  // Errors
  {
    id: "errors.recreation",
    section: errors,
    text: "A refresh whose session recreation fails answers `invalid_grant`.",
    verifiedBy: [
      "test/flows/issuer-refresh.test.ts#a rejection by the provider gives invalid_grant, and the client must authorize again",
    ],
  },
  {
    id: "errors.client-id-domain",
    section: errors,
    text: "A client ID URL of an unlisted domain gets an error page that names the restriction, the request id and the client id.",
    verifiedBy: [
      "test/flows/issuer-authorize.test.ts#%s is outside the list: the page says so, with request id and attempted client id",
      "test/flows/client-documents.test.ts#a URL client id outside the list shows the administrator's restriction, and its host is never contacted",
    ],
  },
  {
    id: "errors.tool-rejected",
    section: errors,
    text: "A tool call rejected by policy is denied with log reason `mcp-tool-unauthorized`.",
    verifiedBy: [
      "test/hostile/mcp-messages.test.ts#a denied tool is answered with a JSON-RPC error of the same id",
      "test/runtime/audit/record.test.ts#a blocked tool call",
    ],
  },
  {
    id: "errors.allow-only",
    section: errors,
    text: "With `mcp_tool` under `allow` only, a request that is not `tools/call` does not meet the allow condition.",
    verifiedBy: [
      "test/flows/story.test.ts#with mcp_tool under allow alone, other methods are denied and recorded as no tool call",
    ],
  },
  {
    id: "errors.discovery-domain",
    section: errors,
    text: "The service does not contact an upstream discovery URL whose domain is not listed.",
    verifiedBy: [
      "test/runtime/oauth/client/discovery/discover.test.ts#no host is contacted that is not listed, the upstream's own included",
    ],
  },

  // Limits
  {
    id: "limits.max-request-bytes",
    section: limits,
    text: "`max_request_bytes` defaults to 4 KiB and is configurable.",
    verifiedBy: [
      "test/runtime/settings/fields.test.ts#have the defaults of the requirements",
      "test/hostile/mcp-messages.test.ts#an oversize chunked body is refused when it passes the limit",
    ],
  },
  {
    id: "limits.authorization-server-url",
    section: limits,
    text: "`authorization_server_url` must be HTTPS.",
    verifiedBy: ["test/golden/config/mcp-blocks.txt#must start with https://"],
  },
  {
    id: "limits.wildcards",
    section: limits,
    text: "In both allowlists `*.<domain>` matches subdomains, not the bare domain.",
    verifiedBy: [
      "test/runtime/settings/domains.test.ts#property: a wildcard matches only longer names that end in its domain",
    ],
  },

  // Versioning
  {
    id: "versioning.flag",
    section: versioning,
    text: "MCP support is experimental and requires `runtime_flags.mcp: true`.",
    verifiedBy: ["test/hostile/mcp-messages.test.ts#with the flag off MCP routes answer 503 and forward nothing"],
  },
  {
    id: "versioning.images",
    section: versioning,
    text: "MCP support is available only in the main development branch or images built from it.",
    notClaimed: "it describes the release channel of another product",
  },
  {
    id: "versioning.authorization-spec",
    section: versioning,
    text: "MCP behavior follows the MCP authorization specification with OAuth 2.1 refresh tokens.",
    verifiedBy: [
      "test/flows/sdk-clients.test.ts#registers, signs in with iss checked, lists and calls a tool",
      "test/flows/issuer-authorize.test.ts#A5: comes back with code, state and iss",
    ],
  },
  {
    id: "versioning.prm",
    section: versioning,
    text: "MCP behavior follows RFC 9728 protected-resource metadata.",
    verifiedBy: ["test/flows/issuer-metadata.test.ts#R2: is also at the root if one route is the whole host"],
  },
  {
    id: "versioning.cimd",
    section: versioning,
    text: "MCP behavior follows the client ID metadata document specification.",
    verifiedBy: [
      "test/flows/client-documents.test.ts#proves itself with private_key_jwt and the keys at its jwks_uri",
      "test/flows/client-documents.test.ts#is supported by the metadata, and its user can sign in and call the server",
    ],
  },
  {
    id: "versioning.dcr",
    section: versioning,
    text: "Dynamic client registration is used.",
    verifiedBy: ["test/flows/issuer-register.test.ts#answers 201 with what was registered, never cached"],
  },
];
