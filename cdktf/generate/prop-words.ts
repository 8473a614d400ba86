/**
 * Texts for the constructs' props that the Field tree does not have: names of the interfaces of blocks, and docs of settings
 * that differ between TypeScript and files.
 */

/** Name and doc of an interface or type. */
export interface TypeWords {
  readonly name: string;
  readonly doc: string;
}

/** By name of the block; blocks with the same members may share an interface. */
export const BLOCKS: Readonly<Record<string, TypeWords>> = {
  runtime_flags: { name: "RuntimeFlags", doc: "Experimental features." },
  idp_groups_resolver: {
    name: "GroupsResolver",
    doc: "Source for groups that the identity provider omits.",
  },
  groups_resolver: {
    name: "GroupsResolver",
    doc: "Source for groups that the identity provider omits.",
  },
  sign_in: { name: "IssuerSignIn", doc: "Sign-in of an issuer's users." },
  entra: { name: "EntraGroups", doc: "Microsoft Graph, queried with an app registration." },
  identity_issuers: {
    name: "IdentityIssuer",
    doc: "Issuer whose signed tokens about users or workloads are accepted.",
  },
  directories: {
    name: "Directory",
    doc: "Company directory of users and groups (SCIM).",
  },
  workload_rules: { name: "WorkloadRule", doc: "Workloads of a platform: accepted claims, resources and groups." },
  agent_runs: { name: "AgentRuns", doc: "Agent runs of a workload rule: a workload acts for a user who approves it." },
  host_certificates: { name: "HostCertificate", doc: "Certificate for one host." },
  rate_limits: { name: "RateLimit", doc: "Rate limit: exactly one of `requests` and `concurrency`." },
  redirect: { name: "RouteRedirect", doc: "Redirect target. Defaults are those of the request." },
  response: { name: "RouteResponse", doc: "Static response of the gateway." },
  rewrite_response_headers: { name: "ResponseHeaderRewrite", doc: "Rule of `rewriteResponseHeaders`." },
  maglev_lb_config: { name: "MaglevLbConfig", doc: "No effect: table of Maglev hashing." },
  health_checks: {
    name: "HealthCheck",
    doc: "Health check: exactly one of `httpHealthCheck`, `tcpHealthCheck` and `grpcHealthCheck`.",
  },
  http_health_check: { name: "HttpHealthCheck", doc: "HTTP health check." },
  expected_statuses: { name: "StatusRange", doc: "Statuses from `start` (inclusive) to `end` (exclusive)." },
  tcp_health_check: { name: "TcpHealthCheck", doc: "TCP health check." },
  send: { name: "HealthCheckPayload", doc: "Bytes as hexadecimal or text." },
  receive: { name: "HealthCheckPayload", doc: "Bytes as hexadecimal or text." },
  grpc_health_check: { name: "GrpcHealthCheck", doc: "gRPC health check." },
  outlier_detection: {
    name: "OutlierDetection",
    doc: "Ejection of upstreams that respond with errors.",
  },
  circuit_breaker_thresholds: { name: "CircuitBreakerThresholds", doc: "Limits for each upstream." },
  id_jag: { name: "UpstreamIdJag", doc: "Access granted by the company's identity provider." },
  workload: { name: "UpstreamWorkload", doc: "Access with a token of the gateway's platform." },
  record_arguments: {
    name: "RecordArguments",
    doc: "Recording of tool arguments: JSON pointers by tool.",
  },
  history_rules: {
    name: "HistoryRule",
    doc: "Rule over earlier calls: exactly one of `after`, `notAfter`, `atMost` and `total`.",
  },
  after: { name: "HistoryAfter", doc: "Earlier call that must have succeeded." },
  not_after: { name: "HistoryNotAfter", doc: "Earlier call after which calls are denied." },
  at_most: { name: "HistoryAtMost", doc: "Number of calls within a window." },
  total: { name: "HistoryTotal", doc: "Sum of an argument within a window." },
  guardrail: { name: "Guardrail", doc: "HTTP service that checks tool calls of an MCP server." },
  tool_lock: { name: "ToolLock", doc: "Lock of an MCP server's reviewed tools: `tools` or `file`." },
  endpoint: { name: "UpstreamOauth2Endpoint", doc: "Upstream OAuth endpoints." },
};

/** By name of a list whose items are fixed values. */
export const ITEMS: Readonly<Record<string, TypeWords>> = {
  authorize_log_fields: {
    name: "AuthorizeLogField",
    doc: "Optional fields of authorization records.",
  },
  uses: { name: "IssuerUse", doc: "Accepted uses of an issuer's tokens." },
  per: { name: "RateLimitKey", doc: "Keys that a rate limit counts separately." },
  algorithms: { name: "SignatureAlgorithm", doc: "Asymmetric signature algorithms." },
};

/** Docs by interface and prop; "… " is replaced by the file's doc. */
export const DOCS: Readonly<Record<string, string>> = {
  // Unlike in files, all characters of a string are literal.
  "GatewaySettings.setResponseHeaders":
    "Static response headers of all routes, sent literally. Those of a route take precedence.",
  "HeaderSettings.setRequestHeaders":
    "Request headers to set for the upstream. They replace the client's. Strings are sent literally; use `headerValue`, `gatewayToken` and `requestHeader` for values per request.",
  "HeaderSettings.setResponseHeaders":
    "Static response headers, sent literally. They replace those of the upstream and of the gateway's `setResponseHeaders`.",
  "ResponseHeaderRewrite.value": "Literal replacement for the prefix.",

  // Values have types of their own.
  "RouteSettings.policy":
    "Access rules; see `allow` and `deny`. A request is allowed if an allow rule matches and no deny rule does.",
  "RouteSettings.shadowPolicy":
    "Shadow policy: its result instead of `policy` is recorded and counted, and never enforced. See `shadow` for single rules.",
  "HeaderSettings.setRequestHeadersSecret":
    "Request headers with secret values, by header name, like `setRequestHeaders`. Sent literally, including `$`.",
  "RouteSettings.tlsCustomCa": "… By reference or sealed.",
  "RouteSettings.tlsClientCert": "… By reference or sealed.",
  "RouteSettings.tlsClientKey": "… By reference or sealed.",

  // Only in TypeScript.
  "RouteSettings.from": '… Example: "https://notes.example.com".',
  "RouteSettings.timeout": '… Example: "30s".',
  "RoutingSettings.prefixRewrite": "… `to` must not have a path.",
  "RoutingSettings.regexRewritePattern": "… `to` must not have a path.",
  "RouteResponse.status": "Response status, 200 to 599.",
  "HealthCheck.tcpHealthCheck": "… `{}`: a connection is enough.",
};
