/** Explains a policy's decision: every rule, criterion by criterion, as data and as text. Same code as the proxy's. */
import { evaluate } from "./evaluate.ts";
import type { CompiledPolicy } from "./evaluate.ts";
import type { ApprovalNeed, Decision, Facts } from "./facts.ts";
import { isRecord } from "../shared/is-record.ts";
import { FALSE, TRUE, outcomeOf, reasonNames, reasonsOf } from "./packed-outcome.ts";
import type { PackedOutcome } from "./packed-outcome.ts";
import type { PolicyAction, Operator } from "./parse.ts";
import { findLeaf, findRule } from "./tree.ts";
import type { Leaf, OperatorRule } from "./tree.ts";

export type TraceVerdict = "true" | "false" | "unknown" | "error";

export interface CriterionTrace {
  /** As written: "email", "claim/department". */
  readonly criterion: string;
  /** Canonical operands of the policy. */
  readonly wanted: unknown;
  /** Value of the request as JSON text; "" if unknown. */
  readonly actual: string;
  readonly outcome: TraceVerdict;
  readonly reasons: readonly string[];
}

export interface RuleTrace {
  readonly action: PolicyAction;
  readonly operator: Operator;
  readonly outcome: TraceVerdict;
  readonly criteria: readonly CriterionTrace[];
}

export interface Explanation {
  readonly decision: Decision;
  /** Deny rules first, then approve rules: in order of precedence. */
  readonly rules: readonly RuleTrace[];
}

export function explain(policy: CompiledPolicy, facts: Facts): Explanation {
  const actual = shownOnce(facts);
  const trace = (action: PolicyAction): readonly RuleTrace[] =>
    policy[action].map((rule) => explainRule(policy, action, rule, facts, actual));
  return { decision: evaluate(policy, facts), rules: [...trace("deny"), ...trace("approve"), ...trace("allow")] };
}

/**
 * @param question the explained request, for the first line: "alice@example.com calls delete_repo on acme/github"
 * @returns several lines
 */
export function formatExplanation(question: string, { decision, rules }: Explanation): string {
  const verdict = decision.approval ? approvalText(decision.approval) : decision.allowed ? "allowed" : "denied";
  const why = decision.allowed ? decision.allowWhyTrue : decision.allowWhyFalse;
  const lines = [`${question}: ${verdict}${why.length === 0 ? "" : ` (${why.join(", ")})`}`];
  if (!rules.some((rule) => rule.action === "allow")) lines.push("", "no allow rule: all requests are denied");
  for (const rule of rules) {
    lines.push("", `${rule.action}, ${OPERATOR_TEXTS[rule.operator]}: ${rule.outcome}`);
    for (const each of rule.criteria) {
      const reasons = each.reasons.length === 0 ? "" : ` (${each.reasons.join(", ")})`;
      const actual = each.actual === "" ? "" : `, is ${each.actual}`;
      lines.push(`  ${each.outcome.padEnd(7)} ${each.criterion} ${JSON.stringify(each.wanted)}${actual}${reasons}`);
    }
  }
  return lines.join("\n");
}

/**
 * Reasons of a denial for the denied user: the deny rules that matched, or else the allow rules that did not, with the
 * request's value for each criterion. The rules' operands are omitted, because they can name other users.
 *
 * @returns label and text, for an error page
 */
export function denialDetails(policy: CompiledPolicy, facts: Facts): readonly (readonly [string, string])[] {
  const { decision, rules } = explain(policy, facts);
  const reasons = [...new Set([...decision.denyWhyTrue, ...decision.allowWhyFalse])].join(", ");
  const action = decision.denied ? "deny" : "allow";
  const deciding = rules.filter((rule) => rule.action === action && (action === "allow" || rule.outcome === "true"));
  const lines = deciding.map(({ operator, criteria }, index) => {
    const found = criteria.map(
      ({ criterion, actual, outcome }) => `${criterion}${actual === "" ? "" : ` ${actual}`} → ${outcome}`,
    );
    return [`${ACTION_TEXTS[action]} ${index + 1}`, `${OPERATOR_TEXTS[operator]}: ${found.join("; ")}`] as const;
  });
  return [["Reasons", reasons === "" ? "no allow rule matched" : reasons], ...lines];
}

function approvalText({ approvers }: ApprovalNeed): string {
  if (approvers.length === 0) return "allowed once the user confirms the call";
  const lists = approvers.map((groups) => groups.map((group) => JSON.stringify(group)).join(" or "));
  return `allowed once another user approves the call: a member of ${lists.join(", and of ")}`;
}

const ACTION_TEXTS: Readonly<Record<PolicyAction, string>> = {
  allow: "Allow rule",
  deny: "Deny rule",
  approve: "Approve rule",
};

export const OPERATOR_TEXTS: Readonly<Record<Operator, string>> = {
  and: "all of",
  or: "any of",
  not: "none of",
  nor: "not all of",
};

/** A policy can have thousands of criteria, and a user thousands of groups. */
const MAX_ACTUAL = 1000;

type ShowActual = (leaf: Leaf) => string;

/** Formats each value of the request once for all criteria that use it. */
function shownOnce(facts: Facts): ShowActual {
  const shown = new Map<string, string>();
  return (leaf) => {
    const { key, data } = leaf;
    const argument = isRecord(data) && typeof data["argument"] === "string" ? data["argument"] : "";
    const what = JSON.stringify([key, argument]);
    let text = shown.get(what);
    if (text === undefined) {
      const whole = leaf.actual(facts);
      text = whole.length > MAX_ACTUAL ? `${whole.slice(0, MAX_ACTUAL)}…` : whole;
      shown.set(what, text);
    }
    return text;
  };
}

function explainRule(
  policy: CompiledPolicy,
  action: PolicyAction,
  rule: OperatorRule,
  facts: Facts,
  actual: ShowActual,
): RuleTrace {
  return {
    action,
    operator: rule.operator,
    outcome: verdictOf(attempt(() => findRule(rule, facts))),
    criteria: rule.leaves.map((leaf) => explainLeaf(policy, leaf, facts, actual)),
  };
}

function explainLeaf(policy: CompiledPolicy, leaf: Leaf, facts: Facts, actual: ShowActual): CriterionTrace {
  const found = attempt(() => findLeaf(leaf, facts));
  const outcome = verdictOf(found);
  // Without a user or a tool, or after an error, there is no value to show.
  const isDecided = found === leaf.yes || found === leaf.no;
  return {
    criterion: leaf.key,
    wanted: leaf.data,
    actual: isDecided && leaf.data !== true ? actual(leaf) : "",
    outcome,
    reasons: found === undefined ? [] : reasonNames(reasonsOf(found), policy.reasons),
  };
}

/** @returns undefined if the facts cannot be checked */
function attempt(find: () => PackedOutcome): PackedOutcome | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

function verdictOf(found: PackedOutcome | undefined): TraceVerdict {
  if (found === undefined) return "error";
  const outcome = outcomeOf(found);
  if (outcome === TRUE) return "true";
  return outcome === FALSE ? "false" : "unknown";
}
