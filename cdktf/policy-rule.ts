/** Rules of a policy, made of conditions (policy.ts). */
import { validatePolicy } from "../runtime/policy/validate-rules.ts";
import { type ActionDoc, parsePolicy, type RulesDoc } from "../runtime/policy/parse.ts";

/** One condition, such as `email.is("a@example.com")`. */
export class Criterion {
  readonly data: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(name: string, data: unknown) {
    this.data = { [name]: data };
  }
}

type Operator = "and" | "or" | "not" | "nor";

/** Conditions joined by an operator. Groups do not nest: several groups of one rule are alternatives. */
export class Group {
  readonly data: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(operator: Operator, criteria: readonly Criterion[]) {
    if (criteria.length === 0)
      throw new Error(`Cannot make a policy group: ${operator}() has no conditions, must have one`);
    this.data = { [operator]: criteria.map((criterion) => criterion.data) };
  }
}

/** One element of a route's `policy`: an `allow`, a `deny` or an `approve`, as plain data. */
export type PolicyRule = RulesDoc;

/** True when all conditions match. */
export const and = (...criteria: readonly Criterion[]): Group => new Group("and", criteria);
/** True when any condition matches. */
export const or = (...criteria: readonly Criterion[]): Group => new Group("or", criteria);
/** True when no condition matches. */
export const not = (...criteria: readonly Criterion[]): Group => new Group("not", criteria);
/** True when at least one condition does not match. */
export const nor = (...criteria: readonly Criterion[]): Group => new Group("nor", criteria);

/**
 * Allows a request when the condition, or any of the groups, matches and nothing denies it. Two conditions must be joined by
 * `and(…)` or `or(…)`: a policy must not leave that to a guess.
 * @throws Error when the rule is not valid
 */
export function allow(first: Criterion | Group, ...alternatives: readonly Group[]): PolicyRule {
  return rule("allow", first, alternatives);
}

/** Denies a request when the condition, or any of the groups, matches, whatever allows it. @throws Error as `allow` */
export function deny(first: Criterion | Group, ...alternatives: readonly Group[]): PolicyRule {
  return rule("deny", first, alternatives);
}

/**
 * Holds an otherwise allowed tool call until the calling user has confirmed it on a page of the gateway. False for every
 * other request. Needs `authenticateServiceUrl`. @throws Error as `allow`
 */
export function approve(first: Criterion | Group, ...alternatives: readonly Group[]): PolicyRule {
  return rule("approve", first, alternatives);
}

/** Like `approve`, but another user approves, who is in one of these groups. @throws Error as `allow` */
export function approvedBy(
  groupNames: readonly string[],
  first: Criterion | Group,
  ...alternatives: readonly Group[]
): PolicyRule {
  return rule("approve", first, alternatives, { approvers: groupNames });
}

/** Puts a rule of `policy` in shadow: its effect in addition to the active rules is recorded and counted, and never enforced. */
export function shadow(tried: PolicyRule): PolicyRule {
  return { shadow: true, ...tried };
}

/** Calls that a history rule is about: those for which the condition, or any of the groups, matches. @throws Error as `allow` */
export function calls(first: Criterion | Group, ...alternatives: readonly Group[]): ActionDoc {
  return rule("allow", first, alternatives).allow ?? {};
}

function rule(
  action: "allow" | "deny" | "approve",
  first: Criterion | Group,
  more: readonly Group[],
  marks: Pick<PolicyRule, "approvers"> = {},
): PolicyRule {
  // The types cannot distinguish a condition from a group: both are data.
  if (more.some((each) => !(each instanceof Group)))
    throw new Error(`Cannot make ${action}(…): it has several conditions, join with and(…) or or(…)`);
  const groups = [first instanceof Criterion ? and(first) : first, ...more];
  const body: Record<string, unknown> = {};
  for (const group of groups) {
    for (const [operator, criteria] of Object.entries(group.data)) {
      if (operator in body) {
        throw new Error(`Cannot make ${action}(…): it has ${operator}(…) twice, write a second ${action}(…) rule`);
      }
      body[operator] = criteria;
    }
  }
  const made: PolicyRule = { [action]: body, ...marks };
  const parsed = parsePolicy(made);
  const found = parsed.ok ? validatePolicy(parsed.policy) : parsed.problems;
  if (found.length > 0) {
    const problems = found.map(({ path, message }) => `"${path}" ${message}`);
    throw new Error(`Cannot make a policy rule: ${problems.join("; ")}`);
  }
  return made;
}
