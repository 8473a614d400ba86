/**
 * `mcp.server.upstream_oauth2`: how tokens for an upstream are got, as whom and where.
 *
 * Four ways: users connect their accounts (the usual one), or one of `id_jag`, `workload` and
 * `client_credentials`. Rules between them are in rules.ts.
 */
import { parseHttpUrl } from "../../settings/values.ts";
import { checkScope } from "../../settings/types/checks.ts";
import { block } from "../../settings/types/block.ts";
import { choice, flag, text, url } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import { secret } from "../../settings/types/secret.ts";
import { textMap } from "../../settings/types/map.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";

const notEmpty =
  (what: string) =>
  (value: string): string | undefined =>
    value === "" ? `is empty, must be ${what}` : undefined;

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
    unset: "`header`, or what the upstream's metadata says",
    annotation: "mcp_server_upstream_oauth2_auth_style",
  }),
};

const idJagShape = {
  scopes: textList({
    doc: "Scopes asked of the identity provider. `upstream_oauth2.scopes`, which the upstream is asked for, must be among them.",
    unset: "`upstream_oauth2.scopes`",
    annotation: "mcp_server_upstream_oauth2_id_jag_scopes",
    check: checkScope,
  }),
};

const workloadShape = {
  ...secret("assertion", {
    doc: "The platform's token (a JWT) about the gateway, whose audience is the upstream's authorization server (its issuer or token endpoint; compared unless `endpoint` is set). Usually a file that the platform renews, such as a projected token of a Kubernetes service account: `assertion_ref: file:/var/run/secrets/tokens/upstream`, which is read again whenever it changes.",
    unset: "required, in one of its spellings",
  }),
};

export const upstreamOAuthShape = {
  client_id: text({
    doc: "OAuth client identifier for the upstream service.",
    unset: "the gateway registers itself",
    check: notEmpty("a client identifier"),
  }),
  ...secret("client_secret", {
    doc: "OAuth client secret. Never stored per user; read from the route at each token refresh.",
    unset: "a public client",
  }),
  ...secret("client_key", {
    doc: "Private key with which the gateway signs what proves it to be `client_id` (`private_key_jwt`), instead of a client secret: PKCS #8 in PEM. EC keys (P-256, P-384), RSA and Ed25519; the upstream's authorization server has the public key.",
    unset: "`client_secret`, or a public client",
  }),
  endpoint: block(endpointShape, {
    doc: "Upstream OAuth endpoints.",
    unset: "discovered through RFC 9728 metadata",
  }),
  scopes: textList({
    doc: "Scopes requested from the upstream.",
    unset: "what the upstream's metadata names",
    annotation: "mcp_server_upstream_oauth2_scopes",
    check: checkScope,
  }),
  authorization_url_params: textMap({
    doc: "Extra query parameters on the authorization URL, for example to request offline access.",
    unset: "none",
    annotation: "mcp_server_upstream_oauth2_authorization_url_params",
    checkName: (name) => (PROTOCOL_PARAMETERS.has(name) ? "is set by the gateway itself" : undefined),
  }),
  resource: text({
    doc: "Resource identifier of the upstream (`resource` of RFC 8707) in requests for tokens with `workload` and `client_credentials`.",
    unset: "as the upstream's metadata has it; with `endpoint` the upstream's own address",
    annotation: "mcp_server_upstream_oauth2_resource",
    check: notEmpty("a resource identifier"),
  }),
  send_resource: flag({
    doc: "Whether requests to the upstream's authorization server have `resource` (RFC 8707). `false` for a server that refuses it, such as Microsoft Entra ID (`AADSTS9010010`): the scopes alone then say what a token is for. With `id_jag` the identity provider is asked with it all the same.",
    default: true,
    annotation: "mcp_server_upstream_oauth2_send_resource",
  }),
  id_jag: block(idJagShape, {
    doc: "Enterprise-managed authorization: the identity provider decides who may use the upstream, and users connect nothing. The ID token of the user's sign-in is exchanged at the identity provider that gave it for an assertion (ID-JAG), which the upstream's authorization server takes from the gateway as `client_id`. That server and the resource are always discovered, so that an assertion gets to the server that it is for, and what it opens to this upstream. Service accounts, and users known from an assertion alone, have no ID token: they get 403.",
    unset: "users connect their accounts",
    annotation: "mcp_server_upstream_oauth2_id_jag",
  }),
  workload: block(workloadShape, {
    doc: "Workload identity: the gateway shows a token of its own platform to the upstream's authorization server, and all users of the route have the access that it gets for it. Policy alone tells them apart.",
    unset: "users connect their accounts",
  }),
  client_credentials: flag({
    doc: "Client credentials: the gateway gets tokens as `client_id` itself, and all users of the route have the access of this client. Policy alone tells them apart.",
    default: false,
    annotation: "mcp_server_upstream_oauth2_client_credentials",
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

export type UpstreamOAuthDoc = ShapeDoc<typeof upstreamOAuthShape>;
