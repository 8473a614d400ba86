/**
 * Restrictions that history rules put on one call, and the state that they keep of it.
 *
 * Untrusted input: the facts. Promises: pure. Unknown facts restrict a call: an unknown criterion counts as
 * matched where a rule denies, and as not matched where an earlier call would permit. Keys contain only identities that the
 * gateway verified, and values of arguments.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { type HistoryRule, matchesCall } from "../../features/mcp/compile-history.ts";
import type { Facts } from "../../policy/facts.ts";
import { parseDecimal, unitsOf } from "../../policy/mcp/decimal.ts";
import { FALSE, TRUE } from "../../policy/packed-outcome.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { hashSecret } from "../../shared/keys.ts";

/** Identities of a caller. */
export interface HistoryCaller {
  readonly user: string | undefined;
  readonly grant: string | undefined;
  readonly client: string | undefined;
  /** Undefined: the call belongs to no agent run, so rules per run are not about it. "": unknown. */
  readonly run: string | undefined;
}

/** State of one rule for one caller. */
export interface HistoryKey {
  /** Key of the route. */
  readonly route: string;
  readonly rule: HistoryRule;
  /** Unique per route, rule, caller and, for `same_argument`, value. */
  readonly text: string;
  /** Whose state it is. */
  readonly caller: string;
}

/** A rule that the call must pass. */
export interface Restriction {
  readonly rule: HistoryRule;
  /** Undefined: the caller or the argument is unknown. */
  readonly key: HistoryKey | undefined;
  readonly isCallerKnown: boolean;
  /** For `total`, in units of 10^-6; otherwise 1. */
  readonly amount: number;
}

export interface CallPlan {
  readonly restrictions: readonly Restriction[];
  /** Remembered once the call is permitted, and again when its result arrives, for `not_after`. */
  readonly marks: readonly HistoryKey[];
  /** Remembered once it has succeeded, for `after`. */
  readonly outcomes: readonly HistoryKey[];
}

/** Rules of a route, and its key. */
export interface RouteHistory {
  readonly key: string;
  readonly rules: readonly HistoryRule[];
  /** A rule depends on the success of calls. */
  readonly needsOutcomes: boolean;
  /** A rule depends on permitted calls, so tasks must store their tool. */
  readonly marksCalls: boolean;
  /** A rule can require an approval. */
  readonly asksApproval: boolean;
}

/** @returns undefined if it has no rules */
export function historyOf({ key, mcp }: Pick<CompiledRoute, "key" | "mcp">): RouteHistory | undefined {
  return routeHistory(key, mcp?.kind === "server" ? mcp.historyRules : undefined);
}

export function routeHistory(key: string, rules: readonly HistoryRule[] | undefined): RouteHistory | undefined {
  if (rules === undefined) return undefined;
  return {
    key,
    rules,
    needsOutcomes: rules.some(({ effect }) => effect.kind === "after"),
    marksCalls: rules.some(({ effect }) => effect.kind === "not_after"),
    asksApproval: rules.some(({ effect }) => effect.kind === "not_after" && effect.approval !== undefined),
  };
}

/** @returns undefined if no rule is about this call */
export function planCall(
  { key: route, rules }: Pick<RouteHistory, "key" | "rules">,
  facts: Facts,
  caller: HistoryCaller,
): CallPlan | undefined {
  let restrictions: Restriction[] | undefined;
  let marks: HistoryKey[] | undefined;
  let outcomes: HistoryKey[] | undefined;
  for (const rule of rules) {
    const { effect } = rule;
    if (rule.per === "run" && caller.run === undefined) continue;
    if (matchesCall(rule.calls, facts) !== FALSE) (restrictions ??= []).push(restrictionOf(route, rule, facts, caller));
    if (effect.kind === "not_after" && matchesCall(effect.calls, facts) !== FALSE) {
      const key = keyOf(route, rule, caller);
      if (key) (marks ??= []).push(key);
    }
    if (effect.kind === "after" && matchesCall(effect.calls, facts) === TRUE) {
      const key = keyOf(route, rule, caller, facts);
      if (key) (outcomes ??= []).push(key);
    }
  }
  if (!restrictions && !marks && !outcomes) return undefined;
  return { restrictions: restrictions ?? [], marks: marks ?? [], outcomes: outcomes ?? [] };
}

/** A message about a task of this tool: reading the result of a call counts like the call. */
export function planTask(
  route: Pick<RouteHistory, "key" | "rules">,
  facts: Facts,
  tool: string,
  caller: HistoryCaller,
): CallPlan | undefined {
  const call = { ...facts, mcp: { ...facts.mcp, method: "tools/call", tool } };
  const { marks = [] } = planCall(route, call, caller) ?? {};
  return marks.length === 0 ? undefined : { restrictions: [], marks, outcomes: [] };
}

function restrictionOf(route: string, rule: HistoryRule, facts: Facts, caller: HistoryCaller): Restriction {
  const amount = rule.effect.kind === "total" ? amountOf(facts, rule.effect.argument) : 1;
  return {
    rule,
    key: amount === undefined ? undefined : keyOf(route, rule, caller, facts),
    isCallerKnown: idOf(rule, caller) !== undefined,
    amount: amount ?? 0,
  };
}

/** Without a grant or client the user's own count applies, which never permits more. */
function idOf({ per }: HistoryRule, caller: HistoryCaller): string | undefined {
  const id = caller[per] ?? caller.user;
  return id === "" ? undefined : id;
}

/** @param facts for the argument that must be the same */
function keyOf(route: string, rule: HistoryRule, caller: HistoryCaller, facts?: Facts): HistoryKey | undefined {
  const { name, per, effect } = rule;
  const id = idOf(rule, caller);
  if (id === undefined) return undefined;
  const whose = caller[per] === undefined ? "user" : per;
  const whole = { route, rule, caller: caller.user ?? id };
  if (effect.kind !== "after") return { ...whole, text: JSON.stringify([route, name, effect.kind, whose, id]) };
  const { sameArgument, identity } = effect;
  const value = sameArgument && facts ? valueOf(facts, sameArgument) : "";
  if (value === undefined) return undefined;
  // Earlier calls under another definition of the rule must not permit anything.
  return { ...whole, text: JSON.stringify([route, name, effect.kind, whose, id, identity, value]) };
}

/** Longer values are kept as their hash: callers choose them, and keys stay in memory. */
const MAX_VALUE = 100;

/** Equal texts for equal values. @returns undefined for other values than a text, number or boolean */
function valueOf({ mcp }: Facts, pointer: readonly string[]): string | undefined {
  const value = mcp?.arguments?.find(pointer, true);
  const number = numberOf(value);
  const text =
    typeof value === "string"
      ? `"${value}`
      : typeof value === "boolean"
        ? String(value)
        : number && `${number.sign} ${number.digits} ${number.exponent}`;
  return text !== undefined && text.length > MAX_VALUE ? `#${hashSecret(text)}` : text;
}

/** @returns undefined if the argument is not a number that can be counted */
function amountOf({ mcp }: Facts, pointer: readonly string[]): number | undefined {
  const number = numberOf(mcp?.arguments?.find(pointer, true));
  return number && unitsOf(number);
}

function numberOf(value: unknown): ReturnType<typeof parseDecimal> {
  if (typeof value === "number") return parseDecimal(String(value));
  return value instanceof NumberToken ? parseDecimal(value.text) : undefined;
}
