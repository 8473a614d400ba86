/** Decisions that a route's tool lock makes, after policy has allowed the call. */
import { refusedDecision } from "./evaluate.ts";
import type { Decision } from "./facts.ts";

const DECISIONS = {
  changed: refusedDecision("tool-changed", "mcp-tool-unauthorized"),
  unlocked: refusedDecision("tool-not-reviewed", "mcp-tool-unauthorized"),
  unseen: refusedDecision("tool-not-listed", "mcp-tool-unauthorized"),
} as const satisfies Record<string, Decision>;

export type LockReason = "tool-changed" | "tool-not-reviewed" | "tool-not-listed";

export function lockedDecision(state: keyof typeof DECISIONS): Decision {
  return DECISIONS[state];
}

/** @returns undefined for decisions of policy */
export function lockReason(decision: Decision): LockReason | undefined {
  if (decision === DECISIONS.changed) return "tool-changed";
  if (decision === DECISIONS.unseen) return "tool-not-listed";
  return decision === DECISIONS.unlocked ? "tool-not-reviewed" : undefined;
}
