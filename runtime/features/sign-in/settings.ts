/** Settings of sign-in: the identity provider, the pages and their host, the session cookie. */
import { quote } from "../../settings/problem.ts";
import {
  overTlsOrLoopback,
  parseHttpUrl,
  parseOrigin,
  type Reading,
  hasUnsafeCharacter,
} from "../../settings/values.ts";
import { checkScope } from "../../settings/types/checks.ts";
import { choice, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { textList } from "../../settings/types/list.ts";
import { block } from "../../settings/types/block.ts";
import { textMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { canonicalHost } from "../../settings/domains.ts";

/** Destination of a client secret, which the network must not read. */
const safeOrigin = (value: string): Reading<URL> => overTlsOrLoopback(parseOrigin(value));

/** An ID of Entra: a tenant's, a user's, a group's. */
export const isEntraId = (value: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);

/** @param what expected value, such as "a client identifier" */
export const notEmpty =
  (what: string) =>
  (value: string): string | undefined =>
    value === "" ? `is empty, must be ${what}` : undefined;

export const entraShape = {
  tenant: text({
    doc: "Directory (tenant) ID.",
    required: true,
    check: (value) => (isEntraId(value) ? undefined : `is ${quote(value)}, must be the tenant's id, a GUID`),
  }),
  client_id: text({
    doc: "Application (client) ID with the permissions `User.Read.All` and `GroupMember.Read.All` of Microsoft Graph and admin consent.",
    required: true,
    check: notEmpty("a client identifier"),
  }),
  ...secret("client_secret", {
    doc: "Client secret of that application.",
    unset: "required, in one of its forms",
  }),
  security_enabled_only: flag({
    doc: "Security groups only. With `false` also distribution groups, administrative units and directory roles.",
    default: true,
  }),
  login_url: url({
    doc: "Token service origin of a sovereign cloud. Requires `graph_url`.",
    default: "https://login.microsoftonline.com",
    read: safeOrigin,
  }),
  graph_url: url({
    doc: "Microsoft Graph origin of a sovereign cloud. Requires `login_url`.",
    default: "https://graph.microsoft.com",
    read: safeOrigin,
  }),
};

/** Source for groups that a provider omits. */
const resolverShape = {
  entra: block(entraShape, {
    doc: "Microsoft Graph (`getMemberObjects`), queried at sign-in and each refresh.",
    required: true,
  }),
};

/** Authentication of the gateway at an identity provider. */
export const CLIENT_KEY = {
  doc: "Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA of at least 2048 bits, or Ed25519.",
  unset: "client secret, or none (public client)",
};
export const CLIENT_SECRET = { doc: "Client secret at the identity provider.", unset: "none (public client)" } as const;

export const signInShape = {
  authenticate_service_url: url({
    doc: "Origin of the sign-in, consent and user pages; its host serves no routes. Without it, scripts of upstreams could consent for users.",
    unset: "each route's own host",
    read: parseOrigin,
  }),
  signout_redirect_url: url({
    doc: "URL to open after sign-out.",
    unset: "the signed-out page",
    read: parseHttpUrl,
  }),
  support_url: url({
    doc: "Help page (`https://`) or address (`mailto:`), linked on error pages.",
    unset: "none",
    read: parseSupportUrl,
  }),
  idp_provider_url: url({
    doc: "Issuer URL of the OpenID Connect identity provider; its claim `sub` is the user ID. Without it, users sign in with `identity_issuers` only.",
    unset: "none",
    read: parseHttpUrl,
  }),
  idp_label: text({
    doc: "Provider name on the page where users select one, if `identity_issuers` has others.",
    unset: "host of `idp_provider_url`",
    check: notEmpty("a name for people"),
  }),
  idp_client_id: text({ doc: "Client ID at the identity provider.", unset: "required with `idp_provider_url`" }),
  ...secret("idp_client_secret", CLIENT_SECRET),
  ...secret("idp_client_key", CLIENT_KEY),
  idp_client_key_id: text({
    doc: "Key ID (`kid`) of the private key. Required if the provider has several public keys of the gateway.",
    unset: "none",
    check: notEmpty("a key ID"),
  }),
  idp_client_auth: choice(["client_secret_basic", "client_secret_post", "client_secret_jwt"], {
    doc: "Client secret authentication method. Required if the provider accepts only one for this client.",
    unset: "first supported method in the provider's metadata",
  }),
  idp_client_proof_audience: choice(["issuer", "token_endpoint"], {
    doc: "Audience of the signed client assertion: the provider's issuer or its token endpoint.",
    default: "issuer",
  }),
  idp_push_requests: flag({
    doc: "Push authorization requests (RFC 9126), even if the provider's metadata does not require it.",
    default: false,
  }),
  idp_scopes: textList({
    doc: "Exact scopes to request at sign-in. Without `offline_access` most providers issue no refresh token.",
    unset: "`openid, profile, email`, and `offline_access` unless the provider's metadata lists scopes without it",
    check: checkScope,
  }),
  idp_groups_claim: text({
    doc: 'Claim with the user\'s groups: a name, or a path with dots. Quote names that contain dots: `access."my.client".roles`.',
    default: "groups",
  }),
  idp_groups_resolver: block(resolverShape, {
    doc: "Source for groups that the provider omits because there are too many (Entra: more than 200).",
    unset: "none",
  }),
  idp_require_email_verified: flag({
    doc: "Use an email address only if the provider verified it. Otherwise only addresses marked as unverified are ignored.",
    default: false,
  }),
  idp_request_params: textMap({
    doc: "Additional query parameters of the provider's authorization URL, such as `access_type: offline`.",
    unset: "none",
  }),
};

export const cookieShape = {
  cookie_name: text({
    doc: "Session cookie name. `__Host-` is added with HTTPS.",
    default: "gateway_session",
    check: (value) =>
      /^[A-Za-z0-9_-]{1,64}$/.test(value) && !/^__(host|secure)-/i.test(value)
        ? undefined
        : `is ${quote(value)}, must be letters, digits, "-" and "_" without the "__Host-" prefix`,
  }),
  cookie_expiration: duration({ doc: "Maximum lifetime of a browser session.", default: "14h", minMs: 60_000 }),
  unconfirmed_user_limit: duration({
    doc: "Maximum time for which a user keeps access if the identity provider does not confirm the user but confirms others.",
    default: "1h",
    minMs: 60_000,
  }),
  cookie_same_site: choice(["lax", "strict", "none"], {
    doc: "SameSite attribute of the session cookie.",
    default: "lax",
  }),
};

/** Sign-in settings as written. */
export type SignInDoc = ShapeDoc<typeof signInShape & typeof cookieShape>;

/** One address, with an optional start of the message: `mailto:help@example.com?subject=Gateway`. */
const MAILTO = /^mailto:[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+@([A-Za-z0-9.-]+)(?:\?[^#?"<>]*)?$/;

/** Any user may click it, so it must be nothing that a browser would run, and no page that the network could change. */
export function parseSupportUrl(text: string): Reading<URL> {
  const problem = 'must start with https://, or be an address such as "mailto:help@example.com"';
  if (/^https:\/\//i.test(text)) return parseHttpUrl(text);
  const host = MAILTO.exec(text)?.[1];
  if (host === undefined || canonicalHost(host) === undefined || hasUnsafeCharacter(text))
    return { ok: false, problem };
  const url = URL.parse(text);
  return url === null ? { ok: false, problem } : { ok: true, value: url };
}
