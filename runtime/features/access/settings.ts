/**
 * Access settings of a route other than its policy, and settings for caller authentication. For rules between them, see
 * rules.ts.
 */
import { quotedProblem, parseErrorOf } from "../../settings/types/checks.ts";
import { parseDomainPattern } from "../../settings/domains.ts";
import { ACCESS } from "../../settings/groups.ts";
import { choice, flag } from "../../settings/types/scalar.ts";
import { domainPatternList, textList } from "../../settings/types/list.ts";
import { grouped, type ShapeDoc } from "../../settings/types/registry.ts";
import { policy } from "../../settings/types/policy.ts";
import { textListMap } from "../../settings/types/map.ts";

export const BEARER_TOKEN_FORMATS = ["default", "idp_access_token", "idp_identity_token", "jwt"] as const;

/** Setting for all ordinary routes. */
export const bearerShape = {
  bearer_token_format: choice(BEARER_TOKEN_FORMATS, {
    doc: "Tokens accepted in `Authorization: Bearer` besides the gateway's own: none, tokens of the identity provider, or of workloads (`jwt`).",
    default: "default",
  }),
  idp_access_token_allowed_audiences: textList({
    doc: "Accepted audiences of the identity provider's access tokens. One must match.",
    unset: "`idp_client_id`",
    check: (value) => (value === "" ? "is empty, must be an audience" : undefined),
  }),
  programmatic_redirect_domain_whitelist: domainPatternList({
    doc: "Hosts that may receive the token of a programmatic login. HTTPS is required, except on loopback.",
    unset: "localhost, 127.0.0.1 and [::1]",
  }),
};

export const accessShape = {
  allow_public_unauthenticated_access: flag({
    doc: "Allow all requests, also without sign-in. Deny rules still apply.",
    default: false,
    annotation: "allow_public_unauthenticated_access",
  }),
  allow_any_authenticated_user: flag({
    doc: "Allow all signed-in users. Deny rules still apply.",
    default: false,
    annotation: "allow_any_authenticated_user",
  }),
  ...grouped(ACCESS, {
    shadow_policy: policy({
      doc: "Policy whose result instead of `policy` is recorded and counted, and never enforced.",
      unset: "none",
      annotation: "shadow_policy",
    }),
    allowed_users: textList({
      doc: "Email addresses or user IDs to allow, in addition to the policy.",
      unset: "none",
      annotation: "allowed_users",
      check: (value) => (value === "" ? "is empty, must be an email address or a user ID" : undefined),
    }),
    allowed_domains: textList({
      doc: "Email domains to allow, in addition to the policy. No wildcards.",
      unset: "none",
      annotation: "allowed_domains",
      check: (value) =>
        quotedProblem(
          value,
          value.includes("*") ? "must be a domain without wildcard" : parseErrorOf(() => parseDomainPattern(value)),
        ),
    }),
    allowed_idp_claims: textListMap({
      doc: "Claims to allow, in addition to the policy: claim name to values. One value of one claim must match.",
      unset: "none",
      annotation: "allowed_idp_claims",
    }),
    cors_allow_preflight: flag({
      doc: "Forward CORS preflight requests without sign-in. Not on MCP server routes, where the gateway responds to them.",
      default: false,
      annotation: "cors_allow_preflight",
    }),
    ...routeBearerShape(),
    show_error_details: flag({
      doc: "Show the rules that denied access, and which user attributes they found, in responses. Not on MCP server routes.",
      default: false,
      annotation: "show_error_details",
    }),
  }),
};

/** The same two settings for one route. */
function routeBearerShape() {
  return {
    bearer_token_format: choice(BEARER_TOKEN_FORMATS, {
      doc: "Tokens accepted in `Authorization: Bearer` on this route, in addition to the gateway's own. Not on MCP routes.",
      unset: "the global `bearer_token_format`",
      annotation: "bearer_token_format",
    }),
    idp_access_token_allowed_audiences: textList({
      doc: "Accepted audiences of the identity provider's access tokens on this route. One must match.",
      unset: "the global `idp_access_token_allowed_audiences`",
      annotation: "idp_access_token_allowed_audiences",
      check: (value) => (value === "" ? "is empty, must be an audience" : undefined),
    }),
  };
}

export const policyShape = {
  policy: policy({
    doc: "Access rules: `allow`, `deny` and `approve` blocks of criteria. Without a matching allow rule, requests are denied.",
    unset: "none",
    annotation: "policy",
  }),
};

/** Access settings of a route. */
export type AccessDoc = ShapeDoc<typeof policyShape & typeof accessShape>;
