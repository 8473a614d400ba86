/** Codes for connecting users to the services of MCP servers. */
import type { CodeEntry } from "./entry.ts";

const CONNECT_AGAIN = "Ask the user to start the connection again";

export const CONNECT_CODES = {
  "upstream.no-client-document": {
    status: 404,
    cause: "No route of this host identifies the gateway by a client ID document",
    fix: "",
  },
  "upstream.not-here": {
    status: 404,
    cause: "This host has no MCP server to connect",
    fix: CONNECT_AGAIN,
  },
  "upstream.bad-request": {
    status: 400,
    cause: "The query of a connection link is invalid",
    fix: CONNECT_AGAIN,
  },
  "upstream.bad-redirect": {
    status: 400,
    cause: "`redirect_url` is missing, or is not an address of an MCP client route",
    fix: "Fix the application that created the link",
  },
  "upstream.unknown-server": {
    status: 404,
    cause: "The link names an MCP server that this host does not have",
    fix: "Fix the application that created the link",
  },
  "upstream.bad-ticket": {
    status: 400,
    cause: "The link is older than 10 minutes, or was created for another user",
    fix: CONNECT_AGAIN,
  },
  "upstream.denied-by-policy": {
    status: 403,
    cause: "Policy denies this user the MCP server to connect",
    fix: "Test the policy with `gateway explain`",
  },
  "upstream.blocked": {
    status: 403,
    cause: "An administrator blocked the route",
    fix: "List blocks with `gateway blocks`",
  },
  "upstream.signed-out": {
    status: 403,
    cause: "The session ended while the user was at the upstream's authorization server",
    fix: "Ask the user to sign in and start again",
  },
  "upstream.foreign": {
    status: 403,
    cause: "Another user or browser started this connection",
    fix: CONNECT_AGAIN,
  },
  "upstream.over": {
    status: 400,
    cause: "The connection was already completed, or took longer than 10 minutes",
    fix: CONNECT_AGAIN,
  },
  "upstream.foreign-form": {
    status: 403,
    cause: "The form did not come from the gateway's own page",
    fix: "Open the page again",
  },
  "upstream.store-unavailable": {
    status: 503,
    cause: "The store is unavailable, so nothing was connected",
    fix: "Check `/readyz`",
  },
  "upstream.changed": {
    status: 400,
    cause: "The route changed or was removed while the user connected it",
    fix: CONNECT_AGAIN,
  },
  "upstream.wrong-issuer": {
    status: 400,
    cause: "The response names another authorization server than the upstream's; possibly an attack",
    fix: "Read `upstream account not connected` in the log, and notify the upstream's operator",
  },
  "upstream.denied": {
    status: 403,
    cause: "The user, or the authorization server on the user's behalf, denied access",
    fix: "",
  },
  "upstream.answered-error": {
    status: 502,
    cause: "The upstream's authorization server responds with a permanent error",
    fix: "Read `upstream account not connected` in the log: `reason` names the error and, if known, the setting to change",
  },
  "upstream.code-refused": {
    status: 502,
    cause: "The upstream's token endpoint rejects the authorization code",
    fix: "Try again, then read `upstream account not connected` in the log",
  },
  "upstream.client-refused": {
    status: 502,
    cause: "The upstream's authorization server rejects the client that the route configures",
    fix: "Check `client_id` and `client_secret` in `upstream_oauth2` of the route",
  },
  "upstream.client-forgotten": {
    status: 502,
    cause: "The upstream's authorization server no longer knows the gateway's registration",
    fix: "Start the connection again: the gateway registers again",
  },
  "upstream.unavailable": {
    status: 502,
    cause: "The upstream's authorization server does not respond, or reports that it is temporarily unavailable",
    fix: "Allow egress to it, or wait until it is available",
  },
  "upstream.issuer-changed": {
    status: 502,
    cause:
      "The MCP server names another authorization server than the one the route's client belongs to. Nothing was sent to it",
    fix: "Ask the operator of the MCP server. If the change is intended, set `authorization_server_url` of the route to the new issuer, with credentials for it",
  },
  "upstream.not-set-up": {
    status: 502,
    cause: "The route's settings do not allow connecting the upstream",
    fix: "Read `cannot connect upstream account` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
