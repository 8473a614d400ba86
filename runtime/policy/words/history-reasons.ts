/** Reasons of denials by history rules (`mcp.server.history_rules`); each is followed by ":" and the name of the rule. */

export const HISTORY_REASONS = {
  "history-after": "an earlier call that it requires has not succeeded within its window",
  "history-not-after": "the call is not allowed after an earlier one",
  "history-at-most": "the number of calls within its window is used up",
  "history-total": "the sum within its window would exceed the limit",
  "history-argument-unknown": "an argument that it needs is missing or cannot be read",
  "history-unknown": "earlier calls cannot be checked at the moment",
} as const;

export type HistoryReason = keyof typeof HISTORY_REASONS;

export interface HistoryCause {
  readonly reason: HistoryReason;
  /** Name of the rule. */
  readonly rule: string;
}

export function historyReasonText({ reason, rule }: HistoryCause): string {
  return `${reason}:${rule}`;
}

/** @returns undefined for any other reason */
export function readHistoryReason(text: string): HistoryCause | undefined {
  const colon = text.indexOf(":");
  const reason = text.slice(0, Math.max(0, colon));
  return Object.hasOwn(HISTORY_REASONS, reason)
    ? { reason: reason as HistoryReason, rule: text.slice(colon + 1) }
    : undefined;
}

/** 'history rule "refunds": the sum within its window would exceed the limit' */
export function historyCauseWords({ reason, rule }: HistoryCause): string {
  return `history rule "${rule}": ${HISTORY_REASONS[reason]}`;
}
