/**
 * The limits' access to the store: with a bounded wait, and no queries for a while after a failure.
 *
 * Promise: an unavailable store never allows a request. It is a separate result (`undefined`), and each limit decides
 * what follows.
 */
import { randomSecret } from "../shared/keys.ts";
import { errorText } from "../shared/errors.ts";
import { ignore } from "../shared/ignore.ts";
import { task } from "../shared/faults/guard.ts";
import { type Clock, type Closable, withinAwake } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import type { Allotment, AllotmentRequest } from "../store/allotments.ts";
import type { Store } from "../store/store.ts";

export interface SharedCountsDeps {
  readonly store: Pick<Store, "allot">;
  /** Number of processes that share the store now. */
  readonly countProcesses: () => Promise<number>;
  readonly clock: Clock;
  readonly log: Log;
  /** Time after which a store counts as unavailable; default: 2 s. */
  readonly longestWaitMs?: number;
}

export interface SharedCounts extends Closable {
  /** Unique per process. */
  readonly holder: string;
  /** @param onLate called with a late allotment @returns undefined when the store is unavailable */
  allot(
    key: string,
    request: AllotmentRequest,
    onLate?: (allotment: Allotment) => void,
  ): Promise<Allotment | undefined>;
  /** Whether the store failed a moment ago, and is not queried. */
  isUnavailable(nowMs: number): boolean;
  /**
   * This process's share of a limit while the store is unavailable, rounded down; 0 if the number of processes is
   * unknown.
   */
  shareOf(most: number): number;
  /** Updates the number of processes. Called from time to time. */
  lookAround(): Promise<void>;
}

const LONGEST_WAIT_MS = 2_000;
const LEFT_ALONE_MS = 5_000;

export function createSharedCounts(deps: SharedCountsDeps): SharedCounts {
  const { store, countProcesses, clock, log, longestWaitMs = LONGEST_WAIT_MS } = deps;
  let askAgainAtMs = 0;
  let leftAloneAtMs = 0;
  let isUnavailable = false;
  let processes = 0;
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  return {
    holder: randomSecret(12),

    async allot(key, request, onLate) {
      if (isClosed) return undefined;
      const asked = store.allot(key, request);
      const work = withinAwake(longestWaitMs, asked, () => {
        if (onLate) asked.then(task("an allotment that came late", onLate), ignore);
        throw new Error(`no answer within ${longestWaitMs / 1000} s`);
      });
      underWay.add(work);
      try {
        const allotment = await work;
        if (isUnavailable) log.info("shared rate limits recovered");
        isUnavailable = false;
        return allotment;
      } catch (error) {
        if (!isUnavailable) log.warn({ reason: errorText(error) }, "cannot share rate limit counts");
        isUnavailable = true;
        leftAloneAtMs = clock.now();
        askAgainAtMs = leftAloneAtMs + LEFT_ALONE_MS;
        return undefined;
      } finally {
        underWay.delete(work);
      }
    },

    isUnavailable: (nowMs) => isUnavailable && nowMs < askAgainAtMs && nowMs >= leftAloneAtMs,
    shareOf: (most) => (processes === 0 ? 0 : Math.floor(most / processes)),

    async lookAround() {
      try {
        // None: this process has sent no heartbeat yet, so the number is unknown.
        processes = (await countProcesses()) || processes;
      } catch {
        // The last number stays: those processes may still run.
      }
    },

    async close() {
      isClosed = true;
      await Promise.allSettled(underWay);
    },
  };
}
