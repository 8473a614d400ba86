/** Changed settings that affect access but are not part of the comparison of rules. */
import { canonicalJson } from "../../shared/canonical-json.ts";
import type { CheckedConfig } from "../load.ts";

const SETTINGS = [
  "idp_provider_url",
  "idp_client_id",
  "idp_scopes",
  "idp_groups_claim",
  "idp_groups_resolver",
  "idp_require_email_verified",
  "idp_request_params",
  "identity_issuers",
  "bearer_token_format",
  "idp_access_token_allowed_audiences",
  "jwt_claims_headers",
  "mcp_catalog",
  "mcp_dynamic_registration",
  "mcp_allowed_client_id_domains",
  "mcp_allowed_as_metadata_domains",
  "mcp_allowed_origins",
  "mcp_allowed_private_redirect_uris",
  "programmatic_redirect_domain_whitelist",
] as const;
const BOOT = [
  "downstream_mtls",
  "owners",
  "use_proxy_protocol",
  "xff_num_trusted_hops",
  "trusted_proxy_headers",
] as const;
const OF_ROUTES = [
  "bearer_token_format",
  "idp_access_token_allowed_audiences",
  "allow_websockets",
  "mcp",
  "rate_limits",
] as const;

type Members = Readonly<Record<string, unknown>>;

/** @returns "the setting identity_issuers", for messages */
export function settingGaps(before: Compared, after: Compared): readonly string[] {
  const changed = (names: readonly string[], one: Members, other: Members): readonly string[] =>
    names.filter((name) => canonicalJson(one[name] ?? null) !== canonicalJson(other[name] ?? null));
  const old = new Map(before.routes.map((route) => [route.key, route]));
  return [
    ...[...changed(SETTINGS, before.settings, after.settings), ...changed(BOOT, before.boot, after.boot)].map(
      (name) => `the effect of the change of ${name} for user identities and sign-in`,
    ),
    ...after.routes.flatMap(({ key, doc }) => {
      const was = old.get(key);
      const names = was ? changed(OF_ROUTES, withoutCompared(was.doc), withoutCompared(doc)) : [];
      return names.map((name) => `${key}: the effect of the change of ${name}`);
    }),
  ];
}

/** The effect of labels is the change of `members`; history rules are compared in words. */
function withoutCompared(doc: CheckedConfig["routes"][number]["doc"]): Members {
  if (!doc.mcp?.server) return doc;
  const server = Object.entries(doc.mcp.server).filter(([name]) => !COMPARED.has(name));
  return { ...doc, mcp: { server: Object.fromEntries(server) } };
}

const COMPARED = new Set(["history_rules", "labels", "members_by_label", "member_prefix"]);

type Compared = Pick<CheckedConfig, "boot" | "settings"> & {
  readonly routes: readonly Pick<CheckedConfig["routes"][number], "key" | "doc">[];
};
