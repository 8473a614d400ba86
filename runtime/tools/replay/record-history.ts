/**
 * History rules over recorded calls of one route, in the order of their times.
 *
 * Promises: decided by the code of a running gateway. A verdict that depends on what a record omits, or on an outcome
 * that was not recorded, is `undecidable`, never a guess.
 */
import type { HistoryRule } from "../../features/mcp/compile-history.ts";
import {
  applyEarlier,
  checkEarlier,
  countCall,
  decisionOf,
  type HistoryDenial,
  type HistoryState,
  markCall,
} from "../../limits/history/decide.ts";
import { MemoryHistory } from "../../limits/history/memory-history.ts";
import { type HistoryCaller, type HistoryKey, planCall, type RouteHistory } from "../../limits/history/plan.ts";
import type { Decision, Facts } from "../../policy/facts.ts";
import { omittedValues, type RecordedFacts, type RecordedPolicy } from "../../policy/recorded/decide-recorded.ts";
import { Withheld } from "../../policy/recorded/withheld.ts";
import { OmittedToken } from "../../shared/canonical-json.ts";

export interface HistoryAnswer {
  /** Undefined: cannot be decided. */
  readonly decision: Decision | undefined;
  /** By enforced rules and by rules in shadow. */
  readonly denials: readonly HistoryDenial[];
  /** Keys to mark when the call succeeds. */
  readonly outcomes: readonly HistoryKey[];
  /** The call goes no further: it counts for nothing. */
  undo(): void;
}

export class RecordHistory {
  readonly #route: RouteHistory;
  readonly #criteria: readonly RecordedPolicy[];
  readonly #certain = new MemoryHistory();
  /** Also marked by calls whose outcome is unknown. */
  readonly #possible = new MemoryHistory();

  /** @param criteria of the route's rules, for omitted values */
  constructor(route: RouteHistory, criteria: readonly RecordedPolicy[]) {
    this.#route = route;
    this.#criteria = criteria;
  }

  /** Decides a call that policy allows, and counts it unless it is denied. Times must not decrease. */
  async decide(timeMs: number, facts: Facts, caller: HistoryCaller, allowed: Decision): Promise<HistoryAnswer> {
    this.#certain.nowMs = timeMs;
    this.#possible.nowMs = timeMs;
    const reader = readableFacts(facts);
    const plan = planCall(this.#route, reader.facts, caller);
    if (!plan) return { decision: allowed, denials: [], outcomes: [], undo() {} };
    const isTool = facts.mcp?.method === "tools/call";
    const earlier = await checkEarlier(plan, this.#state, isTool);
    const decision = applyEarlier(allowed, earlier.denials);
    const isDenied = !decision.allowed && !decision.approval;
    const limits = isDenied ? undefined : await countCall(plan, this.#state);
    const denials = [...earlier.denials, ...earlier.shadow, ...(limits?.shadow ?? [])];
    const final = limits?.denial ? decisionOf(limits.denial) : decision;
    if (limits?.denial) denials.unshift(limits.denial);
    else if (!isDenied) await markCall(plan, this.#state);
    const isOpen =
      reader.isWithheld() ||
      denials.some(({ rule, reason }) => !rule.isShadow && reason === "history-unknown") ||
      this.#criteria.some((each) => omittedValues(each, facts as RecordedFacts).length > 0);
    return {
      decision: isOpen ? undefined : final,
      denials,
      outcomes: limits?.denial || isDenied ? [] : plan.outcomes,
      undo: () => limits?.undo(),
    };
  }

  /** @param hasSucceeded undefined: unknown */
  settle(timeMs: number, outcomes: readonly HistoryKey[], hasSucceeded: boolean | undefined): void {
    if (hasSucceeded === false) return;
    const state = hasSucceeded === undefined ? this.#possible : this.#certain;
    state.nowMs = timeMs;
    for (const key of outcomes) state.mark(key);
  }

  readonly #state: HistoryState = {
    isMarked: (key) => this.#certain.isMarked(key) || (this.#possible.isMarked(key) ? undefined : false),
    mark: (key) => this.#certain.mark(key),
    count: (key, amount) => this.#certain.count(key, amount),
  };
}

/** Values that a record has only as digests stay comparable, if they are texts; all others are noticed. */
function readableFacts(facts: Facts): { readonly facts: Facts; isWithheld(): boolean } {
  const { mcp } = facts;
  let isWithheld = false;
  if (mcp?.tool === undefined || !("recordedArguments" in facts)) return { facts, isWithheld: () => false };
  const { recordedArguments: given } = facts as RecordedFacts;
  const find = (pointer: readonly string[], withNumbers: boolean): unknown => {
    const value = given?.find(pointer, withNumbers);
    if (given === undefined || value instanceof OmittedToken) isWithheld = true;
    else if (value instanceof Withheld) {
      if (value.type === "string" && value.digest !== undefined) return `\0${value.digest}`;
      isWithheld = true;
    } else return value;
    return undefined;
  };
  return { facts: { ...facts, mcp: { ...mcp, arguments: { find } } }, isWithheld: () => isWithheld };
}

export interface RuleNeeds {
  /** Whether a rule reads an argument itself. */
  readonly readsArguments: boolean;
  /** Member names in pointers of rules. */
  readonly names: readonly string[];
}

export function needsOfRules(rules: readonly HistoryRule[]): RuleNeeds {
  const pointers = rules.flatMap(({ effect }) =>
    effect.kind === "total"
      ? [effect.argument]
      : effect.kind === "after" && effect.sameArgument
        ? [effect.sameArgument]
        : [],
  );
  return { readsArguments: pointers.length > 0, names: pointers.flat() };
}
