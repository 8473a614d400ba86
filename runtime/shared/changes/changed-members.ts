/**
 * Members that only one of two lists has. A common start and end are only compared, so that a single change costs
 * little.
 */

export interface ChangedMembers<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

/** Compares by identity, in any order. No list has a member twice. @returns members of one list only */
export function changedMembers<T>(before: readonly T[], after: readonly T[]): ChangedMembers<T> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  if (left.length === 0 || right.length === 0) return { added: right, removed: left };
  const [inLeft, inRight] = [new Set(left), new Set(right)];
  return { added: right.filter((each) => !inLeft.has(each)), removed: left.filter((each) => !inRight.has(each)) };
}
