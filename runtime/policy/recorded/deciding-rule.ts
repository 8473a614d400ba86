/** Which rule decided: the first one that says so, as somebody reads the policy. */
import type { CompiledPolicy } from "../evaluate.ts";
import type { Decision, Facts } from "../facts.ts";
import { type Truth, outcomeOf, TRUE, UNKNOWN } from "../packed-outcome.ts";
import { ACTIONS, OPERATORS, type PolicyAction } from "../parse.ts";
import { findRule } from "../tree.ts";

/**
 * @param decision what `evaluate` said of these facts
 * @returns JSON pointer into the policy's enforced rules, as `gateway explain` shows them: "/0/deny/or"; undefined where
 *   none decided, as where no rule let the request pass
 */
export function findDecidingRule(policy: CompiledPolicy, facts: Facts, decision: Decision): string | undefined {
  const indexOf = (action: PolicyAction, outcome: Truth): number =>
    policy[action].findIndex((rule) => outcomeOf(findRule(rule, facts)) === outcome);
  const action = decision.denied ? "deny" : decision.allowed ? "allow" : decision.approval ? "approve" : undefined;
  if (action === undefined) {
    // A deny rule that is unknown, as of an argument that is not there, denies what an allow rule let pass.
    const isOnlyUnknown = policy.deny.length > 0 && indexOf("allow", TRUE) !== -1;
    return isOnlyUnknown ? rulePointers(policy).deny[indexOf("deny", UNKNOWN)] : undefined;
  }
  const pointers = rulePointers(policy)[action];
  // Of one there is no choice.
  if (pointers.length === 1) return pointers[0];
  const index = indexOf(action, TRUE);
  return pointers[index === -1 ? indexOf(action, UNKNOWN) : index];
}

type Pointers = Readonly<Record<PolicyAction, readonly string[]>>;

const known = new WeakMap<CompiledPolicy, Pointers>();

/** Of the rules of each action, in the order in which `compileTree` has them. */
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
