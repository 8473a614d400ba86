/** Everything that may be written beside the routes: boot settings (only in the boot file) and live settings. */
import type { z } from "zod";

import { responseHeaderMap } from "./header-settings.ts";
import { setRequestHeaderWish } from "./header-names.ts";
import {
  block,
  choice,
  document,
  domainPatternList,
  duration,
  fieldsOf,
  flag,
  labelled,
  secret,
  text,
  textList,
  textMap,
  url,
} from "./kinds.ts";
import { nearest, quote } from "./problem.ts";
import { decodeBase64, hasUnsafeCharacter, parseHttpUrl, parseListener, parseOrigin } from "./values.ts";

/** Fields an authorization record may carry beyond the fixed ones, D9. */
export const RECORD_FIELDS = [
  "request-id",
  "bundle-digest",
  "user",
  "email",
  "name",
  "groups",
  "route",
  "host",
  "http-method",
  "path",
  "ip",
  "status",
  "session-id",
  "client-id",
  "mcp-method",
  "mcp-tool",
  "mcp-tool-parameters",
] as const;

export const DEFAULT_RECORD_FIELDS: readonly string[] = ["request-id", "user", "email", "mcp-method", "mcp-tool"];

const listener = (value: string): string | undefined => {
  const parsed = parseListener(value);
  return parsed.ok ? undefined : `is ${quote(value)}, ${parsed.wish}`;
};

const ownerWish = (name: string): string | undefined =>
  isOwner(name) ? undefined : 'must be lower-case letters, digits, "-", "_" and ".", beginning with a letter or digit';

/** Owners are part of route keys and of file and record names. */
export function isOwner(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,62}$/.test(name);
}

export const bootShape = {
  address: text({
    doc: 'Public listener, "host:port" or ":port".',
    default: '- ":443"; ":8080" with `insecure_server`; "127.0.0.1:8080" with `development`',
    check: listener,
  }),
  insecure_server: flag({
    doc: "Serve plain HTTP on the public listener: for development, or behind a load balancer that terminates TLS.",
    default: "false",
  }),
  development: flag({
    doc: "Accept http and loopback addresses in OAuth discovery. Listeners must be on loopback.",
    default: "false",
  }),
  admin_address: text({
    doc: 'Listener for health, metrics, status and publishing, "host:port".',
    default: "127.0.0.1:9901",
    check: listener,
  }),
  ...secret("admin_token", {
    doc: "Bearer token of the admin listener, needed on every path but `/healthz` and `/readyz`.",
    default: "- only `/healthz` and `/readyz` answer",
  }),
  ...secret("shared_secret", {
    doc: "Base64 of at least 32 random bytes from which all keys are derived; the same on all replicas. Make one with `openssl rand -base64 32`.",
    default: "- a random one at each start, which ends all sign-ins",
  }),
  ...secret("previous_shared_secret", {
    doc: "Earlier shared secrets that still open what they sealed, for rotation.",
    default: "- none",
    many: true,
  }),
  ...secret("signing_key", {
    doc: "PEM (or base64 of PEM) of P-256 private keys for the identity header: the first signs, all are published.",
    default: "- derived from `shared_secret`",
    many: true,
  }),
  storage_url: text({
    doc: '"memory:", "sqlite:///path/to/file" or "postgres://user@host/database".',
    default: "sqlite://gateway.db",
    // Not quoted: a database URL may hold a password.
    check: (value) =>
      value === "memory:" || /^sqlite:.+/.test(value) || /^postgres(ql)?:\/\/.+/.test(value)
        ? undefined
        : 'must begin with "memory:", "sqlite:" or "postgres://"',
  }),
  drain_timeout: duration({ doc: "Longest wait for open requests when stopping.", default: "30s" }),
  authorize_log: text({
    doc: 'Where authorization records go: "stdout" or the path of a file.',
    default: "stdout",
    check: (value) => (value === "" || value.includes("\0") ? 'must be "stdout" or a path' : undefined),
  }),
  log_level: choice(["debug", "info", "warn", "error"], {
    doc: "Least severe operator log lines written.",
    default: "info",
  }),
  owners: labelled(
    {
      allowed_from: domainPatternList({ doc: "Hosts its routes may have in `from`.", default: "- any host" }),
      allowed_refs: textList({
        doc: 'Secret references its slice may use; a trailing "*" matches any rest: "env:TEAM_A_*".',
        default: "- none",
        check: (value) =>
          /^(env:[A-Za-z0-9_]+\*?|file:\/[^*\0]+\*?)$/.test(value) && !value.split("/").includes("..")
            ? undefined
            : `is ${quote(value)}, must be like "env:TEAM_A_*" or "file:/run/secrets/team-a/*"`,
      }),
    },
    {
      doc: "What slices of each owner may do. Once set, slices of owners not named here are refused.",
      default: "- any owner, any host, no secret references",
      checkName: ownerWish,
    },
  ),
};

