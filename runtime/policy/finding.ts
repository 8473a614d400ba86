/**
 * What a criterion, an operator or an action found: an outcome together with the reasons for it, in one small integer.
 *
 * A policy numbers its reasons; a finding is `reasons << 2 | outcome`. That makes evaluation free of allocation, and equal
 * findings equal numbers, so a decision is built once and looked up afterwards.
 */
export type Finding = number;

export const FALSE = 0;
export const TRUE = 1;
/** Cannot be known: nobody is signed in, or (for the server list) no message is there yet. */
export const UNKNOWN = 2;
export type Outcome = typeof FALSE | typeof TRUE | typeof UNKNOWN;

/** 32 bits less the two of the outcome. */
export const MAX_REASONS = 30;

/** @param reasons bit n stands for the policy's n-th reason */
export function finding(outcome: Outcome, reasons: number): Finding {
  return (reasons << 2) | outcome;
}

export function outcomeOf(finding: Finding): Outcome {
  return (finding & 3) as Outcome;
}

export function reasonsOf(finding: Finding): number {
  return finding >>> 2;
}

/** The names of a set of reasons, in the order of `names` (sorted by the policy that numbered them). */
export function reasonNames(reasons: number, names: readonly string[]): string[] {
  return names.filter((_, position) => (reasons & (1 << position)) !== 0);
}
