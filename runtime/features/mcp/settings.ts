/**
 * The `mcp` block of a route. Rules between its members are in rules.ts.
 *
 * @see test/requirements.ts, "Route: MCP server" and "Route: MCP client"; DECISIONS.md D5
 */
import { quote } from "../../settings/problem.ts";
import { hasUnsafeCharacter, parseOrigin, parseHttpUrl, parseRoutePath, type Reading } from "../../settings/values.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { extraPathProblem } from "./extra-paths.ts";
import { block } from "../../settings/types/block.ts";
import { count, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { textListMap } from "../../settings/types/map.ts";
import { toolPatternProblem, toolScopeProblem } from "./tool-scopes.ts";
import { domainPatternList, textList } from "../../settings/types/list.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { isServiceAccountName } from "../../shared/user-id.ts";
import { ownerPatternProblem } from "../process/owners.ts";
import { recordArgumentsBlock } from "./record-arguments.ts";
import { toolLockBlock } from "./tool-lock.ts";
import { upstreamOAuthShape } from "./upstream-oauth.ts";

const httpsOnly = (value: string): Reading<URL> => {
  const parsed = parseHttpUrl(value);
  return parsed.ok && parsed.value.protocol !== "https:" ? { ok: false, problem: "must begin with https://" } : parsed;
};

export const DEFAULT_MAX_REQUEST_BYTES = 4096;

const serverShape = {
  upstream_oauth2: block(upstreamOAuthShape, {
    doc: "OAuth with the upstream service. With `client_id` and `endpoint` these are used as they are; without `endpoint` it is discovered; without `client_id` the gateway registers itself. Users connect their accounts, unless `id_jag`, `workload` or `client_credentials` says how tokens are got without them.",
    unset: "discovered when the upstream asks for it",
  }),
  max_request_bytes: count({
    doc: "Largest request body in bytes; larger ones are refused with 413, which names this limit. Arguments of a tool call count: 65536 lets a file of some tens of KB through. A message is held in memory while it is judged.",
    default: DEFAULT_MAX_REQUEST_BYTES,
    annotation: "mcp_server_max_request_bytes",
    min: 1,
    max: 64 * 1024 * 1024,
  }),
  filter_lists: flag({
    doc: "Whether lists (tools, prompts, resources, resource templates) leave out what the policy would refuse its user whatever the arguments are, where the policy has `mcp_` criteria. What is left out cannot be used either way.",
    default: true,
    annotation: "mcp_server_filter_lists",
  }),
  tool_lock: toolLockBlock,
  tool_scopes: textListMap({
    doc: "Scopes that OAuth clients need for calls of tools, beside `mcp`, which every token has: names of tools, or beginnings with `*` behind them, and their scopes. A tool that several entries name needs the scopes of all. Users agree to them on the consent page; a call that policy allows and whose token lacks one is answered 403 with `insufficient_scope` and all that it needs, and clients ask for it. Tools stay in lists. Tokens of applications (MCP client routes) and those that `gateway service-account` prints were never asked for with scopes, and need none.",
    unset: "no tool needs more than `mcp`",
    annotation: "mcp_server_tool_scopes",
    checkName: (pattern) => quotedProblem(pattern, toolPatternProblem(pattern)),
    checkValue: (scope) => quotedProblem(scope, toolScopeProblem(scope)),
  }),
  record_arguments: recordArgumentsBlock,
  path: text({
    doc: "Sub-path appended to the upstream URL for the MCP endpoint.",
    unset: "the path of `to`",
    annotation: "mcp_server_path",
    check: readable(parseRoutePath),
  }),
  extra_paths: textList({
    doc: "Paths below the base of the route that go upstream in addition to the MCP endpoint: `/sse` is that path alone, `/files/*` what lies below it. All others are answered 404. `mcp_tool` judges messages: requests without one (GET, DELETE) pass by who their user is.",
    unset: "the MCP endpoint alone",
    annotation: "mcp_server_extra_paths",
    check: extraPathProblem,
  }),
  allowed_applications: textList({
    doc: 'Other owners whose applications (MCP client routes) may call this server with the tokens that they get, beside its own owner\'s and those of the boot file: names such as "team-a", beginnings such as "kubernetes.*", or "*" for all. Where the boot file has no `owners`, all may.',
    unset: "applications of the same owner, and of the boot file",
    annotation: "mcp_server_allowed_applications",
    check: (value) => (value === "*" ? undefined : quotedProblem(value, ownerPatternProblem(value))),
  }),
  introspection_accounts: textList({
    doc: "Service accounts that may ask about all tokens for this server (RFC 7662, at `/.gateway/mcp/introspect` of its host), by name: the client of such an account learns whether a token is good, whose it is, with their email address, and which client holds it.",
    unset: "clients may ask about their own tokens only",
    annotation: "mcp_server_introspection_accounts",
    check: (value) =>
      isServiceAccountName(value)
        ? undefined
        : `is ${quote(value)}, must be the name of a service account: letters, digits, ".", "_" and "-", at most 63`,
  }),
  authorization_server_url: url({
    doc: "Authorization server issuer used when discovery fails. With `client_id` or `workload` in `upstream_oauth2`, the only issuer that gets the credentials; by default the first one that was used. Endpoints of this issuer may be at other origins. HTTPS only.",
    unset: "none",
    annotation: "mcp_server_authorization_server_url",
    read: httpsOnly,
  }),
};

export const mcpShape = {
  mcp: block(
    {
      server: block(serverShape, {
        doc: "Marks the route as an MCP server. May be empty.",
        unset: "not an MCP server",
        annotation: "mcp_server",
      }),
      client: block(
        {},
        {
          doc: "Marks the route as an MCP client: the application receives External Tokens, and may send people to `/.gateway/mcp/connect?redirect_url=…` of an MCP server's host. They come back with `connect_error=<code>` when an upstream was not connected: `unavailable` and `not-set-up` before anybody has left, else the reason of the page that was shown. Always empty.",
          unset: "not an MCP client",
          annotation: "mcp_client",
        },
      ),
    },
    { doc: "Model Context Protocol: exactly one of `server` and `client`.", unset: "an ordinary route" },
  ),
};

/** What of a route is about MCP. */
export type McpDoc = ShapeDoc<typeof mcpShape>;

export type McpServerDoc = NonNullable<NonNullable<McpDoc["mcp"]>["server"]>;

export const mcpSettingsShape = {
  runtime_flags: block(
    {
      mcp: flag({ doc: "Must be true to enable MCP; until then MCP routes answer 503.", default: false }),
    },
    { doc: "Switches of experimental parts.", unset: "all off" },
  ),
  mcp_allowed_client_id_domains: domainPatternList({
    doc: "Domains allowed for URL-based MCP client IDs (client ID metadata documents). `*.example.com` matches subdomains, not `example.com`; `known-clients` stands for those of common products (Claude, Claude Code, ChatGPT, Codex, VS Code, Copilot CLI, opencode). Once it is set, products that have a document come with it and do not fall back on registering themselves: those whose domain is not listed (Claude Code and Codex among them) cannot connect.",
    unset: "URL-based client IDs are refused, and clients register themselves",
  }),
  mcp_allowed_as_metadata_domains: domainPatternList({
    doc: "Domains the service may contact during upstream OAuth discovery, the hosts of `to` included. `*.example.com` matches subdomains, not `example.com`.",
    unset: "no discovery",
  }),
  mcp_allowed_origins: textList({
    doc: "Browser origins that may call MCP routes, in addition to the route's own and loopback ones.",
    unset: "same host and loopback",
    check: readable(parseOrigin),
  }),
  mcp_allowed_private_redirect_uris: textList({
    doc: 'Exact redirect URIs with private-use schemes that MCP clients may register, such as "com.example.app:/callback".',
    unset: "https and loopback redirect URIs only",
    check: privateRedirectUri,
  }),
  mcp_dynamic_registration: flag({
    doc: "Whether MCP clients may register themselves (RFC 7591). With `false` the registration endpoint answers 403 and the metadata does not name it; clients come with the URL of a document, or an administrator makes them. Those registered before go on.",
    default: true,
  }),
};

export const lifetimeShape = {
  access_token_lifetime: duration({
    doc: "Life of External Tokens given to MCP clients. Clients with a refresh token are told an end that is up to 10 seconds earlier.",
    default: "15m",
    minMs: 60_000,
  }),
  client_route_token_lifetime: duration({
    doc: "Life of External Tokens given to applications of MCP client routes; at least 5 minutes, because none is handed out with less than 4 left.",
    default: "5m",
    minMs: 300_000,
  }),
  refresh_token_lifetime: duration({
    doc: "Life of MCP refresh tokens, from their last use.",
    default: "90d",
    minMs: 60_000,
  }),
  refresh_token_absolute_lifetime: duration({
    doc: "Longest time from an authorization to its end, however often its refresh tokens are used or rotated: then the client has to ask the user again. One that began before this was set ends at its next refresh.",
    unset: "none: it ends when it is not used for `refresh_token_lifetime`",
    minMs: 60_000,
  }),
  authorization_code_lifetime: duration({ doc: "Life of MCP authorization codes.", default: "60s", minMs: 5000 }),
};

/** Schemes that a browser runs, reads or fetches itself instead of handing the answer to an application. */
const NOT_PRIVATE_USE =
  /^(?:https?|wss?|ftp|file|javascript|vbscript|data|blob|about|view-source|filesystem|chrome|resource|mailto|tel)$/;

/**
 * RFC 8252 §7.1 wants schemes that are based on a domain name, with a period. Products in wide use have others (Cursor:
 * "cursor://anysphere.cursor-mcp/oauth/callback"), so the operator, who lists each URI exactly, decides.
 */
function privateRedirectUri(value: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):[^#]+$/i.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined || hasUnsafeCharacter(value) || !URL.canParse(value) || NOT_PRIVATE_USE.test(scheme)) {
    return `is ${quote(value)}, must be a URI with a private-use scheme such as "com.example.app:/callback"`;
  }
  return undefined;
}
