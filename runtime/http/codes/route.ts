/** Codes of routes: who may, and what of the service behind them. */
import type { CodeEntry } from "./entry.ts";

const REASON_IN_LOG = "Read `upstream failed` with this request id in the log";
const CONNECT_AGAIN = "Let the person begin again from where they came";

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
    status: 401,
    means: "The session ended while a gRPC call was open",
    remedy: "Sign in again",
  },
  "session.unavailable": {
    status: 503,
    means: "The session cannot be checked: the store or the identity provider cannot be reached",
    remedy: "Ask `/readyz`; look for `a credential cannot be verified now` in the log",
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
    remedy: "Assign the user at the identity provider; read `an upstream token was refused to a user` in the log",
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
    remedy: "Look for `an upstream token cannot be refreshed now` in the log",
  },
  "upstream.no-client-document": {
    status: 404,
    means: "No route of this host identifies the gateway by a client ID document",
    remedy: "",
  },
  "upstream.not-here": {
    status: 404,
    means: "There is no MCP server on this host to connect",
    remedy: CONNECT_AGAIN,
  },
  "upstream.bad-request": {
    status: 400,
    means: "The query of a link for connecting cannot be read",
    remedy: CONNECT_AGAIN,
  },
  "upstream.bad-redirect": {
    status: 400,
    means: "`redirect_url` is missing, or no address of an MCP client route",
    remedy: "Correct the application that made the link",
  },
  "upstream.unknown-server": {
    status: 404,
    means: "The link names an MCP server that the host does not have",
    remedy: "Correct the application that made the link",
  },
  "upstream.bad-ticket": {
    status: 400,
    means: "The link is older than ten minutes, or was made for somebody else",
    remedy: CONNECT_AGAIN,
  },
  "upstream.denied-by-policy": {
    status: 403,
    means: "Policy does not let this user use the MCP server that they want to connect",
    remedy: "Try the policy with `gateway explain`",
  },
  "upstream.blocked": {
    status: 403,
    means: "The route is blocked",
    remedy: "`gateway blocks` lists what is blocked",
  },
  "upstream.signed-out": {
    status: 403,
    means: "The session ended while the person was at the upstream's authorization server",
    remedy: "Sign in and begin again",
  },
  "upstream.foreign": {
    status: 403,
    means: "Another user or browser began this connection",
    remedy: CONNECT_AGAIN,
  },
  "upstream.over": {
    status: 400,
    means: "The connection was completed already, or took longer than ten minutes",
    remedy: CONNECT_AGAIN,
  },
  "upstream.foreign-form": {
    status: 403,
    means: "The form was not sent from the gateway's own page",
    remedy: "Open the page again",
  },
  "upstream.store-unavailable": {
    status: 503,
    means: "The store cannot be reached, so nothing was connected",
    remedy: "Ask `/readyz`",
  },
  "upstream.changed": {
    status: 400,
    means: "The route was changed or removed while the person connected it",
    remedy: CONNECT_AGAIN,
  },
  "upstream.wrong-issuer": {
    status: 400,
    means: "The answer names another authorization server than the upstream's: perhaps an attack",
    remedy: "Read `an upstream was not connected` in the log; tell the upstream's operator",
  },
  "upstream.denied": {
    status: 403,
    means: "The person, or the authorization server in their name, did not grant access",
    remedy: "",
  },
  "upstream.answered-error": {
    status: 502,
    means: "The upstream's authorization server responded with an error that trying again does not change",
    remedy:
      "Read `an upstream was not connected` in the log: `reason` has the error, and the setting where it is known",
  },
  "upstream.code-refused": {
    status: 502,
    means: "The upstream's token endpoint refused the authorization code",
    remedy: "Try again; read `an upstream was not connected` in the log",
  },
  "upstream.client-refused": {
    status: 502,
    means: "The upstream's authorization server does not accept the client that the route configures",
    remedy: "Check `client_id` and `client_secret` in `upstream_oauth2` of the route",
  },
  "upstream.client-forgotten": {
    status: 502,
    means: "The upstream's authorization server no longer knows the gateway's registration",
    remedy: "Begin again: the gateway registers again",
  },
  "upstream.unavailable": {
    status: 502,
    means: "The upstream's authorization server does not respond, or says that it is temporarily unavailable",
    remedy: "Allow egress to it, or wait for it",
  },
  "upstream.not-set-up": {
    status: 502,
    means: "The upstream cannot be connected as the route is set up",
    remedy: "Read `an upstream cannot be connected` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
