/**
 * `mcp.server.history_rules`: rules that restrict allowed calls by earlier calls of the same user, grant, client or agent run.
 *
 * A call is a message that names a tool, prompt or resource. Its criteria are those of policies. A rule never allows a
 * call that policy denies.
 */
import { criterionOf, type ActionDoc, OPERATORS } from "../../policy/parse.ts";
import { parseDecimal, unitsOf } from "../../policy/mcp/decimal.ts";
import { parsePointer } from "../../policy/mcp/argument-values.ts";
import { block, blockList } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import { criteria } from "../../settings/types/policy.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { choice, count, duration, flag, text } from "../../settings/types/scalar.ts";
import { errorAt, quote, type Report, type ValuePath } from "../../settings/problem.ts";
import { parseDuration } from "../../settings/values.ts";

/** Known to the gateway itself: no caller can choose another. */
export const HISTORY_KEYS = ["user", "grant", "client", "run"] as const;

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const within = duration({
  doc: "Window, from 1 second to 30 days.",
  required: true,
  minMs: 1_000,
});

const pointer = (value: string): string | undefined =>
  value.length > 256 || value === "" || parsePointer(value) === undefined
    ? `is ${quote(value)}, must be a JSON pointer such as "/document"`
    : undefined;

const earlier = (doc: string) => criteria({ doc, required: true });

export const historyRuleShape = {
  name: text({
    doc: "Rule name, shown in responses, records and metrics.",
    required: true,
    check: (value) =>
      quotedProblem(value, NAME.test(value) ? undefined : 'must be at most 64 letters, digits, "-" and "_"'),
  }),
  calls: criteria({
    doc: "Calls that the rule restricts: criteria on tools, arguments, prompts, resources and methods.",
    required: true,
  }),
  per: choice(HISTORY_KEYS, {
    doc: "Whose earlier calls count; only `user` outlasts client registrations and sign-ins. With `run`, the rule is for agent runs only.",
    default: "user",
  }),
  after: block(
    {
      calls: earlier("Calls of which one must have succeeded before."),
      within,
      same_argument: text({
        doc: "Argument, as a JSON pointer, that must have the same value in both calls.",
        unset: "none",
        check: pointer,
      }),
    },
    { doc: "Deny the call unless such a call succeeded within the window.", unset: "none" },
  ),
  not_after: block(
    {
      calls: earlier("Calls after which the call is denied, from their decision on."),
      within,
      unless_approved: flag({ doc: "Require an approval of the tool call instead of denying it.", default: false }),
      approvers: textList({
        doc: "Groups whose members can approve. Only with `unless_approved`.",
        unset: "the caller confirms",
        check: (value) => (value === "" ? "is empty, must be a group" : undefined),
      }),
    },
    { doc: "Deny the call after such a call within the window.", unset: "none" },
  ),
  at_most: block(
    { count: count({ doc: "Maximum calls within the window.", required: true, min: 1, max: 1_000_000 }), within },
    { doc: "Deny calls above a number within the window.", unset: "none" },
  ),
  total: block(
    {
      argument: text({ doc: "Argument to add up, as a JSON pointer.", required: true, check: pointer }),
      limit: text({
        doc: "Highest sum within the window: a decimal number up to 1000000000, with at most 6 decimals.",
        required: true,
        check: (value) =>
          quotedProblem(
            value,
            (limitOf(value) ?? 0) > 0
              ? undefined
              : "must be a number above 0, up to 1000000000, with at most 6 decimals",
          ),
      }),
      within,
    },
    { doc: "Deny calls by which the sum of an argument would exceed a limit within the window.", unset: "none" },
  ),
  shadow: flag({ doc: "Evaluate and record the rule without enforcing it.", default: false }),
};

export type HistoryRuleDoc = ShapeDoc<typeof historyRuleShape>;

export const historyRulesSetting = blockList(historyRuleShape, {
  doc: "Rules that restrict allowed calls by earlier calls. Each has exactly one of `after`, `not_after`, `at_most` and `total`.",
  unset: "none",
  annotation: "mcp_server_history_rules",
});

const EFFECTS = ["after", "not_after", "at_most", "total"] as const;

const MAX_RULES = 64;
const MAX_CRITERIA = 1_000;
const LONGEST_WINDOW_MS = 30 * 86_400_000;
const MAX_LIMIT_UNITS = 1_000_000_000_000_000;

/** In units of 10^-6. @returns undefined for a number that cannot be a limit */
export function limitOf(value: string): number | undefined {
  const decimal = parseDecimal(value);
  const units = decimal && unitsOf(decimal);
  return units !== undefined && units <= MAX_LIMIT_UNITS ? units : undefined;
}

/** @param report paths are below `history_rules` */
export function historyRulesProblems(rules: readonly HistoryRuleDoc[], report: Report): void {
  if (rules.length > MAX_RULES) report(errorAt([], `has ${rules.length} rules, must have at most ${MAX_RULES}`));
  const names = new Set<string>();
  let criteriaCount = 0;
  for (const [index, rule] of rules.entries()) {
    // An invalid member is absent here.
    const { name, calls }: Partial<HistoryRuleDoc> = rule;
    if (name !== undefined && names.has(name))
      report(errorAt([index, "name"], `is "${name}", the name of another rule`));
    if (name !== undefined) names.add(name);
    criteriaCount += criteriaRules(calls, [index, "calls"], report);
    effectRules(rule, index, report);
    for (const effect of ["after", "not_after"] as const)
      criteriaCount += criteriaRules(rule[effect]?.calls, [index, effect, "calls"], report);
  }
  if (criteriaCount > MAX_CRITERIA)
    report(errorAt([], `has ${criteriaCount} criteria, must have at most ${MAX_CRITERIA}`));
}

function effectRules(rule: HistoryRuleDoc, index: number, report: Report): void {
  const [effect, ...others] = EFFECTS.filter((name) => rule[name] !== undefined);
  if (effect === undefined) report(errorAt([index], `has none of ${EFFECTS.join(", ")}, must have one of them`));
  for (const other of others) report(errorAt([index, other], `is next to "${effect}", must be a separate rule`));
  for (const name of EFFECTS) {
    const { within: written }: { readonly within?: string } = rule[name] ?? {};
    const parsed = written === undefined ? undefined : parseDuration(written);
    if (parsed?.ok === true && parsed.value > LONGEST_WINDOW_MS)
      report(errorAt([index, name, "within"], `is "${written}", must be from "1s" to "30d"`));
  }
  const { unless_approved: isApprovable = false, approvers } = rule.not_after ?? {};
  if (approvers !== undefined && !isApprovable)
    report(errorAt([index, "not_after", "approvers"], 'requires "unless_approved: true"'));
  if (approvers?.length === 0)
    report(errorAt([index, "not_after", "approvers"], "is an empty list, must have a group or be removed"));
}

/** Only what a message says: a rule about earlier calls must read the same of them as their records. @returns number */
function criteriaRules(doc: ActionDoc | undefined, path: ValuePath, report: Report): number {
  let found = 0;
  for (const operator of OPERATORS)
    for (const [position, each] of (doc?.[operator] ?? []).entries()) {
      found += 1;
      const { key, criterion } = criterionOf(each);
      if (criterion !== undefined && criterion.about !== "tool" && criterion.about !== "message")
        report(errorAt([...path, operator, position, key], "is not about a message, must start with mcp_"));
    }
  return found;
}
