/** Codes of routes: access, and failures of the service. */
import type { CodeEntry } from "./entry.ts";

const REASON_IN_LOG = "Read `upstream failed` with this request ID in the log";

export const ROUTE_CODES = {
  "access.denied": {
    status: 403,
    cause: "Policy denies the request of this caller",
    fix: "Read `allow-why-false` of the authorization record; test the policy with `gateway explain`",
  },
  "access.ambiguous-path": {
    status: 400,
    cause: "The path can be read in several ways that policy decides differently",
    fix: "Send the path without needless encoding",
  },
  "access.client-certificate-required": {
    status: 495,
    cause: "`downstream_mtls` requires a client certificate, and the client presents none",
    fix: "Install a certificate in the client, signed by a CA in `downstream_mtls.ca_file`",
  },
  "access.invalid-client-certificate": {
    status: 495,
    cause: "`downstream_mtls` rejects the client's certificate",
    fix: "Compare its issuer, validity and names with `downstream_mtls`",
  },
  blocked: {
    status: 403,
    cause: "An administrator blocked the user, client, grant or route",
    fix: "List blocks with `gateway blocks`, remove one with `gateway unblock`",
  },
  unauthorized: {
    status: 401,
    cause: "An MCP client has no valid token, or its user has not connected the upstream",
    fix: "None: the client signs in. If it repeats, run `gateway doctor URL`",
  },
  "token.refused": {
    status: 401,
    cause: "The bearer token is not valid here: expired, revoked or issued for another route",
    fix: "Request a new token; see `bearer_token_format` for tokens of the identity provider",
  },
  "session.ended": {
    status: 403,
    cause:
      "The caller's access ended while the request was in progress: revoked, blocked, or longer than `expiry_grace` after expiry",
    fix: "Check whether the application carried out the request before you repeat it",
  },
  "session.unavailable": {
    status: 503,
    cause: "The session cannot be checked: the store or the identity provider is unavailable",
    fix: "Check `/readyz`; find `cannot verify credential` in the log",
  },
  "streams.too-many": {
    status: 429,
    cause: "The user has reached the limit `max_streams_per_user` of open streams in a process",
    fix: "Find a client that opens streams in a loop, or raise the setting",
  },
  "websocket.refused": {
    status: 403,
    cause: "The route does not accept WebSocket, or the page is of another origin",
    fix: "Set `allow_websockets: true` on the route",
  },
  "device.unauthenticated": {
    status: 450,
    cause: "Policy requires a verified device, and the caller has none; only browsers can verify one",
    fix: "Ask the user to open the address in a browser. Give API clients a route without `device`",
  },
  "device.unauthorized": {
    status: 450,
    cause: "Policy does not accept the verified device",
    fix: "Run `gateway devices list --user …`, then `gateway devices approve`",
  },
  "origin.not-allowed": {
    status: 403,
    cause: "A page of another origin calls an MCP server",
    fix: "Add the origin to `mcp_allowed_origins` if it is trusted",
  },
  "mcp.disabled": {
    status: 503,
    cause: "The route is an MCP route, and `runtime_flags` lacks `mcp: true`",
    fix: "Set `mcp: true` in `runtime_flags`",
  },
  "mcp.path-not-served": {
    status: 404,
    cause: "The MCP server has another address, which the message names",
    fix: "Fix the address in the client, or `mcp.server.path` of the route",
  },
  "mcp.not-a-client-route": {
    status: 404,
    cause: "The list of MCP servers was requested on a host without an MCP client route",
    fix: "Use the application's host",
  },
  "mcp.bad-request": {
    status: 400,
    cause: "The body of a request to disconnect accounts is invalid",
    fix: "Fix the application",
  },
  "mcp.foreign-form": {
    status: 403,
    cause: "A page of another origin requested to disconnect accounts",
    fix: "",
  },
  "mcp.unavailable": {
    status: 503,
    cause: "The list of MCP servers cannot be read: the store is unavailable",
    fix: "Check `/readyz`",
  },
  "upstream.unreachable": {
    status: 502,
    cause:
      "No connection to the upstream: connection refused, unknown host name, TLS error, or a destination that the owner must not reach",
    fix: `${REASON_IN_LOG}: \`detail\` names the cause`,
  },
  "upstream.connect-timeout": {
    status: 504,
    cause: "The upstream did not accept the connection in time",
    fix: "Check firewalls between gateway and upstream",
  },
  "upstream.overloaded": {
    status: 503,
    cause: "The upstream has reached its limit of requests in flight (`circuit_breaker_thresholds`)",
    fix: "Find out why it is slow, add upstreams, or raise the thresholds",
  },
  "upstream.unhealthy": {
    status: 503,
    cause: "All upstreams of the route fail their health checks",
    fix: "Read `upstream is unhealthy` in the log, and `/status`",
  },
  "upstream.loop": {
    status: 508,
    cause: "The request came through the gateway several times: `to` leads back to it",
    fix: "Fix `to` of the route, or the proxy between",
  },
  "upstream.reset": {
    status: 502,
    cause: "The upstream closed the connection before it responded",
    fix: `${REASON_IN_LOG}, then the upstream's own log. Make the upstream's keep-alive timeout longer than the gateway's`,
  },
  "upstream.timeout": {
    status: 504,
    cause: "The upstream did not respond within `timeout` of the route",
    fix: "Find out why it is slow, or raise `timeout`",
  },
  "upstream.protocol": {
    status: 502,
    cause: "The upstream's response is invalid HTTP or contradicts itself",
    fix: `${REASON_IN_LOG}. Check whether \`to\` must start with http or https`,
  },
  "upstream.request-body": {
    status: 400,
    cause: "The client disconnected while sending the body",
    fix: "",
  },
  "upstream.closed": {
    status: 503,
    cause: "The gateway is stopping",
    fix: "Set `drain_delay` to give load balancers time to notice",
  },
  "upstream.unauthorized": {
    status: 502,
    cause: "The upstream or an authorization server rejects the gateway itself, for all users",
    fix: "Check `set_request_headers`, `upstream_oauth2` and `mcp_allowed_as_metadata_domains`; read the log",
  },
  "upstream.not-connected": {
    status: 403,
    cause: "The server requires an account that this user, known from an issuer's assertion, has not connected",
    fix: "Ask the user to sign in to the server once in a browser, with an MCP client that supports it",
  },
  "upstream.not-permitted": {
    status: 403,
    cause: "The identity provider or the upstream's authorization server denies this user access (`id_jag`)",
    fix: "Assign the user at the identity provider; read `upstream token denied to user` in the log",
  },
  "upstream.sign-in-needed": {
    status: 403,
    cause:
      "The identity provider requires a new sign-in, or the caller has none: a service account, or a user known only from an assertion (`id_jag`)",
    fix: "Ask the user to sign out at `/.gateway/` and sign in again. Give service accounts another route",
  },
  "upstream.insufficient-scope": {
    status: 403,
    cause: "The user's consent at the upstream does not cover this request",
    fix: "Ask the user to disconnect the account at `/.gateway/` and connect it again; see `upstream_oauth2.scopes`",
  },
  "upstream.token-unavailable": {
    status: 503,
    cause: "The user's upstream token cannot be refreshed now",
    fix: "Find `cannot refresh upstream token, server unavailable` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
