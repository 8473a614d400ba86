/**
 * Refreshes of single-use tokens: many servers rotate refresh tokens, and treat a second use as theft.
 *
 * Promises: one refresh per key at a time in this process, with one result for all callers; one at a time across
 * replicas, by a lease of the store. The lease is short and is renewed while the work runs, so that others wait only
 * briefly for a process that died. After each wait, a caller checks what the other holder stored.
 */
import { setTimeout as delay } from "node:timers/promises";
import { task } from "./faults/guard.ts";

/** How long others wait for a holder that died; a holder that stops running for longer loses the lease. */
export const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 3_000;

interface Lease {
  renew(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

/** Steps of one refresh. T is its result; undefined: none. */
export interface LeasedWork<T extends object> {
  /** Acquires the lease for this time. @returns undefined while another process has it */
  readonly lease: (ttlMs: number) => Promise<Lease | undefined>;
  /** Milliseconds before each further attempt; after the last one the refresh is abandoned. */
  readonly waits: Iterable<number>;
  /** Result of another holder; undefined to try the lease again. */
  readonly look: () => Promise<T | undefined>;
  /** Runs under the lease; undefined when the state has changed and must be read again. */
  readonly work: () => Promise<T | undefined>;
}

export interface LeasedRefreshes<T extends object> {
  /** Starts a refresh, or joins the one in progress under this key. */
  readonly once: (key: string, begin: () => Promise<T>) => Promise<T>;
  /** @returns undefined when the lease was not available, or the process stops */
  readonly underLease: (refresh: LeasedWork<T>) => Promise<T | undefined>;
  /** Ends all waits, and waits for running work. */
  readonly close: () => Promise<void>;
}

export function createLeasedRefreshes<T extends object>(): LeasedRefreshes<T> {
  const running = new Map<string, Promise<T>>();
  const closing = new AbortController();

  return {
    once(key, begin) {
      let refresh = running.get(key);
      if (!refresh) {
        refresh = begin().finally(() => running.delete(key));
        running.set(key, refresh);
      }
      return refresh;
    },

    async underLease({ lease, waits, look, work }) {
      const cooldowns = waits[Symbol.iterator]();
      while (!closing.signal.aborted) {
        const held = await lease(LEASE_MS);
        if (held) {
          const end = keepRenewed(held);
          try {
            const done = await work();
            if (done !== undefined) return done;
          } finally {
            end();
            // The lease expires on its own; the result stays valid.
            await held.release().catch(() => {});
          }
        }
        const pause = cooldowns.next();
        if (pause.done === true) return undefined;
        if (!held) await delay(pause.value, undefined, { signal: closing.signal }).catch(() => {});
        const done = await look();
        if (done !== undefined) return done;
      }
      return undefined;
    },

    async close() {
      closing.abort();
      await Promise.allSettled(running.values());
    },
  };
}

/** @param onLost called when another process has it @returns a function that ends the renewals */
export function keepRenewed(lease: Lease, onLost: () => void = () => {}): () => void {
  let ended = false;
  const renew = async (): Promise<void> => {
    // Retries while the store is unavailable: no other process gets the lease then either.
    const isHeld = await lease.renew(LEASE_MS).catch(() => true);
    if (!isHeld && !ended) onLost();
    if (isHeld && !ended) timer = setTimeout(task("the renewal of a lease", renew), RENEW_EVERY_MS);
  };
  let timer = setTimeout(task("the renewal of a lease", renew), RENEW_EVERY_MS);
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
