/** The common interface of limits on requests and on concurrent requests: a gate for each limit of a route. */
import { reportFault } from "../shared/faults/faults.ts";

/** Whether one request passes one limit. */
export interface Taken {
  /** 0: allowed. Above: milliseconds after which the next one may be. `UNAVAILABLE`: unknown. */
  readonly waitMs: number;
  /** Entry of the count, if the store was queried for this very request. */
  readonly entry?: string;
}

export const GRANTED: Taken = { waitMs: 0 };
export const UNAVAILABLE_MS = -1;
export const UNAVAILABLE: Taken = { waitMs: UNAVAILABLE_MS };

export interface Gate {
  /** A promise only if it must wait for the store. @param key of the count, see rate-limits.ts */
  take(key: string, nowMs: number): Taken | Promise<Taken>;
  /** The refusal that `take` would return without a query; 0: no known reason. Changes nothing. */
  refuses(key: string, nowMs: number): number;
  /** The request went no further: undoes its count. */
  giveBack(key: string, taken: Taken): void;
  /** The request is over. */
  release(key: string): void;
  /** Periodic work: returns unused allotments, renews held ones, removes old state. */
  tend(nowMs: number): void;
  /** The clock was set back: earlier deadlines must not extend. */
  clockSetBack(nowMs: number): void;
  /** The process ends: returns its unused allotment, as far as that is possible immediately. */
  retire(): void;
  /** Whether the gate has no state worth keeping. */
  isIdle(): boolean;
}

/** Smaller limits are counted exactly, with a store query for each request. */
export const EXACT_BELOW = 20;

/** A slot is this fraction of the window, and an allotment at most this fraction of the limit. */
export const PARTS = 10;

export function slotOf(most: number, windowMs: number): number {
  return most < EXACT_BELOW ? 1 : Math.ceil(windowMs / PARTS);
}

/** Store requests per tick and limit: more would delay user requests behind them. */
export const MAX_TENDED = 500;

/** Entries that an ending process returns, per limit; others count until they expire. */
export const MAX_RETIRED = 500;

/** Most keys of one limit that a process remembers; for others, each request waits for the store. */
export const MAX_KEYS = 20_000;

/**
 * Requests that a process allows ahead of the store's response, per key: the possible excess over a limit, for each
 * process.
 */
export function advanceOf(most: number): number {
  return most < EXACT_BELOW ? 0 : Math.ceil(most / 100);
}

interface Asked {
  isAsking: boolean;
  readonly waiting: ((taken: Taken) => void)[];
}

/**
 * Sends requests about one count to the store, one at a time. A programming error never allows a request, and the next
 * request tries again.
 * @param askOnce returns whether there is more to do
 */
export async function askInTurn<T extends Asked>(count: T, askOnce: (count: T) => Promise<boolean>): Promise<void> {
  if (count.isAsking) return;
  count.isAsking = true;
  try {
    let goOn = true;
    while (goOn) goOn = await askOnce(count);
  } catch (error) {
    reportFault({ scope: "task", what: "a question about a rate limit", error });
    for (const resolve of count.waiting.splice(0)) resolve(UNAVAILABLE);
  } finally {
    count.isAsking = false;
  }
}
