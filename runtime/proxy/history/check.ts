/**
 * `mcp.server.history_rules` of a request: before its approval (`after`, `not_after`) and once nothing but limits can deny it
 * (`at_most`, `total`).
 */
import {
  applyEarlier,
  checkEarlier,
  countCall,
  decisionOf,
  type HistoryDenial,
  type HistoryState,
  markCall,
  reasonText,
} from "../../limits/history/decide.ts";
import { type CallPlan, type HistoryCaller, planCall, planTask } from "../../limits/history/plan.ts";
import type { Limited } from "../../limits/rate-limits.ts";
import type { Decision } from "../../policy/facts.ts";
import type { ShadowResult } from "../../policy/shadow.ts";
import { type LimitDeps, takeLimits } from "../answers/limit-request.ts";
import type { RequestContext } from "../request-context.ts";

export interface HistoryDeps extends LimitDeps {
  /** Absent: nothing is known of earlier calls, so rules deny. */
  readonly history?: HistoryState;
}

const NOTHING_KNOWN: HistoryState = {
  isMarked: () => undefined,
  mark: () => false,
  count: () => ({ counted: "unknown" }),
};

/** Progress of one call through the rules. */
export interface HistoryCheck {
  readonly plan: CallPlan;
  /** Denials of shadow rules. */
  readonly shadow: HistoryDenial[];
}

/** @returns undefined if no rule is about the request */
export function planHistory(context: RequestContext): HistoryCheck | undefined {
  const { prepared, facts, tasks } = context;
  if (prepared.history === undefined || facts === undefined) return undefined;
  const caller = callerOf(context);
  const { task } = tasks ?? {};
  const plan = task ? planTask(prepared.history, facts, task.tool, caller) : planCall(prepared.history, facts, caller);
  return plan && { plan, shadow: [] };
}

/** Marks of notifications about tasks of these tools, which carry results. */
export function planListened(context: RequestContext, tools: ReadonlySet<string>): CallPlan | undefined {
  const { prepared, facts } = context;
  if (prepared.history === undefined || facts === undefined) return undefined;
  const { history } = prepared;
  const caller = callerOf(context);
  const marks = [...tools].flatMap((tool) => planTask(history, facts, tool, caller)?.marks ?? []);
  return { restrictions: [], marks: [...new Map(marks.map((key) => [key.text, key])).values()], outcomes: [] };
}

function callerOf({ principal }: RequestContext): HistoryCaller {
  const { user, grantId, clientId } = principal ?? {};
  return { user: user?.id, grant: grantId, client: clientId, run: user?.actor?.run };
}

/** @param decision of the policy: allowed, or lacks only an approval */
export async function checkHistory(
  { history = NOTHING_KNOWN }: HistoryDeps,
  { facts }: RequestContext,
  { plan, shadow }: HistoryCheck,
  decision: Decision,
): Promise<Decision> {
  const found = await checkEarlier(plan, history, facts?.mcp?.method === "tools/call");
  shadow.push(...found.shadow);
  return applyEarlier(decision, found.denials);
}

/** Counts and marks an allowed call, together with the route's rate limits. */
export async function admitByHistory(
  deps: HistoryDeps,
  context: RequestContext,
  { plan, shadow }: HistoryCheck,
  allowed: Decision,
): Promise<{ readonly decision: Decision; readonly limited?: Limited | undefined }> {
  const { history = NOTHING_KNOWN } = deps;
  const counted = await countCall(plan, history);
  shadow.push(...counted.shadow);
  if (counted.denial) return { decision: decisionOf(counted.denial) };
  const limited = await takeLimits(deps, context);
  if (limited) {
    counted.undo();
    return { decision: allowed, limited };
  }
  const lost = await markCall(plan, history);
  if (lost) {
    counted.undo();
    return { decision: decisionOf(lost) };
  }
  context.history = plan;
  context.uncount = counted.undo;
  return { decision: allowed };
}

/** Denials of shadow rules, as results of shadow policies. @param isAllowed whether the request continues */
export function shadowResults(denials: readonly HistoryDenial[], isAllowed: boolean): readonly ShadowResult[] {
  return denials.map((denial) => ({
    candidate: { name: `history_rules.${denial.rule.name}`, kind: "history_rule" },
    outcome: denial.approval === undefined ? "deny" : "approve",
    flip: isAllowed ? "loses" : "none",
    reasons: [reasonText(denial)],
  }));
}
