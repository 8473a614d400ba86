/** Settings of sign-in: the identity provider, the pages and their host, the session cookie. */
import { quote } from "../../settings/problem.ts";
import { parseSupportUrl } from "./support-url.ts";
import { parseHttpUrl, parseOrigin } from "../../settings/values.ts";
import { checkScope } from "../../settings/types/checks.ts";
import { choice, duration, flag, text, url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { textList } from "../../settings/types/list.ts";
import { textMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";

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
  idp_client_id: text({ doc: "Client identifier at the identity provider.", unset: "nobody can sign in" }),
  ...secret("idp_client_secret", { doc: "Client secret at the identity provider.", unset: "a public client" }),
  idp_scopes: textList({
    doc: "Scopes requested at sign-in, exactly these. Without `offline_access` most providers give no refresh token; Google knows it not and wants `access_type: offline` and `prompt: consent` among `idp_request_params` instead. Ready settings of common providers: examples/identity-providers.",
    unset: "`openid, profile, email; and offline_access, unless the provider's metadata lists scopes without it`",
    check: checkScope,
  }),
  idp_groups_claim: text({ doc: "Claim that carries the user's groups.", default: "groups" }),
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
  cookie_same_site: choice(["lax", "strict", "none"], {
    doc: "SameSite attribute of the session cookie.",
    default: "lax",
  }),
};

/** What may be written about sign-in. */
export type SignInDoc = ShapeDoc<typeof signInShape & typeof cookieShape>;
