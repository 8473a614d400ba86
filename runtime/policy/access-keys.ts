/**
 * Access keys of a route, shorter than a policy: each adds an allow rule to `policy`.
 *
 * Promise: they only allow. A deny rule of the policy wins over them as over any allow rule.
 */
import { isNamedByEmail } from "../shared/user-id.ts";
import { type CriterionDoc, isList, type PolicyDoc, type RulesDoc } from "./parse.ts";

/** Access keys as members of a route. */
export interface AccessKeys {
  readonly allow_public_unauthenticated_access?: boolean;
  readonly allow_any_authenticated_user?: boolean;
  readonly allowed_users?: readonly string[];
  readonly allowed_domains?: readonly string[];
  readonly allowed_idp_claims?: Readonly<Record<string, readonly string[]>>;
  readonly cors_allow_preflight?: boolean;
}

/** In the order of the resulting rules. */
export const ACCESS_KEYS = [
  "allow_public_unauthenticated_access",
  "cors_allow_preflight",
  "allow_any_authenticated_user",
  "allowed_domains",
  "allowed_users",
  "allowed_idp_claims",
] as const satisfies readonly (keyof AccessKeys)[];

/** @returns one allow rule for each key with an effect */
export function accessRules(keys: AccessKeys): readonly RulesDoc[] {
  const rules: RulesDoc[] = [];
  const allow = (...criteria: CriterionDoc[]): void => {
    if (criteria.length > 0) rules.push({ allow: { [criteria.length === 1 ? "and" : "or"]: criteria } });
  };
  const { allowed_domains: domains = [], allowed_users: users = [], allowed_idp_claims: claims = {} } = keys;
  if (keys.allow_public_unauthenticated_access === true) allow({ accept: true });
  if (keys.cors_allow_preflight === true) allow({ cors_preflight: true });
  if (keys.allow_any_authenticated_user === true) allow({ authenticated_user: true });
  if (domains.length > 0) allow({ domain: { in: domains } });
  // An entry is an email address or a user's ID. An ID must not match another user's address of the same text.
  const emails = users.filter(isNamedByEmail);
  allow(
    ...(emails.length === 0 ? [] : [{ email: { in: emails } }]),
    ...(users.length === 0 ? [] : [{ user: { in: users } }]),
  );
  allow(
    ...Object.entries(claims).flatMap(([name, values]) =>
      values.map((value) => ({ [`claim/${name}`]: { has: value } })),
    ),
  );
  return rules;
}

/** The whole policy of a route; undefined if nothing is configured, which denies all requests. */
export function routePolicy(route: AccessKeys & { readonly policy?: PolicyDoc }): PolicyDoc | undefined {
  const { policy } = route;
  // Few routes have access keys.
  if (!ACCESS_KEYS.some((key) => route[key] !== undefined)) return policy;
  const rules = accessRules(route);
  if (rules.length === 0) return policy;
  return [...rules, ...(policy === undefined ? [] : isList(policy) ? policy : [policy])];
}
