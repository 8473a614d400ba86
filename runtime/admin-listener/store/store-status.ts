/** The store in readiness, `/status` and metrics. */
import type { StoreFacts, StoreHealth, StoreState } from "../../store/watch/store-health.ts";
import type { StoreCounts } from "../../store/watch/store-counts.ts";
import { histogram, type Series } from "../series.ts";

/** Its form in readiness and status. */
export interface StoreStatus {
  readonly store: StoreState;
  /** Whole seconds since it was last "ok"; absent while it is, and if it never was. */
  readonly store_failing_seconds?: number;
}

export function storeStatus({ store, failingMs }: StoreFacts): StoreStatus {
  return { store, ...(failingMs !== undefined && { store_failing_seconds: Math.floor(failingMs / 1000) }) };
}

const FROM_BEST: readonly StoreState[] = ["ok", "read-only", "down"];

/** Several processes as one: the worst status, with the longest failure. */
export function worstStoreStatus(each: readonly StoreStatus[]): StoreStatus | undefined {
  const secondsOf = ({ store_failing_seconds: seconds = 0 }: StoreStatus): number => seconds;
  const [worst] = each.toSorted(
    (a, b) => FROM_BEST.indexOf(b.store) - FROM_BEST.indexOf(a.store) || secondsOf(b) - secondsOf(a),
  );
  return worst;
}

/** @param counts of this process */
export function storeSeries(health: Pick<StoreHealth, "known">, counts: StoreCounts): readonly Series[] {
  return [
    {
      name: "gateway_store_operations_total",
      help: "Store operations by outcome: ok, refused (another process was first: a newer version, or a lease that it holds), unavailable.",
      type: "counter",
      *read() {
        for (const [operation, outcomes] of counts.operations)
          for (const [outcome, value] of Object.entries(outcomes)) yield { value, labels: { operation, outcome } };
      },
    },
    {
      name: "gateway_store_duration_seconds",
      help: "Duration of store operations, including failed ones, by kind: read, write.",
      type: "histogram",
      *read() {
        for (const [kind, timed] of Object.entries(counts.durations)) yield* histogram({ kind }, timed);
      },
    },
    {
      name: "gateway_store_up",
      help: "1 if the store responds to this process and accepts its writes, otherwise 0.",
      type: "gauge",
      merge: "min",
      read: () => [{ value: health.known().store === "ok" ? 1 : 0 }],
    },
  ];
}
