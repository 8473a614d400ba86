/**
 * What a criterion, an operator or an action found: an outcome together with the reasons for it, in one small integer.
 *
 * A policy numbers its reasons; a packed outcome is `reasons * 4 + outcome`. That makes evaluation free of allocation, and equal
 * outcomes equal numbers, so a decision is built once and looked up afterwards. Nearly all policies have so few reasons
 * that everything fits into 31 bits, where operations on bits do; the others are computed in halves.
 */
export type PackedOutcome = number;

export const FALSE = 0;
export const TRUE = 1;
/** Cannot be known: nobody is signed in, no device is proven, the provider left a claim out, or (for the server list) no message is there yet. */
export const UNKNOWN = 2;
export type Truth = typeof FALSE | typeof TRUE | typeof UNKNOWN;

/** Two bits of the outcome less than what a number holds exactly (53), with room to spare. */
export const MAX_REASONS = 50;

/** Above it operations on bits see only a part of a number. */
const MAX_BITS = 0x7fff_ffff;
const HALF = 0x8000_0000;

/** @param reasons bit n stands for the policy's n-th reason */
export function packOutcome(outcome: Truth, reasons: number): PackedOutcome {
  return reasons * 4 + outcome;
}

export function outcomeOf(packed: PackedOutcome): Truth {
  return (packed & 3) as Truth;
}

export function reasonsOf(packed: PackedOutcome): number {
  return packed <= MAX_BITS ? packed >>> 2 : Math.floor(packed / 4);
}

/** The set of the one reason with this number. */
export function reasonAt(position: number): number {
  return 2 ** position;
}

/** Both sets of reasons together. */
export function unite(some: number, more: number): number {
  if (some <= MAX_BITS && more <= MAX_BITS) return some | more;
  const high = Math.floor(some / HALF) | Math.floor(more / HALF);
  return high * HALF + ((some % HALF) | (more % HALF));
}

/** The names of a set of reasons, in the order of `names` (sorted by the policy that numbered them). */
export function reasonNames(reasons: number, names: readonly string[]): string[] {
  return names.filter((_, position) => Math.floor(reasons / reasonAt(position)) % 2 === 1);
}
