/** What counting requests and counting requests at a time have in common: a gate for each limit of a route. */
import { tellFault } from "../shared/faults/faults.ts";

/** Whether one request passes one limit. */
export interface Taken {
  /** 0: it passes. Above: milliseconds after which the next one may. `UNAVAILABLE`: nobody can tell. */
  readonly waitMs: number;
  /** Where it was counted, when the store was asked for this very request. */
  readonly entry?: string;
}

export const GRANTED: Taken = { waitMs: 0 };
export const UNAVAILABLE_MS = -1;
export const UNAVAILABLE: Taken = { waitMs: UNAVAILABLE_MS };

export interface Gate {
  /** A promise only where the store must be waited for. @param key whose count it is, see rate-limits.ts */
  take(key: string, nowMs: number): Taken | Promise<Taken>;
  /** What `take` would refuse without asking anybody; 0: nothing is known against it. Changes nothing. */
  refuses(key: string, nowMs: number): number;
  /** The request went no further: it is as if it had never asked. */
  giveBack(key: string, taken: Taken): void;
  /** The request is over. */
  release(key: string): void;
  /** What is due: what was not used goes back, what is held is renewed, what is over is forgotten. */
  tend(nowMs: number): void;
  /** The clock was set back: nothing that was to be over by it may go on longer. */
  clockSetBack(nowMs: number): void;
  /** The process ends: what it was given and did not use goes back, as far as that is done at once. */
  retire(): void;
  /** Nothing is remembered that anybody would miss. */
  isIdle(): boolean;
}

/** Smaller limits are counted exactly: the store is asked for each request. */
export const EXACT_BELOW = 20;

/** What one tick asks the store for, of each limit: more at once would keep requests waiting behind it. */
export const MAX_TENDED = 500;

/** What a process that ends gives back, of each limit; of others it counts until its time. */
export const MAX_RETIRED = 500;

/** Keys of one limit that a process remembers; of those beyond, each request waits for the store. */
export const MAX_KEYS = 20_000;

/** Requests that a process lets pass ahead of the store's word, of one key: what a limit can be overshot by, for each process. */
export function advanceOf(most: number): number {
  return most < EXACT_BELOW ? 0 : Math.ceil(most / 100);
}

interface Asked {
  isAsking: boolean;
  readonly waiting: ((taken: Taken) => void)[];
}

/**
 * Puts questions about one count to the store, one after the other. A mistake of ours is no yes, and the next request asks again.
 * @param askOnce says whether there is more to ask
 */
export async function askInTurn<T extends Asked>(count: T, askOnce: (count: T) => Promise<boolean>): Promise<void> {
  if (count.isAsking) return;
  count.isAsking = true;
  try {
    let goOn = true;
    while (goOn) goOn = await askOnce(count);
  } catch (error) {
    tellFault({ scope: "task", what: "a question about a rate limit", error });
    for (const resolve of count.waiting.splice(0)) resolve(UNAVAILABLE);
  } finally {
    count.isAsking = false;
  }
}
