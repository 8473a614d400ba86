/** Durations as histograms count them: plain numbers, incremented by each. */
export class DurationCounts {
  /** Upper bounds of the buckets, in milliseconds. */
  readonly bucketsMs: readonly number[];
  /** Counts per bucket, not cumulative; the last is for all above. */
  readonly counts: number[];
  sumMs = 0;

  constructor(bucketsMs: readonly number[]) {
    this.bucketsMs = bucketsMs;
    this.counts = [...bucketsMs, Infinity].map(() => 0);
  }

  add(tookMs: number): void {
    const { bucketsMs, counts } = this;
    let bucket = 0;
    while (bucket < bucketsMs.length && tookMs > (bucketsMs[bucket] as number)) bucket++;
    counts[bucket] = (counts[bucket] as number) + 1;
    this.sumMs += tookMs;
  }
}

/** The same for readers. */
export type CountedDurations = Readonly<Pick<DurationCounts, "bucketsMs" | "counts" | "sumMs">>;
