/** Settings that published slices may carry too: MCP, sign-in, tokens, headers of all routes. */
import {
  type DocOf,
  document,
  block,
  choice,
  count,
  domainPatternList,
  duration,
  flag,
  secret,
  text,
  textList,
  textMap,
  url,
} from "../../settings/types/kinds.ts";
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS } from "../../audit/record.ts";
import { bearerShape } from "../access/settings.ts";
import { checkScope, readable } from "../../settings/types/checks.ts";
import { setRequestHeaderWish } from "../headers/names.ts";
import { responseHeaderMap } from "../headers/settings.ts";
import { hostCertificateShape } from "../listener/host-certificates.ts";
import { nearest } from "../../settings/nearest.ts";
import { quote } from "../../settings/problem.ts";
import { hasUnsafeCharacter, parseHttpUrl, parseOrigin } from "../../settings/values.ts";

export const liveShape = {
  runtime_flags: block(
    {
      mcp: flag({ doc: "Must be true to enable MCP; until then MCP routes answer 503.", default: "false" }),
    },
    { doc: "Switches of experimental parts.", default: "- all off" },
  ),
  mcp_allowed_client_id_domains: domainPatternList({
    doc: "Domains allowed for URL-based MCP client IDs (client ID metadata documents). `*.example.com` matches subdomains, not `example.com`; `known-clients` stands for those of common products (Claude, Claude Code, ChatGPT, Codex, VS Code, Copilot CLI, opencode). Once it is set, products that have a document come with it and do not fall back on registering themselves: those whose domain is not listed (Claude Code and Codex among them) cannot connect.",
    default: "- URL-based client IDs are refused, and clients register themselves",
  }),
  mcp_allowed_as_metadata_domains: domainPatternList({
    doc: "Domains the service may contact during upstream OAuth discovery, the hosts of `to` included. `*.example.com` matches subdomains, not `example.com`.",
    default: "- no discovery",
  }),
  mcp_allowed_origins: textList({
    doc: "Browser origins that may call MCP routes beside the route's own and loopback ones.",
    default: "- same host and loopback",
    check: readable(parseOrigin),
  }),
  mcp_allowed_private_redirect_uris: textList({
    doc: 'Exact redirect URIs with private-use schemes that MCP clients may register, such as "com.example.app:/callback".',
    default: "- https and loopback redirect URIs only",
    check: privateRedirectUri,
  }),
  mcp_dynamic_registration: flag({
    doc: "Whether MCP clients may register themselves (RFC 7591). With `false` the registration endpoint answers 403 and the metadata does not name it; clients come with the URL of a document, or an administrator makes them. Those registered before go on.",
    default: "true",
  }),
  authorize_log_fields: textList({
    doc: `Fields included in authorization records: ${RECORD_FIELDS.join(", ")}.`,
    default: DEFAULT_RECORD_FIELDS.join(", "),
    itemValues: RECORD_FIELDS,
    check: recordField,
  }),
  authenticate_service_url: url({
    doc: "Origin of the sign-in, consent and user pages; its host serves no route. Without it these pages share the origin of what their host serves: browsers keep most scripts there from reading and answering them, but not all, so that a service worker for example could consent for its user.",
    default: "- each route's own host",
    read: parseOrigin,
  }),
  signout_redirect_url: url({
    doc: "Where browsers go after signing out.",
    default: "- the signed-out page",
    read: parseHttpUrl,
  }),
  idp_provider_url: url({
    doc: "Issuer URL of the OpenID Connect identity provider.",
    default: "- nobody can sign in",
    read: parseHttpUrl,
  }),
  idp_client_id: text({ doc: "Client identifier at the identity provider.", default: "- nobody can sign in" }),
  ...secret("idp_client_secret", { doc: "Client secret at the identity provider.", default: "- a public client" }),
  idp_scopes: textList({
    doc: "Scopes requested at sign-in, exactly these. Without `offline_access` most providers give no refresh token; Google knows it not and wants `access_type: offline` and `prompt: consent` among `idp_request_params` instead. Ready settings of common providers: examples/identity-providers.",
    default: "openid, profile, email; and offline_access, unless the provider's metadata lists scopes without it",
    check: checkScope,
  }),
  idp_groups_claim: text({ doc: "Claim that carries the user's groups.", default: "groups" }),
  idp_require_email_verified: flag({
    doc: "Count an e-mail address only when the provider says that it is verified (`email_verified: true`). Without it an address that the provider is silent about counts; one that it calls unverified never does.",
    default: "false",
  }),
  idp_request_params: textMap({
    doc: "Extra query parameters on the provider's authorization URL, such as `access_type: offline` and `prompt: consent` for refresh tokens of Google.",
    default: "- none",
  }),
  ...bearerShape,
  cookie_name: text({
    doc: "Name of the session cookie; `__Host-` is added on HTTPS.",
    default: "gateway_session",
    check: (value) =>
      /^[A-Za-z0-9_-]{1,64}$/.test(value) && !/^__(host|secure)-/i.test(value)
        ? undefined
        : `is ${quote(value)}, must be letters, digits, "-" and "_" without the "__Host-" prefix`,
  }),
  cookie_expiration: duration({ doc: "Longest life of a browser session.", default: "14h", minMs: 60_000 }),
  cookie_same_site: choice(["lax", "strict", "none"], {
    doc: "SameSite attribute of the session cookie.",
    default: "lax",
  }),
  access_token_lifetime: duration({
    doc: "Life of External Tokens given to MCP clients.",
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
    default: "- none: it ends when it is not used for `refresh_token_lifetime`",
    minMs: 60_000,
  }),
  authorization_code_lifetime: duration({ doc: "Life of MCP authorization codes.", default: "60s", minMs: 5000 }),
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to upstreams.",
    default: "true",
  }),
  jwt_claims_headers: textMap({
    doc: "Extra identity headers: header name to claim. Sent empty when the user lacks the claim, so that nobody can forge them, and not at all when the provider left the claim out. Lists are joined by commas, without elements that have one. The claims stand in the signed identity header too, as the provider gave them (4 KiB in all; never in the place of its own claims).",
    default: "- none",
    checkName: setRequestHeaderWish,
    checkValue: (claim) => (claim === "" ? "is empty, must be the name of a claim" : undefined),
  }),
  set_response_headers: textMap({
    doc: "Static response headers of all routes; a route's own `set_response_headers` take precedence.",
    default: "- none",
    ...responseHeaderMap,
  }),
  ...hostCertificateShape,
  max_streams_per_user: count({
    doc: "Event streams (of GET requests) and WebSocket connections that one user may hold open at once, in each process; more are answered 429.",
    default: "250",
    min: 1,
    max: 1_000_000,
  }),
  default_upstream_timeout: duration({
    doc: 'Default of the routes\' `timeout`; "0s" means no limit.',
    default: "30s",
  }),
};

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}

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

const liveSchema = document(liveShape);

/** Live settings as written. */
export type SettingsDoc = DocOf<typeof liveSchema>;
