/**
 * Promised writes that the store has not accepted: retried in the background until it does.
 *
 * A write is pending from before its first attempt. So a caller that got "not now" can repeat the request, and the
 * write happens even if it does not. Bounds: a pending write ends with its lifetime, after which it would have no
 * effect, and with the process.
 */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";

export interface RetriedWrites {
  has(key: string): boolean;
  /** Any write is pending. */
  waits(): boolean;
  /** Writes now, and retries if that fails. @throws errors of the first attempt */
  settle(key: string): Promise<void>;
  /** Retries pending writes, oldest first, until one fails. Call it when the store responds. */
  retry(): Promise<void>;
  /** Tries once more. */
  close(): Promise<void>;
}

export interface RetriedWritesOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Name of the pending writes for the log: "revocations". */
  readonly what: string;
  /** Seconds after which a write would no longer have an effect. */
  readonly lifetime: () => number;
  /** Must be idempotent. */
  readonly act: (key: string) => Promise<void>;
}

export function createRetriedWrites({ clock, log, what, lifetime, act }: RetriedWritesOptions): RetriedWrites {
  /** Key → epoch seconds until which it is pending. */
  const pending = new Map<string, number>();
  /**
   * Keys whose first attempt has not ended. The feed, which it writes to, is read meanwhile: that must not cause a
   * second write.
   */
  const attempted = new Set<string>();
  let retrying: Promise<void> | undefined;

  const retryAll = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) {
      if ((pending.get(key) ?? 0) > epochSeconds(clock)) await act(key);
      pending.delete(key);
    }
    log.info({ what, count: keys.length }, "pending store writes completed");
  };

  const retry = (keys = [...pending.keys()].filter((key) => !attempted.has(key))): Promise<void> => {
    if (keys.length === 0) return Promise.resolve();
    retrying ??= retryAll(keys)
      // Retried at the next read of the feed.
      .catch((error: unknown) =>
        log.warn({ what, count: pending.size, reason: errorText(error) }, "store writes pending"),
      )
      .finally(() => (retrying = undefined));
    return retrying;
  };

  return {
    has: (key) => pending.has(key),
    waits: () => pending.size > 0,
    async settle(key) {
      pending.set(key, epochSeconds(clock) + lifetime());
      attempted.add(key);
      try {
        await act(key);
        pending.delete(key);
      } finally {
        attempted.delete(key);
      }
    },
    retry: () => retry(),
    async close() {
      await retrying;
      await retry([...pending.keys()]);
      if (pending.size > 0) log.error({ what, count: pending.size }, "store writes lost on shutdown");
    },
  };
}
