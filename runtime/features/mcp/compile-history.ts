/** Compiles history rules, and says what a rule means. */
import { compilePolicy, type CompiledPolicy } from "../../policy/evaluate.ts";
import type { Facts } from "../../policy/facts.ts";
import { parsePointer } from "../../policy/mcp/argument-values.ts";
import { bindToolClasses } from "../../policy/bind-tool-classes.ts";
import type { ToolClasses } from "../../policy/mcp/tool-classes.ts";
import { FALSE, outcomeOf, type Truth, UNKNOWN } from "../../policy/packed-outcome.ts";
import { type ActionDoc, canonicalGroups } from "../../policy/parse.ts";
import { findAny } from "../../policy/tree.ts";
import { policyLine } from "../../policy/words/policy-words.ts";
import { accepted, parseDuration } from "../../settings/values.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { type HISTORY_KEYS, type HistoryRuleDoc, limitOf } from "./history-rules.ts";

export interface HistoryRule {
  readonly name: string;
  readonly per: (typeof HISTORY_KEYS)[number];
  /** Calls that it restricts. */
  readonly calls: CompiledPolicy;
  readonly effect: HistoryEffect;
  readonly isShadow: boolean;
  /** "at most 5 calls within 1d by the same user, when the tool is …" */
  readonly words: string;
}

export type HistoryEffect =
  | (Earlier & {
      readonly kind: "after";
      readonly sameArgument: readonly string[] | undefined;
      /** Equal texts: the same earlier calls meet both rules. */
      readonly identity: string;
    })
  | (Earlier & { readonly kind: "not_after"; readonly approval: HistoryApproval | undefined })
  | { readonly kind: "at_most"; readonly count: number; readonly withinMs: number }
  | {
      readonly kind: "total";
      readonly argument: readonly string[];
      /** In units of 10^-6. */
      readonly limit: number;
      readonly withinMs: number;
    };

interface Earlier {
  readonly calls: CompiledPolicy;
  readonly withinMs: number;
}

/** Approvers as in a compiled policy's rule; undefined: the caller confirms. */
export interface HistoryApproval {
  readonly approvers: readonly string[] | undefined;
}

/** @returns undefined if there are none */
export function compileHistoryRules(
  docs: readonly HistoryRuleDoc[] | undefined,
  classes?: ToolClasses,
): readonly HistoryRule[] | undefined {
  if (docs === undefined || docs.length === 0) return undefined;
  return docs.map((doc) => {
    const { name, per = "user", shadow = false } = doc;
    const calls = matcher(doc.calls, classes);
    const { effect, words } = compileEffect(doc, per, classes);
    return { name, per, calls, effect, isShadow: shadow, words: `${words}, when ${policyLine(calls)}` };
  });
}

const BY: Readonly<Record<HistoryRule["per"], string>> = {
  user: "by the same user",
  grant: "with the same grant",
  client: "with the same client",
  run: "in the same agent run",
};

function compileEffect(
  { after, not_after: notAfter, at_most: atMost, total }: HistoryRuleDoc,
  per: HistoryRule["per"],
  classes: ToolClasses | undefined,
): { readonly effect: HistoryEffect; readonly words: string } {
  const by = BY[per];
  if (after) {
    const { within, same_argument: same } = after;
    const calls = matcher(after.calls, classes);
    const identity = canonicalJson([after.calls, within, same ?? null]);
    const about = same === undefined ? "" : ` with the same value of ${same}`;
    return {
      effect: {
        kind: "after",
        calls,
        withinMs: msOf(within),
        sameArgument: same === undefined ? undefined : tokens(same),
        identity,
      },
      words: `only after a successful call${about} within ${within} ${by}, when ${policyLine(calls)}`,
    };
  }
  if (notAfter) {
    const { within, unless_approved: isApprovable = false, approvers } = notAfter;
    const calls = matcher(notAfter.calls, classes);
    const approval = isApprovable ? { approvers: approvers && canonicalGroups(approvers) } : undefined;
    return {
      effect: { kind: "not_after", calls, withinMs: msOf(within), approval },
      words: `not after a call within ${within} ${by}${isApprovable ? " unless approved" : ""}, when ${policyLine(calls)}`,
    };
  }
  if (atMost) {
    const { count, within } = atMost;
    const effect = { kind: "at_most", count, withinMs: msOf(within) } as const;
    return { effect, words: `at most ${count} ${count === 1 ? "call" : "calls"} within ${within} ${by}` };
  }
  const { argument, limit, within } = total as NonNullable<typeof total>;
  const effect = {
    kind: "total",
    argument: tokens(argument),
    limit: limitOf(limit) ?? 0,
    withinMs: msOf(within),
  } as const;
  return { effect, words: `up to ${limit} of ${argument} in all within ${within} ${by}` };
}

function matcher(doc: ActionDoc, classes: ToolClasses | undefined): CompiledPolicy {
  return bindToolClasses(compilePolicy({ allow: doc }), classes);
}

function msOf(within: string): number {
  return accepted(parseDuration(within));
}

function tokens(pointer: string): readonly string[] {
  return parsePointer(pointer) ?? [];
}

/** Whether criteria match a call. False for messages that name no tool, prompt or resource; unknown if they fail. */
export function matchesCall(calls: CompiledPolicy, facts: Facts): Truth {
  const { mcp } = facts;
  if (mcp === undefined || (mcp.tool ?? mcp.prompt ?? mcp.resource) === undefined) return FALSE;
  try {
    return outcomeOf(findAny(calls.allow, facts));
  } catch {
    return UNKNOWN;
  }
}

/** All criteria of the rules. */
export function criteriaOfHistory(rules: readonly HistoryRule[] | undefined = []): readonly CompiledPolicy[] {
  return rules.flatMap(({ calls, effect }) => ("calls" in effect ? [calls, effect.calls] : [calls]));
}
