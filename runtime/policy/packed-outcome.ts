/**
 * Result of a criterion, an operator or an action: outcome and reasons in one small integer.
 *
 * A policy numbers its reasons; a packed outcome is `reasons * 4 + outcome`. That makes evaluation free of allocation,
 * and equal outcomes equal numbers, so a decision is built once and looked up afterwards. Nearly all policies have so
 * few reasons that everything fits into 31 bits, the range of bit operations; larger ones are computed in halves.
 */
export type PackedOutcome = number;

export const FALSE = 0;
export const TRUE = 1;
/**
 * Unknown: not signed in, no verified device, a claim omitted by the provider, or (for the server list) no message yet.
 */
export const UNKNOWN = 2;
export type Truth = typeof FALSE | typeof TRUE | typeof UNKNOWN;

/** Below 53 bits, which a number holds exactly, minus two for the outcome. */
export const MAX_REASONS = 50;

/** Above it, bit operations lose part of a number. */
const MAX_BITS = 0x7fff_ffff;
const HALF = 0x8000_0000;

/** @param reasons bit n represents the policy's n-th reason */
export function packOutcome(outcome: Truth, reasons: number): PackedOutcome {
  return reasons * 4 + outcome;
}

export function outcomeOf(packed: PackedOutcome): Truth {
  return (packed & 3) as Truth;
}

export function reasonsOf(packed: PackedOutcome): number {
  return packed <= MAX_BITS ? packed >>> 2 : Math.floor(packed / 4);
}

/** Set with only the reason of this number. */
export function reasonAt(position: number): number {
  return 2 ** position;
}

/** Union of two sets of reasons. */
export function unite(some: number, more: number): number {
  if (some <= MAX_BITS && more <= MAX_BITS) return some | more;
  const high = Math.floor(some / HALF) | Math.floor(more / HALF);
  return high * HALF + ((some % HALF) | (more % HALF));
}

/** Names of a set of reasons, in the order of `names` (sorted by the policy that numbered them). */
export function reasonNames(reasons: number, names: readonly string[]): string[] {
  return names.filter((_, position) => Math.floor(reasons / reasonAt(position)) % 2 === 1);
}
