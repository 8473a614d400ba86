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

/** Where a client secret is sent: nobody on the way may read it. */
const safeOrigin = (value: string): Reading<URL> => overTlsOrLoopback(parseOrigin(value));

/** An id of Entra: a tenant's, a user's, a group's. */
export const isEntraId = (value: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);

/** @param what "a client identifier" */
export const notEmpty =
  (what: string) =>
  (value: string): string | undefined =>
    value === "" ? `is empty, must be ${what}` : undefined;

export const entraShape = {
  tenant: text({
    doc: "Id of the directory (tenant). Users of another one are not asked about.",
    required: true,
    check: (value) => (isEntraId(value) ? undefined : `is ${quote(value)}, must be the tenant's id, a GUID`),
  }),
  client_id: text({
    doc: "Application (client) id of the app registration that asks. It has the application permissions `User.Read.All` and `GroupMember.Read.All` of Microsoft Graph, with an administrator's consent.",
    required: true,
    check: notEmpty("a client identifier"),
  }),
  ...secret("client_secret", {
    doc: "Client secret of that app registration.",
    unset: "required, in one of its spellings",
  }),
  security_enabled_only: flag({
    doc: "Security groups alone, as `groups` has them where the app registration says so. With `false` distribution groups, administrative units and directory roles too.",
    default: true,
  }),
  login_url: url({
    doc: "Origin of the token service in a sovereign cloud, such as `https://login.microsoftonline.us`. With `graph_url`.",
    default: "https://login.microsoftonline.com",
    read: safeOrigin,
  }),
  graph_url: url({
    doc: "Origin of Microsoft Graph in a sovereign cloud, such as `https://graph.microsoft.us`. With `login_url`.",
    default: "https://graph.microsoft.com",
    read: safeOrigin,
  }),
};

/** Who is asked for groups that a provider leaves out. */
export const resolverShape = {
  entra: block(entraShape, {
    doc: "Asks Microsoft Graph (`getMemberObjects`) at sign-in and at each refresh. The address in the token is never asked.",
    required: true,
  }),
};

/** How the gateway proves who it is at an identity provider. */
export const CLIENT_KEY = {
  doc: "Private key with which the gateway signs a proof that it is the client (`private_key_jwt`), instead of a client secret: PKCS #8 in PEM. EC keys (P-256, P-384), RSA of 2048 bits or more, and Ed25519. Register the public key at the provider.",
  unset: "a client secret, or a public client",
};
export const PUSH_REQUESTS = {
  doc: 'Push authorization requests to the provider (RFC 9126), also where its metadata do not require it. Required if the provider requires it of this client only (Keycloak: "Pushed authorization request required").',
  default: false,
} as const;
export const clientAuth = () =>
  choice(["client_secret_basic", "client_secret_post", "client_secret_jwt"], {
    doc: "How the client secret proves the gateway. With `client_secret_jwt` the secret signs a proof and is never sent. Required if the provider lists several methods and accepts one of them for this client (Keycloak: the credential type of the client).",
    unset: "the first of these that the provider's metadata lists",
  });

/** The `kid` of the proof. */
export const KEY_ID = {
  doc: "Key ID (`kid`) in the header of the proof that the private key signs. Required if the provider has several public keys of the gateway, as while the key is replaced: Keycloak and Ory Hydra otherwise try only the first one.",
  unset: "the header names no key",
} as const;
/** The `aud` of the proof. */
export const proofAudience = () =>
  choice(["issuer", "token_endpoint"], {
    doc: "Audience of the proof that the gateway signs with its private key or, with `client_secret_jwt`, its secret: the provider's issuer, or the address of its token endpoint, which must have the issuer's origin. Ory Hydra and Canaille require `token_endpoint`.",
    default: "issuer",
  });

