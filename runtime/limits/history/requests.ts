/** Requests to counts for history rules: the same for the store and for memory. */
import type { HistoryRule } from "../../features/mcp/compile-history.ts";
import type { AllotmentRequest } from "../../store/allotments.ts";
import { slotOf } from "../gate.ts";

const LAST = "last";
/** A total's window is counted in these parts: an amount counts up to one part longer. */
const TOTAL_PARTS = 100;
const MAX_SLACK_MS = 86_400_000;
const BASE = { spent: 0, share: 1, slotMs: 1, isDurable: true } as const;

/** Reads a mark, without changing it. */
export function markQuery({ effect }: HistoryRule): AllotmentRequest {
  return { ...BASE, limit: 1, wanted: 0, keepMs: effect.withinMs + slackMs(effect) };
}

/** Sets or renews a mark. */
export function markRequest({ effect }: HistoryRule): AllotmentRequest {
  const keepMs = effect.withinMs + slackMs(effect);
  return { ...BASE, limit: 1, wanted: 1, spent: 1, keepMs, holder: LAST, back: { entry: LAST, count: 1 } };
}

/** A mark that denies may last up to a tenth of its window longer, so that it is not renewed for each call. */
export function slackMs({ kind, withinMs }: HistoryRule["effect"]): number {
  return kind === "not_after" ? Math.min(MAX_SLACK_MS, Math.floor(withinMs / 10)) : 0;
}

/** Counts a call or an amount. */
export function countRequest({ effect }: HistoryRule, amount: number): AllotmentRequest | undefined {
  const { withinMs: keepMs } = effect;
  if (effect.kind === "total") {
    if (amount > effect.limit) return undefined;
    const slotMs = Math.ceil(keepMs / TOTAL_PARTS);
    return { ...BASE, limit: effect.limit, wanted: amount, keepMs, slotMs, isWhole: true };
  }
  if (effect.kind !== "at_most") throw new TypeError("a rule that counts nothing");
  return { ...BASE, limit: effect.count, wanted: 1, keepMs, slotMs: slotOf(effect.count, keepMs) };
}

/** Undoes what was counted. */
export function undoRequest(request: AllotmentRequest, entry: string, count: number): AllotmentRequest {
  return { ...request, wanted: 0, isWhole: false, back: { entry, count } };
}
