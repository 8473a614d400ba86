/** Who may use a route, beside its policy, and how they show who they are. Rules between them are in rules.ts. */
import { quotedProblem, parseErrorOf } from "../../settings/types/checks.ts";
import { parseDomainPattern } from "../../settings/domains.ts";
import { ACCESS } from "../../settings/groups.ts";
import { choice, flag } from "../../settings/types/scalar.ts";
import { domainPatternList, textList } from "../../settings/types/list.ts";
import { grouped, type ShapeDoc } from "../../settings/types/registry.ts";
import { policy } from "../../settings/types/policy.ts";
import { textListMap } from "../../settings/types/map.ts";

export const BEARER_TOKEN_FORMATS = ["default", "idp_access_token", "idp_identity_token", "jwt"] as const;

/** For all ordinary routes. */
export const bearerShape = {
  bearer_token_format: choice(BEARER_TOKEN_FORMATS, {
    doc: "What `Authorization: Bearer` may hold on ordinary routes. default: it is passed to the upstream unchanged. Otherwise an access token or ID token of the identity provider, which signs its user in for that request, or with `jwt` a token that a platform gives its jobs, pods and machines, by an issuer of `identity_issuers` with the use `workload`; it is taken away, and a bad one is answered 401. The gateway's own tokens are taken either way.",
    default: "default",
  }),
  idp_access_token_allowed_audiences: textList({
    doc: "Audiences of the identity provider's access tokens that ordinary routes take; one of them must be the token's.",
    unset: "`idp_client_id`",
    check: (value) => (value === "" ? "is empty, must be an audience" : undefined),
  }),
  programmatic_redirect_domain_whitelist: domainPatternList({
    doc: "Hosts to which a programmatic login may send its token, https unless they are this machine's. `*.example.com` matches subdomains, not `example.com`.",
    unset: "localhost, 127.0.0.1 and [::1]",
  }),
};

export const accessShape = {
  allow_public_unauthenticated_access: flag({
    doc: "Everybody may pass, signed in or not. The policy's deny rules still hold.",
    default: false,
    annotation: "allow_public_unauthenticated_access",
  }),
  allow_any_authenticated_user: flag({
    doc: "Everybody who is signed in may pass. The policy's deny rules still hold.",
    default: false,
    annotation: "allow_any_authenticated_user",
  }),
  ...grouped(ACCESS, {
    shadow_policy: policy({
      doc: "A candidate for `policy`: what it would say in its place, beside the same access keys, is recorded and counted, and never enforced.",
      unset: "there is no candidate",
      annotation: "shadow_policy",
    }),
    allowed_users: textList({
      doc: "E-mail addresses or user ids of those who may pass, in addition to those whom the policy allows. What has no @ is an id, and so is what begins with `issuer:` or `service-account:`.",
      unset: "only the policy allows",
      annotation: "allowed_users",
      check: (value) => (value === "" ? "is empty, must be an e-mail address or a user id" : undefined),
    }),
    allowed_domains: textList({
      doc: "Domains of e-mail addresses whose users may pass, in addition to those whom the policy allows. Without wildcards.",
      unset: "only the policy allows",
      annotation: "allowed_domains",
      check: (value) =>
        quotedProblem(
          value,
          value.includes("*") ? "must be a domain without wildcard" : parseErrorOf(() => parseDomainPattern(value)),
        ),
    }),
    allowed_idp_claims: textListMap({
      doc: "Map of claims to values: whoever has one of the values in one of the claims may pass, in addition to those whom the policy allows.",
      unset: "only the policy allows",
      annotation: "allowed_idp_claims",
    }),
    cors_allow_preflight: flag({
      doc: "CORS preflight requests (OPTIONS with Origin and Access-Control-Request-Method) reach the upstream without sign-in. Not on MCP server routes, where the gateway answers them.",
      default: false,
      annotation: "cors_allow_preflight",
    }),
    ...routeBearerShape(),
    show_error_details: flag({
      doc: "Pages and answers that deny access name the rules that decided and what they found of the user. Values that rules ask for are not shown. Not on MCP server routes.",
      default: false,
      annotation: "show_error_details",
    }),
  }),
};

/** The same two settings, for one route. */
function routeBearerShape() {
  return {
    bearer_token_format: choice(BEARER_TOKEN_FORMATS, {
      doc: "What `Authorization: Bearer` may hold on this route, in addition to the gateway's own tokens. Not on MCP routes.",
      unset: "the global `bearer_token_format`",
      annotation: "bearer_token_format",
    }),
    idp_access_token_allowed_audiences: textList({
      doc: "Audiences of the identity provider's access tokens that this route takes; one of them must be the token's.",
      unset: "the global `idp_access_token_allowed_audiences`",
      annotation: "idp_access_token_allowed_audiences",
      check: (value) => (value === "" ? "is empty, must be an audience" : undefined),
    }),
  };
}

export const policyShape = {
  policy: policy({
    doc: "Who may pass: `allow` and `deny` blocks of `and`, `or`, `not` and `nor` lists of criteria. Deny wins. An `approve` block asks that somebody approves a tool call that would pass otherwise: its user, or with `approvers` (a list of groups beside it) somebody else of one of them; it needs `authenticate_service_url`. Rules beside `shadow: true` are not in force: what they would change is recorded.",
    unset: "everything is denied",
    annotation: "policy",
  }),
};

/** What of a route is about who may pass. */
export type AccessDoc = ShapeDoc<typeof policyShape & typeof accessShape>;
