/**
 * Decides one call against history rules, over whatever holds their state: the store, or memory for records.
 *
 * Limits count permitted calls, `not_after` is marked when a call is permitted, `after` when it has succeeded. Promises:
 * a rule only restricts. An unknown state denies. A call that is denied, here or later, counts for no limit (`undo`).
 */
import type { HistoryApproval, HistoryRule } from "../../features/mcp/compile-history.ts";
import { refusedDecision } from "../../policy/evaluate.ts";
import type { Decision } from "../../policy/facts.ts";
import { APPROVAL_REQUIRED, needApproval } from "../../policy/mcp/approval.ts";
import { type HistoryReason, historyReasonText } from "../../policy/words/history-reasons.ts";
import type { CallPlan, HistoryKey, Restriction } from "./plan.ts";

export interface HistoryDenial {
  readonly rule: HistoryRule;
  readonly reason: HistoryReason;
  /** The call can be approved. */
  readonly approval?: HistoryApproval | undefined;
}

export type CountResult = "ok" | "over" | "unknown";

/** State of rules. Methods return a promise if they must wait for the store. */
export interface HistoryState {
  /** Whether it is marked within its window; undefined: unknown. */
  isMarked(key: HistoryKey): boolean | undefined | Promise<boolean | undefined>;
  /** @returns false if that is not stored */
  mark(key: HistoryKey): boolean | Promise<boolean>;
  /** Counts a call, or an amount, if that stays within the limit. */
  count(key: HistoryKey, amount: number): CountedCall | Promise<CountedCall>;
}

export interface CountedCall {
  readonly counted: CountResult;
  readonly undo?: () => void;
}

export interface EarlierFindings {
  /** By enforced rules: the first final denial, otherwise all denials that an approval lifts. */
  readonly denials: readonly HistoryDenial[];
  readonly shadow: readonly HistoryDenial[];
}

/** `after` and `not_after`. @param isToolCall others cannot be approved */
export async function checkEarlier(
  { restrictions }: CallPlan,
  state: HistoryState,
  isToolCall: boolean,
): Promise<EarlierFindings> {
  const approvable: HistoryDenial[] = [];
  const shadow: HistoryDenial[] = [];
  for (const each of restrictions) {
    const found = await earlierDenial(each, state, isToolCall);
    if (found === undefined) continue;
    if (each.rule.isShadow) shadow.push(found);
    else if (found.approval === undefined) return { denials: [found], shadow };
    else approvable.push(found);
  }
  return { denials: approvable, shadow };
}

async function earlierDenial(
  restriction: Restriction,
  state: HistoryState,
  isToolCall: boolean,
): Promise<HistoryDenial | undefined> {
  const { rule, key } = restriction;
  const { effect } = rule;
  if (effect.kind !== "after" && effect.kind !== "not_after") return undefined;
  if (key === undefined) return { rule, reason: unknownOf(restriction) };
  const isMarked = await state.isMarked(key);
  if (isMarked === undefined) return { rule, reason: "history-unknown" };
  if (effect.kind === "after") return isMarked ? undefined : { rule, reason: "history-after" };
  return isMarked
    ? { rule, reason: "history-not-after", approval: isToolCall ? effect.approval : undefined }
    : undefined;
}

export interface LimitFindings {
  readonly denial: HistoryDenial | undefined;
  readonly shadow: readonly HistoryDenial[];
  /** The call goes no further: it counts for no limit. */
  readonly undo: () => void;
}

/** `at_most` and `total`. */
export async function countCall({ restrictions }: CallPlan, state: HistoryState): Promise<LimitFindings> {
  const shadow: HistoryDenial[] = [];
  const undos: (() => void)[] = [];
  const undo = (): void => {
    for (const run of undos.splice(0)) run();
  };
  for (const each of restrictions) {
    const { rule, key, amount } = each;
    const { kind } = rule.effect;
    if (kind !== "at_most" && kind !== "total") continue;
    const found = key === undefined ? undefined : await state.count(key, amount);
    if (found?.undo) undos.push(found.undo);
    const reason = found === undefined ? unknownOf(each) : LIMIT_REASONS[kind][found.counted];
    if (reason === undefined) continue;
    if (rule.isShadow) shadow.push({ rule, reason });
    else {
      undo();
      return { denial: { rule, reason }, shadow, undo };
    }
  }
  return { denial: undefined, shadow, undo };
}

const unknownOf = ({ isCallerKnown }: Restriction): HistoryReason =>
  isCallerKnown ? "history-argument-unknown" : "history-unknown";

const LIMIT_REASONS: Readonly<Record<"at_most" | "total", Readonly<Record<CountResult, HistoryReason | undefined>>>> = {
  at_most: { ok: undefined, over: "history-at-most", unknown: "history-unknown" },
  total: { ok: undefined, over: "history-total", unknown: "history-unknown" },
};

/** Marks a permitted call. @returns the enforced rule whose mark could not be stored: the call must not continue */
export async function markCall({ marks }: CallPlan, state: HistoryState): Promise<HistoryDenial | undefined> {
  const stored = await Promise.all(marks.map(async (key) => state.mark(key)));
  const lost = marks.find(({ rule }, index) => stored[index] === false && !rule.isShadow);
  return lost && { rule: lost.rule, reason: "history-unknown" };
}

/** Marks a successful call. */
export async function markOutcomes(outcomes: readonly HistoryKey[], state: HistoryState): Promise<void> {
  await Promise.all(outcomes.map(async (key) => state.mark(key)));
}

/**
 * Marks a permitted call again when its result arrives: long after it began, a window would be over.
 *
 * @returns undefined: nothing to wait for
 */
export function markArrival({ marks }: CallPlan, state: HistoryState): Promise<unknown> | undefined {
  const waits = marks.map((key) => state.mark(key)).filter((each) => each instanceof Promise);
  return waits.length === 0 ? undefined : Promise.all(waits);
}

const decisions = new WeakMap<HistoryRule, Map<HistoryReason, Decision>>();

/** The denial as a decision. Shared, since a record's text is made once for each. */
export function decisionOf(denial: HistoryDenial): Decision {
  const { rule, reason } = denial;
  let ofRule = decisions.get(rule);
  if (!ofRule) decisions.set(rule, (ofRule = new Map()));
  let decision = ofRule.get(reason);
  if (!decision) ofRule.set(reason, (decision = refusedDecision(reasonText(denial))));
  return decision;
}

export function reasonText({ rule, reason }: Pick<HistoryDenial, "rule" | "reason">): string {
  return historyReasonText({ reason, rule: rule.name });
}

/** The decision after `after` and `not_after`. @param decision one that allows the call, or lacks only an approval */
export function applyEarlier(decision: Decision, found: readonly HistoryDenial[]): Decision {
  const [first] = found;
  if (first === undefined) return decision;
  if (first.approval === undefined) return decisionOf(first);
  return {
    ...decision,
    allowed: false,
    allowWhyTrue: [],
    allowWhyFalse: [...new Set([APPROVAL_REQUIRED, ...found.map(reasonText)])].sort(),
    approval: needApproval(
      decision,
      found.flatMap(({ approval }) => approval ?? []),
    ),
  };
}
