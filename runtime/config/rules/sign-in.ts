/**
 * Addresses at which users can sign in: only https, and hosts of this machine. Otherwise the network could read or
 * plant a cookie, and identity/sign-in/sign-in.ts rejects the sign-in. A valid configuration must not depend on what is
 * rejected at run time.
 */
import { type BootDoc, type SettingsDoc } from "../settings.ts";
import { criteriaIn } from "../../features/access/rules.ts";
import { routePolicy } from "../../policy/access-keys.ts";
import { compilePolicy } from "../../policy/evaluate.ts";
import type { StringMatch } from "../../policy/match.ts";
import { isList, type PolicyDoc } from "../../policy/parse.ts";
import { hasProvider } from "../../features/sign-in/issuer-sign-in.ts";
import { errorAt, quote, warningAt, type Report } from "../../settings/problem.ts";
import { FIRST_PROVIDER } from "../../shared/user-id.ts";
import type { ReadRoute } from "../read-slice.ts";
import { hasSecret } from "../../settings/secret-forms.ts";
import { accepted, isTlsOrLoopback, parseOrigin } from "../../settings/values.ts";

const PLAIN_HTTP_PROBLEM =
  "starts with http://, where users cannot sign in: must start with https:// or name a loopback host";

/**
 * Whether the identity provider may use http, see identity/provider/idp-discovery.ts: only the main configuration file
 * decides.
 */
export function acceptsHttpProvider(boot: BootDoc | undefined): boolean {
  return boot === undefined || boot.development === true;
}

/** Problem of the address at which users sign in, consent and manage their sessions. */
export function authenticateServiceProblem({ authenticate_service_url: text }: SettingsDoc): string | undefined {
  return text !== undefined && !isTlsOrLoopback(accepted(parseOrigin(text))) ? PLAIN_HTTP_PROBLEM : undefined;
}

/** Reports a route that requires sign-in at an address where sign-in is not possible. */
export function signInRules(route: ReadRoute, settings: SettingsDoc, report: Report): void {
  const { from, doc } = route;
  if (!from || !doc || isTlsOrLoopback({ protocol: `${from.scheme}:`, hostname: from.hostname })) return;
  // MCP clients present tokens, and their users sign in on the authenticate host.
  if (doc.mcp?.server && settings.authenticate_service_url !== undefined) return;
  // So do programs that present the provider's tokens.
  const format = doc.bearer_token_format ?? settings.bearer_token_format ?? "default";
  if (!doc.mcp && format !== "default") return;
  const { allow, mayAllowAnonymous } = compilePolicy(routePolicy(doc));
  // A route that allows no request has a separate warning.
  if (allow.length === 0 || mayAllowAnonymous) return;
  report(errorAt(["from"], `${PLAIN_HTTP_PROBLEM}, or the route must be public`));
}

/**
 * Routes that exchange users' ID tokens at the identity provider require a provider with a client of this gateway that
 * renews the tokens.
 */
export function idJagRules({ valid }: ReadRoute, settings: SettingsDoc, report: Report): void {
  if (!valid.mcp?.server?.upstream_oauth2?.id_jag) return;
  const path = ["mcp", "server", "upstream_oauth2", "id_jag"];
  if (!hasProvider(settings)) {
    report(
      errorAt(path, 'requires "idp_provider_url", or an issuer with the use "sign_in", which exchanges ID tokens'),
    );
    return;
  }
  if (settings.idp_provider_url === undefined) return;
  if (!hasSecret(settings, "idp_client_secret") && !hasSecret(settings, "idp_client_key"))
    report(
      warningAt(
        path,
        'requires "idp_client_secret" or "idp_client_key" at most providers, which exchange tokens only for authenticated clients',
      ),
    );
  // Google uses this parameter instead of the scope.
  const isOffline = settings.idp_request_params?.["access_type"] === "offline";
  if (settings.idp_scopes && !settings.idp_scopes.includes("offline_access") && !isOffline)
    report(
      warningAt(
        path,
        'works only until a user\'s ID token expires: "idp_scopes" lacks "offline_access", which renews it',
      ),
    );
}

/**
 * Reports a policy that names a provider without users: an allow rule then allows no user, a deny rule denies none, and
 * no call requires an approval.
 */
export function providerNameRules(
  { doc, criteria }: ReadRoute,
  { identity_issuers: issuers = {} }: SettingsDoc,
  report: Report,
): void {
  // Few policies name providers: do not compile the others for this.
  if (!doc || criteriaIn(criteria, (name) => name === "idp").length === 0) return;
  const known = [FIRST_PROVIDER, ...Object.keys(issuers)];
  for (const name of ["policy", "shadow_policy"] as const) {
    const policy = doc[name];
    if (policy === undefined) continue;
    for (const provider of providersIn(policy)) {
      // "" represents workloads.
      if (provider === "" || known.includes(provider)) continue;
      const message = `names the provider ${quote(provider)}, which does not exist, must be one of ${known.join(", ")}`;
      report(warningAt([name], message));
    }
  }
}

/** Provider names in the `idp` criteria of all rules, including shadow rules. */
function providersIn(policy: PolicyDoc): ReadonlySet<string> {
  const rules = (isList(policy) ? policy : [policy]).map((rule) => ({ ...rule, shadow: false }));
  const { allow, deny, approve } = compilePolicy(rules);
  const leaves = [...allow, ...deny, ...approve].flatMap((rule) => rule.leaves.filter(({ key }) => key === "idp"));
  return new Set(leaves.flatMap(({ data }) => namesIn(data as StringMatch)));
}

function namesIn({ is, not, in: some = [], not_in: others = [] }: StringMatch): readonly string[] {
  return [is, not, ...some, ...others].filter((name) => name !== undefined);
}
