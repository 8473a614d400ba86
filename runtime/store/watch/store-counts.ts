/** Results and durations of the store's operations: plain numbers, incremented by each of them. */

/** Methods of `Store`, and those of a lease. */
export type StoreOperation =
  | "get"
  | "put"
  | "delete"
  | "take"
  | "list"
  | "page"
  | "keys"
  | "delete_by_tag"
  | "lease"
  | "renew"
  | "release"
  | "allot"
  | "append"
  | "changes_since"
  | "now"
  | "sweep";

/** "refused": the store responded, and another process was first: another version, another holder. */
export type StoreOutcome = "ok" | "refused" | "unavailable";

/** Upper bounds; longer durations are counted in one more bucket. */
export const STORE_BUCKETS_MS: readonly number[] = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

interface Durations {
  /** Counts per bucket, not cumulative; the last is for all above. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface StoreCounts {
  readonly operations: ReadonlyMap<StoreOperation, Readonly<Record<StoreOutcome, number>>>;
  readonly durations: { readonly read: Durations; readonly write: Durations };
}

export interface StoreTally extends StoreCounts {
  count(operation: StoreOperation, kind: "read" | "write", outcome: StoreOutcome, tookMs: number): void;
}

export function createStoreTally(): StoreTally {
  const operations = new Map<StoreOperation, Record<StoreOutcome, number>>();
  const none = () => ({ counts: [...STORE_BUCKETS_MS, Infinity].map(() => 0), sumMs: 0 });
  const durations = { read: none(), write: none() };
  return {
    operations,
    durations,
    count(operation, kind, outcome, tookMs) {
      let outcomes = operations.get(operation);
      if (!outcomes) operations.set(operation, (outcomes = { ok: 0, refused: 0, unavailable: 0 }));
      outcomes[outcome]++;
      const timed = durations[kind];
      let bucket = 0;
      while (bucket < STORE_BUCKETS_MS.length && tookMs > (STORE_BUCKETS_MS[bucket] ?? 0)) bucket++;
      timed.counts[bucket] = (timed.counts[bucket] ?? 0) + 1;
      timed.sumMs += tookMs;
    },
  };
}
