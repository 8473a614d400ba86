/** Problems of a route's shadow policies other than those of each policy alone. */
import { type CandidateDoc, candidatesOf, MAX_CANDIDATES, type ShadowKeys } from "../../policy/shadow.ts";
import { canonicalPolicy, enforcedRules, isList, type PolicyDoc } from "../../policy/parse.ts";
import { ACCESS_KEYS, routePolicy } from "../../policy/access-keys.ts";
import { errorAt, warningAt, type Report } from "../../settings/problem.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";

export function shadowRules(route: ShadowKeys, report: Report): void {
  const { policy, shadow_policy: whole = [] } = route;
  const nested = (isList(whole) ? whole : [whole]).findIndex(({ shadow }) => shadow === true);
  if (nested !== -1) {
    const message = "is not allowed in a shadow policy, which is in shadow as a whole: remove it";
    report(errorAt(["shadow_policy", ...(isList(whole) ? [nested] : []), "shadow"], message));
    return;
  }
  const candidates = candidatesOf(route);
  if (candidates.length > MAX_CANDIDATES)
    report(errorAt([], `has ${candidates.length} candidates in shadow, must be at most ${MAX_CANDIDATES}`));
  // Few of thousands of routes have a shadow policy.
  const [first] = candidates;
  const inForce = first && canonicalTexts(routePolicy({ ...route, policy: enforcedRules(policy ?? []) }) ?? []);
  for (const candidate of candidates) {
    if (canonicalTexts(candidate.policy) === inForce)
      report(warningAt(placeOf(candidate, policy), "is in shadow and equals the enforced rules: remove it"));
  }
  const hasRules = policy !== undefined && (!isList(policy) || policy.length > 0);
  if (hasRules && enforcedRules(policy).length === 0 && !ACCESS_KEYS.some((key) => route[key] !== undefined))
    report(warningAt(["policy"], "has all its rules in shadow, so everything is denied"));
}

/** The order and repetition of rules do not affect decisions. */
function canonicalTexts(policy: PolicyDoc): string {
  return [...new Set(canonicalPolicy(policy).map(canonicalJson))].sort().join("\n");
}

function placeOf({ kind, name }: CandidateDoc, policy: PolicyDoc | undefined): readonly (string | number)[] {
  if (kind === "shadow_policy") return ["shadow_policy"];
  return policy !== undefined && isList(policy) ? ["policy", Number(name.slice("policy[".length, -1))] : ["policy"];
}
