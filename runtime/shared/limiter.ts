import { setImmediate as nextTurn } from "node:timers/promises";

/** A limit on concurrent work; the rest waits its turn. */
export interface Limiter {
  take<T>(work: () => Promise<T>): Promise<T>;
}

export function createLimiter(atOnce: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async take(work) {
      if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await work();
      } finally {
        // The slot goes to the next one, or becomes free.
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}

/**
 * A limit on concurrent work, divided among parties: each gets at most as much as is still free, so half of all if it
 * is the only one.
 */
export interface FairLimiter {
  /** @param signal ends the waiting @throws the signal's reason, if it is aborted before the work starts */
  take<T>(party: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Party {
  running: number;
  readonly waiting: Set<() => void>;
}

/** Expired waiters rejected in one turn of the event loop: each rejection leads to a response. */
const LEAVING_AT_ONCE = 8;

export function createFairLimiter(atOnce: number): FairLimiter {
  /** Parties with work. The first has its turn next. */
  const parties = new Map<string, Party>();
  let running = 0;
  let left = 0;
  let leaving = Promise.resolve();

  const leave = (reject: () => void): void => {
    if (left % LEAVING_AT_ONCE === 0) leaving = leaving.then(() => nextTurn());
    left += 1;
    void leaving.then(reject);
  };
  const drop = (name: string, party: Party): void => {
    if (party.running + party.waiting.size === 0 && parties.get(name) === party) parties.delete(name);
  };
  const admit = (): void => {
    for (const [name, party] of parties) {
      const [next] = party.waiting;
      if (next === undefined || party.running >= atOnce - running) continue;
      party.waiting.delete(next);
      party.running += 1;
      running += 1;
      // Added again after the others, so that this loop revisits it.
      parties.delete(name);
      parties.set(name, party);
      next();
    }
  };

  return {
    async take(name, work, signal) {
      signal?.throwIfAborted();
      const party = parties.get(name) ?? { running: 0, waiting: new Set() };
      parties.set(name, party);
      await new Promise<void>((resolve, reject) => {
        const begin = (): void => {
          signal?.removeEventListener("abort", giveUp);
          resolve();
        };
        const giveUp = (): void => {
          party.waiting.delete(begin);
          drop(name, party);
          leave(() => reject(signal?.reason as Error));
        };
        signal?.addEventListener("abort", giveUp, { once: true });
        party.waiting.add(begin);
        admit();
      });
      try {
        return await work();
      } finally {
        party.running -= 1;
        running -= 1;
        drop(name, party);
        // When many expire together, they are rejected first: no work starts without time left.
        void nextTurn().then(admit);
      }
    },
  };
}
