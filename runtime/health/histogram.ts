/**
 * Durations of responses, counted in buckets with the same bounds in every process and every version: counts of several
 * processes can be added, and a quantile of the sum covers all of them.
 */

/** Eight bounds per decade: a quantile is off by a sixth at most. */
const BOUNDS_PER_DECADE = 8;
/** Upper bound of the first bucket, in milliseconds. */
const FIRST_MS = 0.1;
/** The last one has all durations above 56 s, the bound below it. */
export const BUCKETS = 48;

/** Upper bound of a bucket in milliseconds. */
export function boundMs(bucket: number): number {
  return FIRST_MS * 10 ** (bucket / BOUNDS_PER_DECADE);
}

export function bucketOf(ms: number): number {
  // Also for a negative duration after the clock was set back.
  if (!(ms > FIRST_MS)) return 0;
  const bucket = Math.ceil(Math.log10(ms / FIRST_MS) * BOUNDS_PER_DECADE);
  return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/** Buckets as pairs of index and count, without the empty ones. JSON that grows with its content. */
export type Durations = readonly number[];

export function addDurations(a: Durations, b: Durations): Durations {
  const counts = new Map<number, number>();
  for (const [bucket, count] of [...pairs(a), ...pairs(b)]) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  return [...counts].toSorted(([one], [other]) => one - other).flat();
}

/**
 * @param share 0.5 for the median
 * @returns milliseconds, between the bounds of the quantile's bucket; undefined when nothing was counted
 */
export function quantileMs(durations: Durations, share: number): number | undefined {
  let total = 0;
  for (const [, count] of pairs(durations)) total += count;
  if (total === 0) return undefined;
  let below = 0;
  for (const [bucket, count] of pairs(durations)) {
    const inside = (share * total - below) / count;
    if (inside <= 1) return boundMs(bucket - 1 + Math.max(0, inside));
    below += count;
  }
  return undefined;
}

function* pairs(durations: Durations): Iterable<readonly [bucket: number, count: number]> {
  for (let index = 0; index + 1 < durations.length; index += 2) {
    yield [durations[index] as number, durations[index + 1] as number];
  }
}
