/** What a process knows of one count of requests, for request-gate.ts, which alone changes it. */
import type { CountEntry } from "../store/allotments.ts";
import type { Taken } from "./gate.ts";

/** For those that pass ahead of one question; its answer says where they were counted. */
export interface Ahead {
  readonly waitMs: 0;
  entry?: string;
  /** Of them, those that went no further while the question was under way. */
  returned: number;
}

/** What this process knows of one count. */
export interface Count {
  readonly storeKey: string;
  /** Of the allotment, what is answered to who takes of it, and when what is left of it is no longer good. */
  left: number;
  taken: Taken & { readonly entry: string };
  validUntilMs: number;
  /** What was given to this process and not used. */
  readonly unused: { readonly entry: string; count: number }[];
  /** Until then nobody passes and the store is not asked; then it may be, and from `freeAtMs` on it should have some. */
  fullUntilMs: number;
  freeAtMs: number;
  /** The store had some when it was asked last, or was never asked. */
  mayAdvance: boolean;
  /** Let pass ahead of the store's word, which it has not been told yet. */
  ahead: number;
  aheadTaken: Ahead;
  /** Let pass since the store was asked last: how many are asked for next. */
  served: number;
  isAsking: boolean;
  readonly waiting: ((taken: Taken) => void)[];
  usedAtMs: number;
  /** What this process was given by the store: part of its share while the store is away. */
  told: readonly CountEntry[];
  /** Counted by this process alone, while the store was away, of which the store has not been told. */
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

/** Nothing is under way, and nothing is to be given back. */
export function isQuiet({ isAsking, left, unused, waiting, ahead }: Count): boolean {
  return !isAsking && left === 0 && unused.length === 0 && waiting.length === 0 && ahead === 0;
}

/** For who comes while there is nothing left. */
export function refusal({ freeAtMs }: Count, nowMs: number): Taken {
  return { waitMs: Math.max(1, freeAtMs - nowMs) };
}

/** What is left of an allotment whose time is over. */
export function dropInvalid(count: Count, nowMs: number): void {
  if (count.left === 0 || nowMs < count.validUntilMs) return;
  leave(count, count.taken.entry, count.left);
  count.left = 0;
}

/** To be given back with the next question. */
export function leave(count: Count, entry: string, unused: number): void {
  if (unused === 0) return;
  const last = count.unused.at(-1);
  if (last?.entry === entry) last.count += unused;
  else count.unused.push({ entry, count: unused });
}

/** What counts of these by now. */
export function sumOf(entries: readonly CountEntry[], nowMs: number): number {
  return entries.reduce((sum, { count, untilMs }) => (untilMs > nowMs ? sum + count : sum), 0);
}
