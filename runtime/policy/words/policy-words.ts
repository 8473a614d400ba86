/** A policy in words: each rule as a sentence, or the whole policy in one line. For users who decide by reading it. */
import type { PolicyAction, Operator } from "../parse.ts";
import type { ApproveRule, OperatorRule, PolicyTree } from "../tree.ts";
import { criterionWords, someOf } from "./criterion-words.ts";

export type Rules = Pick<PolicyTree, "allow" | "deny" | "approve">;

export interface RuleWords {
  readonly action: PolicyAction;
  /** Text before the clauses: "Denied when one of these is true". */
  readonly lead: string;
  /** At least one. A single clause forms one sentence with the lead. */
  readonly clauses: readonly string[];
}

/** Deny rules first, then approve rules: in order of precedence. [] denies all requests. */
export function policyWords({ allow, deny, approve }: Rules): readonly RuleWords[] {
  return [
    ...deny.map((rule) => ruleWords("deny", rule)),
    ...approve.map((rule) => ruleWords("approve", rule)),
    ...allow.map((rule) => ruleWords("allow", rule)),
  ];
}

export function ruleWords(action: PolicyAction, rule: OperatorRule | ApproveRule): RuleWords {
  const clauses = rule.leaves.map(criterionWords);
  return { action, lead: `${outcomeOf(action, rule)} ${conditionOf(rule.operator, clauses.length)}`, clauses };
}

/** "Allowed when the user is signed in". */
export function ruleSentence({ lead, clauses }: RuleWords): string {
  return clauses.length === 1 ? `${lead} ${clauses[0]}` : `${lead}: ${clauses.join("; ")}`;
}

const MAX_LINE = 240;

/** The whole policy in one line, truncated if long: 'the user is in group "staff"; never when …'. */
export function policyLine({ allow, deny, approve }: Rules): string {
  if (allow.length === 0) return "all requests are denied: no allow rule";
  const parts = [
    allow.map(shortOf).join(", or "),
    ...deny.map((rule) => `never when ${shortOf(rule)}`),
    ...approve.map((rule) => `with an approval when ${shortOf(rule)}`),
  ];
  const line = parts.join("; ");
  return line.length > MAX_LINE ? `${Array.from(line).slice(0, MAX_LINE).join("")}…` : line;
}

function shortOf({ operator, leaves }: OperatorRule): string {
  const clauses = leaves.map(criterionWords);
  const [first = ""] = clauses;
  if (clauses.length === 1) return operator === "and" || operator === "or" ? first : `not: ${first}`;
  switch (operator) {
    case "and":
      return clauses.join(" and ");
    case "or":
      return clauses.join(" or ");
    case "not":
      return `none of (${clauses.join("; ")})`;
    case "nor":
      return `not all of (${clauses.join("; ")})`;
  }
  return operator satisfies never;
}

function outcomeOf(action: PolicyAction, rule: OperatorRule | ApproveRule): string {
  switch (action) {
    case "allow":
      return "Allowed";
    case "deny":
      return "Denied";
    case "approve": {
      const approvers = "approvers" in rule ? rule.approvers : undefined;
      return approvers === undefined
        ? "A tool call needs confirmation by its user"
        : `A tool call needs approval by another user in ${approvers.length > 1 ? "one of the groups" : "group"} ${someOf(approvers, "or")}`;
    }
  }
  return action satisfies never;
}

function conditionOf(operator: Operator, count: number): string {
  if (count === 1) return operator === "and" || operator === "or" ? "when" : "when this is not true:";
  switch (operator) {
    case "and":
      return "when all of these are true";
    case "or":
      return "when one of these is true";
    case "not":
      return "when none of these is true";
    case "nor":
      return "when at least one of these is not true";
  }
  return operator satisfies never;
}
