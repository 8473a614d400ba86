/** Results and durations of the store's operations: plain numbers, incremented by each of them. */
import { type CountedDurations, DurationCounts } from "../../shared/timing/duration-counts.ts";

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
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

export interface StoreCounts {
  readonly operations: ReadonlyMap<StoreOperation, Readonly<Record<StoreOutcome, number>>>;
  readonly durations: { readonly read: CountedDurations; readonly write: CountedDurations };
}

export interface StoreTally extends StoreCounts {
  count(operation: StoreOperation, kind: "read" | "write", outcome: StoreOutcome, tookMs: number): void;
}

export function createStoreTally(): StoreTally {
  const operations = new Map<StoreOperation, Record<StoreOutcome, number>>();
  const durations = { read: new DurationCounts(BUCKETS_MS), write: new DurationCounts(BUCKETS_MS) };
  return {
    operations,
    durations,
    count(operation, kind, outcome, tookMs) {
      let outcomes = operations.get(operation);
      if (!outcomes) operations.set(operation, (outcomes = { ok: 0, refused: 0, unavailable: 0 }));
      outcomes[outcome]++;
      durations[kind].add(tookMs);
    },
  };
}