export const signInShape = {
  authenticate_service_url: url({
    doc: "Origin of the sign-in, consent and user pages; its host serves no route. Without it these pages share the origin of what their host serves: browsers keep most scripts there from reading and answering them, but not all, so that a service worker for example could consent for its user.",
    unset: "each route's own host",
    read: parseOrigin,
  }),
  signout_redirect_url: url({
    doc: "Where browsers go after signing out.",
    unset: "the signed-out page",
    read: parseHttpUrl,
  }),
  support_url: url({
    doc: "Where people get help: an `https://` page or a `mailto:` address. Error pages show it as a link, next to the request ID.",
    unset: "none",
    read: parseSupportUrl,
  }),
  idp_provider_url: url({
    doc: "Issuer URL of the OpenID Connect identity provider. Its claim `sub` is the user's id, byte for byte; nobody signs in whose `sub` begins with `issuer:` or `service-account:`, which stand for other users.",
    unset: "nobody can sign in",
    read: parseHttpUrl,
  }),
  idp_label: text({
    doc: "What the page calls it on which people choose where to sign in, when `identity_issuers` has providers too.",
    unset: "the host of `idp_provider_url`",
    check: notEmpty("a name for people"),
  }),
  idp_client_id: text({ doc: "Client identifier at the identity provider.", unset: "nobody can sign in" }),
  ...secret("idp_client_secret", { doc: "Client secret at the identity provider.", unset: "a public client" }),
  ...secret("idp_client_key", CLIENT_KEY),
  idp_client_key_id: text({ ...KEY_ID, check: notEmpty("a key ID") }),
  idp_client_auth: clientAuth(),
  idp_client_proof_audience: proofAudience(),
  idp_push_requests: flag(PUSH_REQUESTS),
  idp_scopes: textList({
    doc: "Scopes requested at sign-in, exactly these. Without `offline_access` most providers give no refresh token; Google knows it not and wants `access_type: offline` and `prompt: consent` among `idp_request_params` instead. Ready settings of common providers: examples/identity-providers.",
    unset: "`openid, profile, email; and offline_access, unless the provider's metadata lists scopes without it`",
    check: checkScope,
  }),
  idp_groups_claim: text({
    doc: 'Claim that carries the user\'s groups: its name, or a path with dots. Names with dots are in quotes in a path: `access."my.client".roles`.',
    default: "groups",
  }),
  idp_groups_resolver: block(resolverShape, {
    doc: "Who is asked for the groups of users for whom the provider leaves them out because there are too many (Entra: more than 200). Without an answer they are unknown: rules that ask for groups then do not decide, so that a route with such an allow or deny rule refuses, and upstreams are told no groups; it is asked again within about a minute of use. Groups that were asked for count for the criterion `groups`; `claim/groups` stays unknown, and the signed identity header has them up to 8 KiB.",
    unset: "groups that the provider leaves out are unknown",
  }),
  idp_require_email_verified: flag({
    doc: "Count an e-mail address only when the provider says that it is verified (`email_verified: true`). Without it an address that the provider is silent about counts; one that it calls unverified never does.",
    default: false,
  }),
  idp_request_params: textMap({
    doc: "Extra query parameters on the provider's authorization URL, such as `access_type: offline` and `prompt: consent` for refresh tokens of Google.",
    unset: "none",
  }),
};

export const cookieShape = {
  cookie_name: text({
    doc: "Name of the session cookie; `__Host-` is added on HTTPS.",
    default: "gateway_session",
    check: (value) =>
      /^[A-Za-z0-9_-]{1,64}$/.test(value) && !/^__(host|secure)-/i.test(value)
        ? undefined
        : `is ${quote(value)}, must be letters, digits, "-" and "_" without the "__Host-" prefix`,
  }),
  cookie_expiration: duration({ doc: "Longest life of a browser session.", default: "14h", minMs: 60_000 }),
  unconfirmed_user_limit: duration({
    doc: "Longest time for which a user keeps access although the identity provider gives no usable response about the user, while it confirms other users. Then the user's sessions and grants end. While the provider confirms no user, this does not apply.",
    default: "1h",
    minMs: 60_000,
  }),
  cookie_same_site: choice(["lax", "strict", "none"], {
    doc: "SameSite attribute of the session cookie.",
    default: "lax",
  }),
};

/** What may be written about sign-in. */
export type SignInDoc = ShapeDoc<typeof signInShape & typeof cookieShape>;

/** One address, and perhaps what the message begins with: `mailto:help@example.com?subject=Gateway`. */
const MAILTO = /^mailto:[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+@([A-Za-z0-9.-]+)(?:\?[^#?"<>]*)?$/;

/** Everybody may click it, so it is nothing that a browser would run, and no page that others could change on its way. */
export function parseSupportUrl(text: string): Reading<URL> {
  const problem = 'must begin with https://, or be an address such as "mailto:help@example.com"';
  if (/^https:\/\//i.test(text)) return parseHttpUrl(text);
  const host = MAILTO.exec(text)?.[1];
  if (host === undefined || canonicalHost(host) === undefined || hasUnsafeCharacter(text))
    return { ok: false, problem };
  const url = URL.parse(text);
  return url === null ? { ok: false, problem } : { ok: true, value: url };
}
