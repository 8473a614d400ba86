/** Finds the rule that decided: the first one with that outcome, in reading order. */
import type { CompiledPolicy } from "../evaluate.ts";
import type { Decision, Facts } from "../facts.ts";
import { type Truth, outcomeOf, TRUE, UNKNOWN } from "../packed-outcome.ts";
import { ACTIONS, OPERATORS, type PolicyAction } from "../parse.ts";
import { findRule } from "../tree.ts";

/**
 * @param decision result of `evaluate` for these facts
 * @returns JSON pointer into the policy's enforced rules, as `gateway explain` shows them: "/0/deny/or"; undefined if
 *   no rule decided, for example if no allow rule matched
 */
export function findDecidingRule(policy: CompiledPolicy, facts: Facts, decision: Decision): string | undefined {
  const indexOf = (action: PolicyAction, outcome: Truth): number =>
    policy[action].findIndex((rule) => outcomeOf(findRule(rule, facts)) === outcome);
  const action = decision.denied ? "deny" : decision.allowed ? "allow" : decision.approval ? "approve" : undefined;
  if (action === undefined) {
    // An unknown deny rule (for example, its argument is absent) denies a request that an allow rule matched.
    const isOnlyUnknown = policy.deny.length > 0 && indexOf("allow", TRUE) !== -1;
    return isOnlyUnknown ? rulePointers(policy).deny[indexOf("deny", UNKNOWN)] : undefined;
  }
  const pointers = rulePointers(policy)[action];
  // With one rule there is no choice.
  if (pointers.length === 1) return pointers[0];
  const index = indexOf(action, TRUE);
  return pointers[index === -1 ? indexOf(action, UNKNOWN) : index];
}

type Pointers = Readonly<Record<PolicyAction, readonly string[]>>;

const known = new WeakMap<CompiledPolicy, Pointers>();

/** Pointers to the rules of each action, in the order of `compileTree`. */
export function rulePointers(policy: CompiledPolicy): Pointers {
  let pointers = known.get(policy);
  if (!pointers) {
    const of = (action: PolicyAction): readonly string[] =>
      policy.doc.flatMap((rules, index) =>
        OPERATORS.filter((operator) => (rules[action]?.[operator] ?? []).length > 0).map(
          (operator) => `/${index}/${action}/${operator}`,
        ),
      );
    pointers = Object.fromEntries(ACTIONS.map((action) => [action, of(action)])) as Record<
      PolicyAction,
      readonly string[]
    >;
    known.set(policy, pointers);
  }
  return pointers;
}
