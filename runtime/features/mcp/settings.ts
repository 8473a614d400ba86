/**
 * The `mcp` block of a route. For rules between its members, see rules.ts.
 *
 * @see test/requirements.ts, "Route: MCP server" and "Route: MCP client"; DECISIONS.md D5
 */
import { quote } from "../../settings/problem.ts";
import { hasUnsafeCharacter, parseOrigin, parseHttpUrl, parseRoutePath, type Reading } from "../../settings/values.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { extraPathProblem } from "./extra-paths.ts";
import { block } from "../../settings/types/block.ts";
import { choice, count, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { textListMap } from "../../settings/types/map.ts";
import { toolPatternProblem, toolScopeProblem } from "./tool-scopes.ts";
import { domainPatternList, textList } from "../../settings/types/list.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { isServiceAccountName } from "../../shared/user-id.ts";
import { ownerPatternProblem } from "../process/owners.ts";
import { guardrailBlock } from "./guardrail.ts";
import { historyRulesSetting } from "./history-rules.ts";
import {
  labelsSetting,
  memberPrefixSetting,
  membersByLabelSetting,
  membersSetting,
  resourcePrefixesSetting,
  searchToolsSetting,
} from "./members.ts";
import { recordArgumentsBlock } from "./record-arguments.ts";
import { toolLockBlock } from "./tool-lock.ts";
import { upstreamOAuthShape } from "./upstream-oauth.ts";

const httpsOnly = (value: string): Reading<URL> => {
  const parsed = parseHttpUrl(value);
  return parsed.ok && parsed.value.protocol !== "https:" ? { ok: false, problem: "must start with https://" } : parsed;
};

export const DEFAULT_MAX_REQUEST_BYTES = 4096;

const serverShape = {
  members: membersSetting,
  members_by_label: membersByLabelSetting,
  labels: labelsSetting,
  member_prefix: memberPrefixSetting,
  resource_prefixes: resourcePrefixesSetting,
  search_tools_above: searchToolsSetting,
  upstream_oauth2: block(upstreamOAuthShape, {
    doc: "OAuth with the upstream. Users connect their accounts, unless `id_jag`, `workload` or `client_credentials` is set.",
    unset: "discovered if the upstream requires it",
  }),
  max_request_bytes: count({
    doc: "Maximum request body in bytes, including arguments of tool calls. Larger ones get 413.",
    default: DEFAULT_MAX_REQUEST_BYTES,
    annotation: "mcp_server_max_request_bytes",
    min: 1,
    max: 64 * 1024 * 1024,
  }),
  filter_lists: flag({
    doc: "Remove items that the policy always denies for the user from lists, if the policy has `mcp_` criteria.",
    default: true,
    annotation: "mcp_server_filter_lists",
  }),
  tool_lock: toolLockBlock,
  tool_scopes: textListMap({
    doc: "OAuth scopes required for tool calls, in addition to `mcp`: tool name, or prefix with `*`, to scopes.",
    unset: "none",
    annotation: "mcp_server_tool_scopes",
    checkName: (pattern) => quotedProblem(pattern, toolPatternProblem(pattern)),
    checkValue: (scope) => quotedProblem(scope, toolScopeProblem(scope)),
  }),
  record_arguments: recordArgumentsBlock,
  history_rules: historyRulesSetting,
  guardrail: guardrailBlock,
  path: text({
    doc: "Path appended to the upstream URL for the MCP endpoint.",
    unset: "the path of `to`",
    annotation: "mcp_server_path",
    check: readable(parseRoutePath),
  }),
  extra_paths: textList({
    doc: "Paths below the route's base to forward in addition to the MCP endpoint: `/sse` exactly, `/files/*` with all paths below.",
    unset: "none",
    annotation: "mcp_server_extra_paths",
    check: extraPathProblem,
  }),
  allowed_applications: textList({
    doc: 'Other owners whose MCP client routes and federated routes can use this server: "team-a", "kubernetes.*", or "*" for all.',
    unset: "the same owner and the main configuration file",
    annotation: "mcp_server_allowed_applications",
    check: (value) => (value === "*" ? undefined : quotedProblem(value, ownerPatternProblem(value))),
  }),
  introspection_accounts: textList({
    doc: "Service accounts whose clients can introspect all tokens for this server (RFC 7662).",
    unset: "none",
    annotation: "mcp_server_introspection_accounts",
    check: (value) =>
      isServiceAccountName(value)
        ? undefined
        : `is ${quote(value)}, must be the name of a service account: letters, digits, ".", "_" and "-", at most 63`,
  }),
  dpop: choice(["allowed", "required"], {
    doc: "Tokens bound to a key of the client (DPoP, RFC 9449): `allowed` for clients that send proofs, `required` for all.",
    unset: "off",
    annotation: "mcp_server_dpop",
  }),
  dpop_nonce: flag({
    doc: "Proofs must contain a nonce of the gateway, which is valid for two minutes. Clients get it with a 401.",
    default: false,
    annotation: "mcp_server_dpop_nonce",
  }),
  authorization_server_url: url({
    doc: "Authorization server issuer if discovery fails. With a configured client or `workload`, the only issuer that receives the credentials.",
    unset: "none",
    annotation: "mcp_server_authorization_server_url",
    read: httpsOnly,
  }),
};

export const mcpShape = {
  mcp: block(
    {
      server: block(serverShape, {
        doc: "Marks the route as an MCP server. Can be empty.",
        unset: "none",
        annotation: "mcp_server",
      }),
      client: block(
        {},
        {
          doc: "Marks the route as an MCP client, whose application receives External Tokens. Always empty.",
          unset: "none",
          annotation: "mcp_client",
        },
      ),
    },
    { doc: "Model Context Protocol. Set exactly one of `server` and `client`.", unset: "none" },
  ),
};

/** MCP settings of a route. */
export type McpDoc = ShapeDoc<typeof mcpShape>;

export type McpServerDoc = NonNullable<NonNullable<McpDoc["mcp"]>["server"]>;

export const mcpSettingsShape = {
  runtime_flags: block(
    {
      mcp: flag({ doc: "Enable MCP. Otherwise MCP routes get 503.", default: false }),
    },
    { doc: "Experimental features.", unset: "none" },
  ),
  mcp_allowed_client_id_domains: domainPatternList({
    doc: "Domains allowed for URL-based MCP client IDs; `known-clients` includes Claude, ChatGPT, VS Code and others. Without it, URL-based client IDs are rejected.",
    unset: "none",
  }),
  mcp_allowed_as_metadata_domains: domainPatternList({
    doc: "Domains allowed for upstream OAuth discovery, including the hosts of `to`. Without it, discovery is disabled.",
    unset: "none",
  }),
  mcp_allowed_origins: textList({
    doc: "Additional browser origins that can call MCP routes. The route's own origin and loopback are always allowed.",
    unset: "none",
    check: readable(parseOrigin),
  }),
  mcp_allowed_private_redirect_uris: textList({
    doc: 'Exact redirect URIs with private-use schemes for MCP clients, such as "com.example.app:/callback".',
    unset: "none",
    check: privateRedirectUri,
  }),
  mcp_dynamic_registration: flag({
    doc: "Dynamic registration of MCP clients (RFC 7591). If disabled, clients use a client ID metadata document or are created by an administrator.",
    default: true,
  }),
};

export const lifetimeShape = {
  access_token_lifetime: duration({
    doc: "Lifetime of External Tokens for MCP clients.",
    default: "15m",
    minMs: 60_000,
  }),
  client_route_token_lifetime: duration({
    doc: "Lifetime of External Tokens for applications of MCP client routes. At least 5 minutes.",
    default: "5m",
    minMs: 300_000,
  }),
  refresh_token_lifetime: duration({
    doc: "Lifetime of MCP refresh tokens since their last use.",
    default: "90d",
    minMs: 60_000,
  }),
  refresh_token_absolute_lifetime: duration({
    doc: "Maximum lifetime of an MCP authorization, including all refreshes. Then the client must ask the user again.",
    unset: "none",
    minMs: 60_000,
  }),
  authorization_code_lifetime: duration({ doc: "Lifetime of MCP authorization codes.", default: "60s", minMs: 5000 }),
};

/** Schemes that a browser runs, reads or fetches itself instead of passing the response to an application. */
const NOT_PRIVATE_USE =
  /^(?:https?|wss?|ftp|file|javascript|vbscript|data|blob|about|view-source|filesystem|chrome|resource|mailto|tel)$/;

/**
 * RFC 8252 §7.1 requires schemes based on a domain name, with a period. Widely used products differ (Cursor:
 * "cursor://anysphere.cursor-mcp/oauth/callback"), so the operator decides, listing each URI exactly.
 */
function privateRedirectUri(value: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):[^#]+$/i.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined || hasUnsafeCharacter(value) || !URL.canParse(value) || NOT_PRIVATE_USE.test(scheme)) {
    return `is ${quote(value)}, must be a URI with a private-use scheme such as "com.example.app:/callback"`;
  }
  return undefined;
}
