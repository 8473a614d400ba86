/** Decisions of a route's guardrail, and their words for clients. */
import { refusedDecision } from "../../policy/evaluate.ts";
import type { Decision } from "../../policy/facts.ts";
import type { GuardrailReply } from "./verdict.ts";

/** `guardrail-failed`: it gave no verdict, or one that cannot be followed. */
export type GuardrailReason = "guardrail-denied" | "guardrail-failed";

export interface GuardrailDenial {
  readonly reason: GuardrailReason;
  /** After "denied by". */
  readonly words: string;
}

const DENIALS = new WeakMap<Decision, GuardrailDenial>();

/** @param verdict one that lets nothing pass */
export function denialOf(verdict: Extract<GuardrailReply, { readonly kind: "deny" | "error" }>): GuardrailDenial {
  if (verdict.kind === "error")
    return { reason: "guardrail-failed", words: "the guardrail, which gave no usable verdict" };
  return { reason: "guardrail-denied", words: `the guardrail${verdict.reason === "" ? "" : `: ${verdict.reason}`}` };
}

export function guardrailDecision(denial: GuardrailDenial): Decision {
  const decision = refusedDecision(denial.reason);
  DENIALS.set(decision, denial);
  return decision;
}

/** @returns undefined for decisions of others */
export function guardrailDenial(decision: Decision): GuardrailDenial | undefined {
  return decision.allowed ? undefined : DENIALS.get(decision);
}
