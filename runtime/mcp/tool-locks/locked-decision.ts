/** Decisions that a route's tool lock makes, after policy has allowed the call. */
import { refusedDecision } from "../../policy/evaluate.ts";
import type { Decision } from "../../policy/facts.ts";

const REASONS = { changed: "tool-changed", unlocked: "tool-not-reviewed", unseen: "tool-not-listed" } as const;

export type LockReason = (typeof REASONS)[keyof typeof REASONS];

const DECISIONS = new Map<Decision, LockReason>();

const decide = (...others: readonly string[]): Readonly<Record<keyof typeof REASONS, Decision>> => {
  const made = (reason: LockReason): Decision => {
    const decision = refusedDecision(reason, ...others);
    DECISIONS.set(decision, reason);
    return decision;
  };
  return { changed: made(REASONS.changed), unlocked: made(REASONS.unlocked), unseen: made(REASONS.unseen) };
};
const OF_TOOLS = decide("mcp-tool-unauthorized");
const OF_OTHERS = decide();

/** @param isTool otherwise a prompt or a resource template, with the same reasons */
export function lockedDecision(state: keyof typeof REASONS, isTool: boolean): Decision {
  return (isTool ? OF_TOOLS : OF_OTHERS)[state];
}

/** @returns undefined for decisions of policy */
export function lockReason(decision: Decision): LockReason | undefined {
  return decision.allowed ? undefined : DECISIONS.get(decision);
}
