/**
 * The `mcp` block of a route. Rules between its members are in mcp-rules.ts.
 *
 * @see requirements, "Route: MCP server" and "Route: MCP client"; decision D5
 */
import { checkScope, quotedWish, readable } from "../../settings/types/checks.ts";
import { extraPathWish } from "./extra-paths.ts";
import {
  block,
  choice,
  count,
  secret,
  type ShapeDoc,
  text,
  textList,
  textMap,
  url,
} from "../../settings/types/kinds.ts";
import { ownerPatternProblem } from "../process/owners.ts";
import { parseHttpUrl, parseRoutePath, type Reading } from "../../settings/values.ts";

const httpsOnly = (value: string): Reading<URL> => {
  const parsed = parseHttpUrl(value);
  return parsed.ok && parsed.value.protocol !== "https:" ? { ok: false, wish: "must begin with https://" } : parsed;
};

const endpointShape = {
  auth_url: url({
    doc: "Upstream authorization endpoint.",
    required: true,
    read: parseHttpUrl,
    annotation: "mcp_server_upstream_oauth2_auth_url",
  }),
  token_url: url({
    doc: "Upstream token endpoint.",
    required: true,
    read: parseHttpUrl,
    annotation: "mcp_server_upstream_oauth2_token_url",
  }),
  auth_style: choice(["header", "params"], {
    doc: "How client credentials are sent to the token endpoint: `header` (HTTP Basic) or `params` (form fields).",
    default: "- `header`, or what the upstream's metadata says",
    annotation: "mcp_server_upstream_oauth2_auth_style",
  }),
};

const upstreamOAuthShape = {
  client_id: text({
    doc: "OAuth client identifier for the upstream service.",
    default: "- the gateway registers itself",
    check: (value) => (value === "" ? "is empty, must be a client identifier" : undefined),
  }),
  ...secret("client_secret", {
    doc: "OAuth client secret. Never stored per user; read from the route at each token refresh.",
    default: "- a public client",
  }),
  endpoint: block(endpointShape, {
    doc: "Upstream OAuth endpoints.",
    default: "- discovered through RFC 9728 metadata",
  }),
  scopes: textList({
    doc: "Scopes requested from the upstream.",
    default: "- what the upstream's metadata names",
    annotation: "mcp_server_upstream_oauth2_scopes",
    check: checkScope,
  }),
  authorization_url_params: textMap({
    doc: "Extra query parameters on the authorization URL, for example to request offline access.",
    default: "- none",
    annotation: "mcp_server_upstream_oauth2_authorization_url_params",
    checkName: (name) => (PROTOCOL_PARAMETERS.has(name) ? "is set by the gateway itself" : undefined),
  }),
};

/** Setting one of these from outside would break or redirect the flow. @see RFC 6749 §4.1.1, RFC 7636 §4.3 */
const PROTOCOL_PARAMETERS = new Set([
  "client_id",
  "client_secret",
  "code_challenge",
  "code_challenge_method",
  "redirect_uri",
  "resource",
  "response_type",
  "scope",
  "state",
]);

export const DEFAULT_MAX_REQUEST_BYTES = 4096;

const serverShape = {
  upstream_oauth2: block(upstreamOAuthShape, {
    doc: "OAuth with the upstream service. With `client_id` and `endpoint` these are used as they are; without `endpoint` it is discovered; without `client_id` the gateway registers itself.",
    default: "- discovered when the upstream asks for it",
  }),
  max_request_bytes: count({
    doc: "Largest request body in bytes; larger ones are refused with 413, which names this limit. Arguments of a tool call count: 65536 lets a file of some tens of KB through. A message is held in memory while it is judged.",
    default: String(DEFAULT_MAX_REQUEST_BYTES),
    annotation: "mcp_server_max_request_bytes",
    min: 1,
    max: 64 * 1024 * 1024,
  }),
  path: text({
    doc: "Sub-path appended to the upstream URL for the MCP endpoint.",
    default: "- the path of `to`",
    annotation: "mcp_server_path",
    check: readable(parseRoutePath),
  }),
  extra_paths: textList({
    doc: "Paths below the base of the route that go upstream beside the MCP endpoint: `/sse` is that path alone, `/files/*` what lies below it. All others are answered 404. `mcp_tool` judges messages: requests without one (GET, DELETE) pass by who their user is.",
    default: "- the MCP endpoint alone",
    annotation: "mcp_server_extra_paths",
    check: extraPathWish,
  }),
  allowed_applications: textList({
    doc: 'Other owners whose applications (MCP client routes) may call this server with the tokens that they get, beside its own owner\'s and those of the boot file: names such as "team-a", beginnings such as "kubernetes.*", or "*" for all. Where the boot file has no `owners`, all may.',
    default: "- applications of the same owner, and of the boot file",
    annotation: "mcp_server_allowed_applications",
    check: (value) => (value === "*" ? undefined : quotedWish(value, ownerPatternProblem(value))),
  }),
  authorization_server_url: url({
    doc: "Authorization server issuer used when discovery fails. HTTPS only.",
    default: "- none",
    annotation: "mcp_server_authorization_server_url",
    read: httpsOnly,
  }),
};

export const mcpShape = {
  mcp: block(
    {
      server: block(serverShape, {
        doc: "Marks the route as an MCP server. May be empty.",
        default: "- not an MCP server",
        annotation: "mcp_server",
      }),
      client: block(
        {},
        {
          doc: "Marks the route as an MCP client: the application receives External Tokens, and may send people to `/.gateway/mcp/connect?redirect_url=…` of an MCP server's host. They come back with `connect_error=<code>` when an upstream was not connected: `unavailable` and `not-set-up` before anybody has left, else the reason of the page that was shown. Always empty.",
          default: "- not an MCP client",
          annotation: "mcp_client",
        },
      ),
    },
    { doc: "Model Context Protocol: exactly one of `server` and `client`.", default: "- an ordinary route" },
  ),
};

/** What of a route is about MCP. */
export type McpDoc = ShapeDoc<typeof mcpShape>;

export type McpServerDoc = NonNullable<NonNullable<McpDoc["mcp"]>["server"]>;
