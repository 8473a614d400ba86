/** State of one count of requests in this process, for request-gate.ts, which is the only writer. */
import type { CountEntry } from "../store/allotments.ts";
import type { Taken } from "./gate.ts";

/** For requests allowed ahead of one store query; its response determines where they were counted. */
export interface Ahead {
  readonly waitMs: 0;
  entry?: string;
  /** Number of them that went no further while the query was in flight. */
  returned: number;
}

/** State of one count in this process. */
export interface Count {
  readonly storeKey: string;
  /** Rest of the allotment, the response for its takers, and when the rest expires. */
  left: number;
  taken: Taken & { readonly entry: string };
  validUntilMs: number;
  /** Unused parts of earlier allotments. */
  readonly unused: { readonly entry: string; count: number }[];
  /**
   * Until then all requests are denied without a query; afterwards the store may be queried, and from `freeAtMs` on it
   * should have some.
   */
  fullUntilMs: number;
  freeAtMs: number;
  /** The store had some left at the last query, or was never queried. */
  mayAdvance: boolean;
  /** Allowed ahead of the store, and not reported to it yet. */
  ahead: number;
  aheadTaken: Ahead;
  /** Allowed since the last query: the number to request next. */
  served: number;
  isAsking: boolean;
  readonly waiting: ((taken: Taken) => void)[];
  usedAtMs: number;
  /** Earlier allotments from the store: part of the share while the store is unavailable. */
  told: readonly CountEntry[];
  /** Counted only by this process, while the store was unavailable, and not reported to it. */
  alone: readonly CountEntry[];
}

export function createCount(storeKey: string, mayAdvance: boolean, nowMs: number): Count {
  return {
    storeKey,
    left: 0,
    taken: { waitMs: 0, entry: "" },
    validUntilMs: 0,
    unused: [],
    fullUntilMs: 0,
    freeAtMs: 0,
    mayAdvance,
    ahead: 0,
    aheadTaken: { waitMs: 0, returned: 0 },
    served: 0,
    isAsking: false,
    waiting: [],
    usedAtMs: nowMs,
    told: [],
    alone: [],
  };
}

/** No query is in flight, and nothing must be returned. */
export function isQuiet({ isAsking, left, unused, waiting, ahead }: Count): boolean {
  return !isAsking && left === 0 && unused.length === 0 && waiting.length === 0 && ahead === 0;
}

/** For requests while nothing is left. */
export function refusal({ freeAtMs }: Count, nowMs: number): Taken {
  return { waitMs: Math.max(1, freeAtMs - nowMs) };
}

/** Drops the rest of an expired allotment. */
export function dropInvalid(count: Count, nowMs: number): void {
  if (count.left === 0 || nowMs < count.validUntilMs) return;
  leave(count, count.taken.entry, count.left);
  count.left = 0;
}

/** Marks a part to be returned with the next query. */
export function leave(count: Count, entry: string, unused: number): void {
  if (unused === 0) return;
  const last = count.unused.at(-1);
  if (last?.entry === entry) last.count += unused;
  else count.unused.push({ entry, count: unused });
}

/** Sum of the entries that still count. */
export function sumOf(entries: readonly CountEntry[], nowMs: number): number {
  return entries.reduce((sum, { count, untilMs }) => (untilMs > nowMs ? sum + count : sum), 0);
}
