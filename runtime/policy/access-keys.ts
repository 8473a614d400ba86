/**
 * The access keys of a route, shorter than a policy: each of them adds an allow rule to what `policy` says.
 *
 * Promise: they only ever allow. A deny rule of the policy wins over them like over any allow rule.
 */
import { isNamedByEmail } from "../shared/user-id.ts";
import { type CriterionDoc, isList, type PolicyDoc, type RulesDoc } from "./parse.ts";

/** As a route has them. */
export interface AccessKeys {
  readonly allow_public_unauthenticated_access?: boolean;
  readonly allow_any_authenticated_user?: boolean;
  readonly allowed_users?: readonly string[];
  readonly allowed_domains?: readonly string[];
  readonly allowed_idp_claims?: Readonly<Record<string, readonly string[]>>;
  readonly cors_allow_preflight?: boolean;
}

/** In the order in which they become rules. */
export const ACCESS_KEYS = [
  "allow_public_unauthenticated_access",
  "cors_allow_preflight",
  "allow_any_authenticated_user",
  "allowed_domains",
  "allowed_users",
  "allowed_idp_claims",
] as const satisfies readonly (keyof AccessKeys)[];

/** @returns one allow rule for each key that says something */
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
  // An entry is an e-mail address or a user's id, which must not be read as the address of somebody who called theirs so.
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

/** All that decides about a route; undefined when nothing was written, which lets nobody in. */
export function routePolicy(route: AccessKeys & { readonly policy?: PolicyDoc }): PolicyDoc | undefined {
  const { policy } = route;
  // Few routes have one.
  if (!ACCESS_KEYS.some((key) => route[key] !== undefined)) return policy;
  const rules = accessRules(route);
  if (rules.length === 0) return policy;
  return [...rules, ...(policy === undefined ? [] : isList(policy) ? policy : [policy])];
}