const originText = (value: string): string | undefined => {
  const parsed = parseOrigin(value);
  return parsed.ok ? undefined : `is ${quote(value)}, ${parsed.wish}`;
};

export const liveShape = {
  runtime_flags: block(
    {
      mcp: flag({ doc: "Must be true to enable MCP; until then MCP routes answer 503.", default: "false" }),
    },
    { doc: "Switches of experimental parts.", default: "- all off" },
  ),
  mcp_allowed_client_id_domains: domainPatternList({
    doc: "Domains allowed for URL-based MCP client IDs (client ID metadata documents). `*.example.com` matches subdomains, not `example.com`.",
    default: "- URL-based client IDs are refused",
  }),
  mcp_allowed_as_metadata_domains: domainPatternList({
    doc: "Domains the service may contact during upstream OAuth discovery, the hosts of `to` included. `*.example.com` matches subdomains, not `example.com`.",
    default: "- no discovery",
  }),
  mcp_allowed_origins: textList({
    doc: "Browser origins that may call MCP routes beside the route's own and loopback ones.",
    default: "- same host and loopback",
    check: originText,
  }),
  mcp_allowed_private_redirect_uris: textList({
    doc: 'Exact redirect URIs with private-use schemes that MCP clients may register, such as "com.example.app:/callback".',
    default: "- https and loopback redirect URIs only",
    check: privateRedirectUri,
  }),
  authorize_log_fields: textList({
    doc: `Fields included in authorization records: ${RECORD_FIELDS.join(", ")}.`,
    default: DEFAULT_RECORD_FIELDS.join(", "),
    check: recordField,
  }),
  authenticate_service_url: url({
    doc: "Origin of the sign-in, consent and user pages; its host serves no route.",
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
    doc: "Scopes requested at sign-in.",
    default: "openid, profile, email, offline_access",
    check: (value) => (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value) ? undefined : "must be one scope without spaces"),
  }),
  idp_groups_claim: text({ doc: "Claim that carries the user's groups.", default: "groups" }),
  idp_request_params: textMap({
    doc: "Extra query parameters on the provider's authorization URL.",
    default: "- none",
  }),
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
  authorization_code_lifetime: duration({ doc: "Life of MCP authorization codes.", default: "60s", minMs: 5000 }),
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to upstreams.",
    default: "true",
  }),
  jwt_claims_headers: textMap({
    doc: "Extra identity headers: header name to claim. Sent empty when the user lacks the claim, so that nobody can forge them.",
    default: "- none",
    checkName: setRequestHeaderWish,
    checkValue: (claim) => (claim === "" ? "is empty, must be the name of a claim" : undefined),
  }),
  set_response_headers: textMap({
    doc: "Static response headers of all routes; a route's own `set_response_headers` take precedence.",
    default: "- none",
    ...responseHeaderMap,
  }),
  default_upstream_timeout: duration({
    doc: 'Default of the routes\' `timeout`; "0s" means no limit.',
    default: "30s",
  }),
};

export const settingsSchema = document({ ...bootShape, ...liveShape });
const bootSchema = document(bootShape);
const liveSchema = document(liveShape);

/** Boot settings as written. */
export type BootDoc = z.infer<typeof bootSchema>;
/** Live settings as written. */
export type SettingsDoc = z.infer<typeof liveSchema>;

export const bootNames: ReadonlySet<string> = new Set(Object.keys(bootShape));

/** Every setting beside the routes, boot first. */
export const settingsFields = [...fieldsOf(bootShape, "boot"), ...fieldsOf(liveShape, "live")];

/** Raw bytes of a shared secret; undefined when it is not base64 of at least 32 bytes. */
export function decodeSharedSecret(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim());
  return bytes !== undefined && bytes.length >= 32 ? bytes : undefined;
}

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}

function privateRedirectUri(value: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):[^#]+$/i.exec(value)?.[1]?.toLowerCase();
  // RFC 8252 §7.1: a private-use scheme is based on a domain name, so it has a period.
  if (scheme === undefined || hasUnsafeCharacter(value) || !scheme.includes(".")) {
    return `is ${quote(value)}, must be a URI with a private-use scheme such as "com.example.app:/callback"`;
  }
  return undefined;
}
