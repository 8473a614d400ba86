/** The rules of an explanation as pages show them, in words. */
import { OPERATOR_TEXTS, type RuleTrace } from "../../policy/explain.ts";
import type { AppliedRule } from "../../pages/console/lists/rules.ts";
import { argumentClause, criterionWords } from "../../policy/words/criterion-words.ts";
import { showUntrusted } from "../show-untrusted.ts";

/** Longer policies are shown as written on the page of their route. */
const MAX_RULES = 100;
const MAX_CRITERIA = 100;
const MAX_CHARACTERS = 1_000;

export interface AppliedRuleOptions {
  /** The rule that decided. */
  readonly deciding: RuleTrace | undefined;
  /** False: groups and claims of users are not shown to owners of routes. */
  readonly seesUsers: boolean;
}

export function ruleViews(
  rules: readonly RuleTrace[],
  { deciding, seesUsers }: AppliedRuleOptions,
): readonly AppliedRule[] {
  return rules.slice(0, MAX_RULES).map((rule, index) => {
    const { action, criteria } = rule;
    const isDeciding = rule === deciding;
    return {
      number: index + 1,
      action,
      title: titleOf(rule),
      isDeciding,
      state: stateOf(rule, deciding),
      criteria: criteria.slice(0, MAX_CRITERIA).map((each) => ({
        text: showUntrusted(traceWords(each), MAX_CHARACTERS),
        actual: seesUsers || !ABOUT_USERS.test(each.criterion) ? showUntrusted(each.actual, MAX_CHARACTERS) : "",
        outcome: each.outcome,
      })),
    };
  });
}

const ABOUT_USERS = /^(?:groups$|claim\/)/;

const ACTION_NAMES: Readonly<Record<RuleTrace["action"], string>> = {
  deny: "Deny",
  approve: "Require approval",
  allow: "Allow",
};

function titleOf({ action, operator, criteria }: RuleTrace): string {
  const [only] = criteria;
  if (only && criteria.length === 1) {
    const condition = operator === "and" || operator === "or" ? "if" : "if it is not true that";
    return `${ACTION_NAMES[action]} ${condition} ${showUntrusted(traceWords(only), MAX_CHARACTERS)}`;
  }
  return `${ACTION_NAMES[action]} if ${OPERATOR_TEXTS[operator]} these are true`;
}

function stateOf({ action, outcome }: RuleTrace, deciding: RuleTrace | undefined): string {
  if (outcome === "false") return "not matched";
  if (outcome === "unknown") return "unknown";
  if (outcome === "error") return "evaluation error";
  if (deciding?.action !== "deny" || action === "deny") return "matched";
  return action === "approve" ? "matched, not reached" : "matched, overruled";
}

type Criterion = RuleTrace["criteria"][number];

/** 'the tool is "drop"' */
export function traceWords({ criterion, wanted }: Pick<Criterion, "criterion" | "wanted">): string {
  const [name = "", ...path] = criterion.split("/");
  return criterionWords({ key: criterion, subPath: path.join("/"), data: wanted, criterion: { name } });
}

/** The same with the value of an argument in it: "amount 620 is above 500". */
export function metWords(each: Criterion): string {
  const argument =
    each.criterion === "mcp_tool_argument" && each.actual !== "" ? argumentClause(each.wanted) : undefined;
  return argument ? `${argument.name || "arguments"} ${each.actual} ${argument.words}` : traceWords(each);
}
