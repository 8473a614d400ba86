/** Codes of routes: who may, and what of the service behind them. */
import type { CodeEntry } from "./entry.ts";

const REASON_IN_LOG = "Read `upstream failed` with this request id in the log";

export const ROUTE_CODES = {
  "access.denied": {
    status: 403,
    means: "The caller is known, and policy says no",
    remedy: "Read `allow-why-false` of the authorization record; try the policy with `gateway explain`",
  },
  "access.ambiguous-path": {
    status: 400,
    means: "The path has several readings, which policy decides differently",
    remedy: "Send the path as the application writes it, without needless encoding",
  },
  "access.client-certificate-required": {
    status: 495,
    means: "`downstream_mtls` asks for a client certificate, and the client shows none",
    remedy: "Install a certificate in the client that an authority of `downstream_mtls.ca_file` has signed",
  },
  "access.invalid-client-certificate": {
    status: 495,
    means: "`downstream_mtls` does not accept the client's certificate",
    remedy: "Look at its issuer, its time and its names, and at `downstream_mtls`",
  },
  blocked: {
    status: 403,
    means: "An administrator has blocked the user, client, grant or route",
    remedy: "`gateway blocks` lists what is blocked, `gateway unblock` lifts it",
  },
  unauthorized: {
    status: 401,
    means: "An MCP client has no valid token, or its user has not connected the upstream: clients sign in then",
    remedy: "Nothing, unless it repeats: then `gateway doctor URL`",
  },
  "token.refused": {
    status: 401,
    means: "The bearer token of a program is not valid here: expired, revoked or for another route",
    remedy: "Let the program get a new one; see `bearer_token_format` for tokens of the identity provider",
  },
  "session.ended": {
    status: 403,
    means:
      "The caller's access ended while the request was in progress: revoked, blocked, or longer than `expiry_grace` after expiry",
    remedy: "The application may have carried it out: check that before you repeat it",
  },
  "session.unavailable": {
    status: 503,
    means: "The session cannot be checked: the store or the identity provider cannot be reached",
    remedy: "Ask `/readyz`; look for `cannot verify credential` in the log",
  },
  "streams.too-many": {
    status: 429,
    means: "The user has as many open streams as `max_streams_per_user` allows in a process",
    remedy: "Look for a client that opens streams in a loop, or raise the setting",
  },
  "websocket.refused": {
    status: 403,
    means: "The route does not take WebSocket, or a page of another origin asks",
    remedy: "Set `allow_websockets: true` on the route",
  },
  "device.unauthenticated": {
    status: 450,
    means: "Policy asks for a device, and none is proven; programs cannot prove one",
    remedy: "The person opens the address in a browser; give programs a route without `device`",
  },
  "device.unauthorized": {
    status: 450,
    means: "A device is proven, and policy does not accept it",
    remedy: "`gateway devices list --user …`, then `gateway devices approve`",
  },
  "origin.not-allowed": {
    status: 403,
    means: "A page of a foreign origin calls an MCP server",
    remedy: "List the origin in `mcp_allowed_origins` if it may",
  },
  "mcp.disabled": {
    status: 503,
    means: "The route is an MCP route, and `runtime_flags` has no `mcp: true`",
    remedy: "Set it",
  },
  "mcp.path-not-served": {
    status: 404,
    means: "The address of an MCP server is another one; the message names it",
    remedy: "Correct the address in the client, or `mcp.server.path` of the route",
  },
  "mcp.not-a-client-route": {
    status: 404,
    means: "The list of MCP servers is asked for on a host without MCP client route",
    remedy: "Ask the host of the application",
  },
  "mcp.bad-request": {
    status: 400,
    means: "The body of a request to end connections cannot be read",
    remedy: "Correct the application",
  },
  "mcp.foreign-form": {
    status: 403,
    means: "A page of another origin asked to end connections",
    remedy: "",
  },
  "mcp.unavailable": {
    status: 503,
    means: "The list of MCP servers cannot be read: the store cannot be reached",
    remedy: "Ask `/readyz`",
  },
  "upstream.unreachable": {
    status: 502,
    means: "No connection to the upstream: refused, no such name, TLS failed, or an owner may not reach it",
    remedy: `${REASON_IN_LOG}: \`detail\` names the cause`,
  },
  "upstream.connect-timeout": {
    status: 504,
    means: "The upstream did not take the connection in time",
    remedy: "Look for firewalls between gateway and upstream",
  },
  "upstream.overloaded": {
    status: 503,
    means: "As many requests are under way to the upstream as `circuit_breaker_thresholds` allow",
    remedy: "Look why it is slow, add upstreams, or raise the thresholds",
  },
  "upstream.unhealthy": {
    status: 503,
    means: "No upstream of the route passes its health checks",
    remedy: "Read `upstream is unhealthy` in the log, and `/status`",
  },
  "upstream.loop": {
    status: 508,
    means: "The request has come through the gateway several times: `to` leads back to it",
    remedy: "Correct `to` of the route, or the proxy between",
  },
  "upstream.reset": {
    status: 502,
    means: "The upstream closed the connection before it had answered",
    remedy: `${REASON_IN_LOG}, then the upstream's own log; a shorter keep-alive there than here gives this now and then`,
  },
  "upstream.timeout": {
    status: 504,
    means: "The upstream did not answer within `timeout` of the route",
    remedy: "Look why it is slow, or raise `timeout`",
  },
  "upstream.protocol": {
    status: 502,
    means: "What the upstream sent is no valid HTTP, or contradicts itself",
    remedy: `${REASON_IN_LOG}; http and https of \`to\` may be confused`,
  },
  "upstream.request-body": {
    status: 400,
    means: "The client's body broke off",
    remedy: "",
  },
  "upstream.closed": {
    status: 503,
    means: "The gateway is stopping",
    remedy: "Set `drain_delay` so that load balancers notice first",
  },
  "upstream.unauthorized": {
    status: 502,
    means: "The upstream or an authorization server does not accept the gateway, whatever the user does",
    remedy: "Check `set_request_headers`, `upstream_oauth2` and `mcp_allowed_as_metadata_domains`; read the log",
  },
  "upstream.not-connected": {
    status: 403,
    means: "The server wants an account that this user, known by an issuer's assertion, has not connected",
    remedy: "The user signs in to the server in a browser once, with an MCP client that does so",
  },
  "upstream.not-permitted": {
    status: 403,
    means: "The identity provider, or the upstream's authorization server, gives this user no access (`id_jag`)",
    remedy: "Assign the user at the identity provider; read `upstream token denied to user` in the log",
  },
  "upstream.sign-in-needed": {
    status: 403,
    means:
      "The identity provider wants a new sign-in, or the caller has none: a machine, or a user known from an assertion alone (`id_jag`)",
    remedy: "The user signs out at `/.gateway/` and signs in again; machines use another route",
  },
  "upstream.insufficient-scope": {
    status: 403,
    means: "What the user granted at the upstream is not enough for this request",
    remedy: "The user ends the connection at `/.gateway/` and connects anew; see `upstream_oauth2.scopes`",
  },
  "upstream.token-unavailable": {
    status: 503,
    means: "The user's token at the upstream cannot be renewed now",
    remedy: "Look for `cannot refresh upstream token, server unavailable` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
