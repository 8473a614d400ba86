/**
 * `mcp.server.upstream_oauth2`: how to obtain tokens for an upstream, for which identity and where.
 *
 * Four ways: users connect their accounts (the default), or one of `id_jag`, `workload` and `client_credentials`. For
 * rules between them, see rules.ts.
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
    doc: "Client authentication at the token endpoint: HTTP Basic or form fields.",
    unset: "`header`, or according to the upstream's metadata",
    annotation: "mcp_server_upstream_oauth2_auth_style",
  }),
};

const idJagShape = {
  scopes: textList({
    doc: "Scopes to request from the identity provider. Must include `upstream_oauth2.scopes`.",
    unset: "`upstream_oauth2.scopes`",
    annotation: "mcp_server_upstream_oauth2_id_jag_scopes",
    check: checkScope,
  }),
};

const workloadShape = {
  ...secret("assertion", {
    doc: "Platform token (JWT) of the gateway for the upstream's authorization server. Usually a file that the platform renews.",
    unset: "required, in one of its forms",
  }),
};

export const upstreamOAuthShape = {
  client_id: text({
    doc: "OAuth client ID at the upstream.",
    unset: "dynamic registration",
    check: notEmpty("a client identifier"),
  }),
  ...secret("client_secret", {
    doc: "OAuth client secret.",
    unset: "none (public client)",
  }),
  ...secret("client_key", {
    doc: "Private key (PKCS #8 in PEM) for `private_key_jwt`, instead of a client secret: EC (P-256, P-384), RSA or Ed25519.",
    unset: "`client_secret`, or none (public client)",
  }),
  endpoint: block(endpointShape, {
    doc: "Upstream OAuth endpoints.",
    unset: "discovered (RFC 9728)",
  }),
  scopes: textList({
    doc: "Scopes to request from the upstream.",
    unset: "those in the upstream's metadata",
    annotation: "mcp_server_upstream_oauth2_scopes",
    check: checkScope,
  }),
  authorization_url_params: textMap({
    doc: "More query parameters of the authorization URL, such as `access_type: offline`.",
    unset: "none",
    annotation: "mcp_server_upstream_oauth2_authorization_url_params",
    checkName: (name) => (PROTOCOL_PARAMETERS.has(name) ? "is set by the gateway itself" : undefined),
  }),
  resource: text({
    doc: "Resource identifier (RFC 8707) in token requests with `workload` and `client_credentials`.",
    unset: "that of the upstream's metadata; with `endpoint` the upstream's address",
    annotation: "mcp_server_upstream_oauth2_resource",
    check: notEmpty("a resource identifier"),
  }),
  send_resource: flag({
    doc: "Send `resource` (RFC 8707) to the upstream's authorization server. Disable it for servers that reject it, such as Entra ID.",
    default: true,
    annotation: "mcp_server_upstream_oauth2_send_resource",
  }),
  id_jag: block(idJagShape, {
    doc: "Enterprise-managed authorization: the identity provider decides who can use the upstream, without account connections.",
    unset: "none",
    annotation: "mcp_server_upstream_oauth2_id_jag",
  }),
  workload: block(workloadShape, {
    doc: "Workload identity: the gateway presents a token of its platform. All users of the route share the resulting access.",
    unset: "none",
  }),
  client_credentials: flag({
    doc: "Client credentials: the gateway gets tokens as `client_id`. All users of the route share this access.",
    default: false,
    annotation: "mcp_server_upstream_oauth2_client_credentials",
  }),
};

/** Setting one of these externally would break or redirect the flow. @see RFC 6749 §4.1.1, RFC 7636 §4.3 */
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
