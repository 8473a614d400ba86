/**
 * Where people can sign in: only under https, and on this machine's own hosts, because anybody on the way could read or
 * plant a cookie otherwise (identity/sign-in/sign-in.ts refuses it). What loads must not need what run time refuses.
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
import { hasSecret } from "../../settings/secret-spellings.ts";
import { accepted, isTlsOrLoopback, parseOrigin } from "../../settings/values.ts";

const PLAIN_HTTP_PROBLEM =
  "starts with http://, where users cannot sign in: must start with https:// or name a loopback host";

/** Where the identity provider is asked over http, see identity/provider/idp-discovery.ts: a word of the boot file alone. */
export function acceptsHttpProvider(boot: BootDoc | undefined): boolean {
  return boot === undefined || boot.development === true;
}

/** People sign in, consent and manage their sessions there. */
export function authenticateServiceProblem({ authenticate_service_url: text }: SettingsDoc): string | undefined {
  return text !== undefined && !isTlsOrLoopback(accepted(parseOrigin(text))) ? PLAIN_HTTP_PROBLEM : undefined;
}

/** A route that only somebody who is signed in may use, at an address where nobody can be. */
export function signInRules(route: ReadRoute, settings: SettingsDoc, report: Report): void {
  const { from, doc } = route;
  if (!from || !doc || isTlsOrLoopback({ protocol: `${from.scheme}:`, hostname: from.hostname })) return;
  // MCP clients show tokens, and people sign in for them on the authenticate host.
  if (doc.mcp?.server && settings.authenticate_service_url !== undefined) return;
  // So do programs that show the provider's tokens.
  const format = doc.bearer_token_format ?? settings.bearer_token_format ?? "default";
  if (!doc.mcp && format !== "default") return;
  const { allow, mayAllowAnonymous } = compilePolicy(routePolicy(doc));
  // A route that lets nobody in has a warning of its own.
  if (allow.length === 0 || mayAllowAnonymous) return;
  report(errorAt(["from"], `${PLAIN_HTTP_PROBLEM}, or the route must be public`));
}

/** Routes whose users' ID tokens are exchanged at the identity provider: it must be there, know us, and renew them. */
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
  // Google knows the parameter instead of the scope.
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
 * A policy that asks for a provider that nobody comes from: an allow rule lets nobody in then, a deny rule keeps nobody out,
 * and no call waits for an approval.
 */
export function providerNameRules(
  { doc, criteria }: ReadRoute,
  { identity_issuers: issuers = {} }: SettingsDoc,
  report: Report,
): void {
  // Few policies ask: the others are not compiled for this.
  if (!doc || criteriaIn(criteria, (name) => name === "idp").length === 0) return;
  const known = [FIRST_PROVIDER, ...Object.keys(issuers)];
  for (const name of ["policy", "shadow_policy"] as const) {
    const policy = doc[name];
    if (policy === undefined) continue;
    for (const provider of providersIn(policy)) {
      // "" is said of machines.
      if (provider === "" || known.includes(provider)) continue;
      const message = `names the provider ${quote(provider)}, which does not exist, must be one of ${known.join(", ")}`;
      report(warningAt([name], message));
    }
  }
}

/** Of the `idp` criteria of all its rules, those in shadow included. */
function providersIn(policy: PolicyDoc): ReadonlySet<string> {
  const rules = (isList(policy) ? policy : [policy]).map((rule) => ({ ...rule, shadow: false }));
  const { allow, deny, approve } = compilePolicy(rules);
  const leaves = [...allow, ...deny, ...approve].flatMap((rule) => rule.leaves.filter(({ key }) => key === "idp"));
  return new Set(leaves.flatMap(({ data }) => namesIn(data as StringMatch)));
}

function namesIn({ is, not, in: some = [], not_in: others = [] }: StringMatch): readonly string[] {
  return [is, not, ...some, ...others].filter((name) => name !== undefined);
}
