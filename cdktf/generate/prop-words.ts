/**
 * What the Field tree does not say of the constructs' props: how the interfaces of blocks are called, and where the doc
 * of a setting is another in TypeScript than in a file.
 */

/** Name and doc of an interface or type. */
export interface TypeWords {
  readonly name: string;
  readonly doc: string;
}

/** By name of the block; blocks with the same members may share an interface. */
export const BLOCKS: Readonly<Record<string, TypeWords>> = {
  runtime_flags: { name: "RuntimeFlags", doc: "Switches of experimental parts." },
  idp_groups_resolver: {
    name: "GroupsResolver",
    doc: "Who is asked for groups that the identity provider leaves out.",
  },
  groups_resolver: {
    name: "GroupsResolver",
    doc: "Who is asked for groups that the identity provider leaves out.",
  },
  sign_in: { name: "IssuerSignIn", doc: "How the people of an issuer sign in." },
  entra: { name: "EntraGroups", doc: "Microsoft Graph, asked by an app registration of its own." },
  identity_issuers: {
    name: "IdentityIssuer",
    doc: "An issuer whose signed statements about users or workloads are accepted.",
  },
  directories: {
    name: "Directory",
    doc: "A company's directory, which tells by SCIM which people and groups there are.",
  },
  workload_rules: { name: "WorkloadRule", doc: "Which workloads of a platform may come in, to what, in which groups." },
  host_certificates: { name: "HostCertificate", doc: "A certificate for one host." },
  rate_limits: { name: "RateLimit", doc: "One limit: exactly one of `requests` and `concurrency`." },
  redirect: { name: "RouteRedirect", doc: "Where a route redirects to; what is not given is that of the request." },
  response: { name: "RouteResponse", doc: "An answer that the gateway gives by itself." },
  rewrite_response_headers: { name: "ResponseHeaderRewrite", doc: "One rule of `rewriteResponseHeaders`." },
  maglev_lb_config: { name: "MaglevLbConfig", doc: "Without effect: the table of Maglev hashing." },
  health_checks: {
    name: "HealthCheck",
    doc: "One check of each upstream: exactly one of `httpHealthCheck`, `tcpHealthCheck` and `grpcHealthCheck`.",
  },
  http_health_check: { name: "HttpHealthCheck", doc: "A health check by HTTP." },
  expected_statuses: { name: "StatusRange", doc: "Statuses from `start` up to, but not including, `end`." },
  tcp_health_check: { name: "TcpHealthCheck", doc: "A health check by connecting." },
  send: { name: "HealthCheckPayload", doc: "Bytes, in one of two ways." },
  receive: { name: "HealthCheckPayload", doc: "Bytes, in one of two ways." },
  grpc_health_check: { name: "GrpcHealthCheck", doc: "A health check by gRPC's own protocol." },
  outlier_detection: {
    name: "OutlierDetection",
    doc: "When upstreams are left out because of their answers, and for how long.",
  },
  circuit_breaker_thresholds: { name: "CircuitBreakerThresholds", doc: "Limits towards each upstream." },
  id_jag: { name: "UpstreamIdJag", doc: "Access that the company's identity provider gives." },
  workload: { name: "UpstreamWorkload", doc: "Access by a token of the gateway's platform." },
  record_arguments: {
    name: "RecordArguments",
    doc: "What records tell of the arguments of tools: by tool, JSON pointers.",
  },
  tool_lock: { name: "ToolLock", doc: "The tools of an MCP server as they were reviewed: `tools` or `file`." },
  endpoint: { name: "UpstreamOauth2Endpoint", doc: "The upstream's OAuth endpoints." },
};

/** By name of a list whose items are of a few words. */
export const ITEMS: Readonly<Record<string, TypeWords>> = {
  authorize_log_fields: {
    name: "AuthorizeLogField",
    doc: "Fields that an authorization record may carry beside the fixed ones.",
  },
  uses: { name: "IssuerUse", doc: "What statements of an issuer are accepted for." },
  per: { name: "RateLimitKey", doc: "What a rate limit counts by itself." },
  algorithms: { name: "SignatureAlgorithm", doc: "Asymmetric signatures." },
};

/** Docs by interface and prop; "… " stands for what the file's doc says. */
export const DOCS: Readonly<Record<string, string>> = {
  // Of a string each character is itself, other than in files.
  "GatewaySettings.setResponseHeaders":
    "Static response headers of all routes, sent as they stand; a route's own take precedence.",
  "HeaderSettings.setRequestHeaders":
    "Headers set on the upstream request, replacing what the client sent. A string is sent as it stands; use `headerValue`, `gatewayToken` and `requestHeader` for values that are known per request.",
  "HeaderSettings.setResponseHeaders":
    "Static response headers, sent as they stand. They replace headers of the upstream and those of the gateway's own `setResponseHeaders`.",
  "ResponseHeaderRewrite.value": "What the prefix is replaced by, as it stands.",

  // Values have types of their own.
  "RouteSettings.policy":
    "Who may pass; see `allow` and `deny`. A request passes when some allow rule matches and no deny rule does.",
  "RouteSettings.shadowPolicy":
    "A candidate for `policy`: what it would say in its place is recorded and counted, and never enforced. See `shadow` for single rules.",
  "HeaderSettings.setRequestHeadersSecret":
    "Headers set on the upstream request like `setRequestHeaders`, whose values are secrets, by header name. They are sent as they are: a `$` in them means itself.",
  "RouteSettings.tlsCustomCa": "… By reference or sealed.",
  "RouteSettings.tlsClientCert": "… By reference or sealed.",
  "RouteSettings.tlsClientKey": "… By reference or sealed.",

  // Said here alone.
  "RouteSettings.from": '… Example: "https://notes.example.com".',
  "RouteSettings.timeout": '… Example: "30s".',
  "RoutingSettings.prefixRewrite": "… Then `to` has no path of its own.",
  "RoutingSettings.regexRewritePattern": "… Then `to` has no path of its own.",
  "RouteResponse.status": "Status of the answer, 200 to 599.",
  "HealthCheck.tcpHealthCheck": "… `{}`: opening it is enough.",
};
