/** Codes of connecting users to the services behind MCP servers. */
import type { CodeEntry } from "./entry.ts";

const CONNECT_AGAIN = "Let the person begin again from where they came";

export const CONNECT_CODES = {
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
    remedy: "Read `upstream account not connected` in the log; tell the upstream's operator",
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
      "Read `upstream account not connected` in the log: `reason` has the error, and the setting where it is known",
  },
  "upstream.code-refused": {
    status: 502,
    means: "The upstream's token endpoint refused the authorization code",
    remedy: "Try again; read `upstream account not connected` in the log",
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
  "upstream.issuer-changed": {
    status: 502,
    means:
      "The MCP server names another authorization server than the one that the route's client belongs to: nothing was sent to it",
    remedy:
      "Ask the operator of the MCP server. If the change is intended, set `authorization_server_url` of the route to the new issuer, with credentials for it",
  },
  "upstream.not-set-up": {
    status: 502,
    means: "The upstream cannot be connected as the route is set up",
    remedy: "Read `cannot connect upstream account` in the log",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
