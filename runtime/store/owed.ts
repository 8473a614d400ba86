/**
 * What a process has promised and the store has not taken: done again, in the background, until it is taken.
 *
 * A debt is held from before its first attempt. So whoever was answered "not now" may ask again, and what they asked for comes
 * about even when they do not. Bounds: a debt ends with its time, after which it would change nothing; and with the process.
 */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";

export interface Owed {
  has(key: string): boolean;
  /** Does it now, and holds it while that fails. @throws what doing it throws */
  settle(key: string): Promise<void>;
  /** Does what is held, the oldest first, until one fails. To be called when the store answers. */
  retry(): Promise<void>;
  /** Tries once more. */
  close(): Promise<void>;
}

export interface OwedOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** What is owed, for the log: "revocations". */
  readonly what: string;
  /** Seconds after which a debt would change nothing any more. */
  readonly lifetime: () => number;
  /** Must be good to do twice. */
  readonly act: (key: string) => Promise<void>;
}

export function createOwed({ clock, log, what, lifetime, act }: OwedOptions): Owed {
  /** Key → epoch seconds until which it is held. */
  const held = new Map<string, number>();
  /** Keys whose first attempt has not ended. The feed, which it writes to, is read meanwhile: that is no reason to do it twice. */
  const attempted = new Set<string>();
  let retrying: Promise<void> | undefined;

  const retryAll = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) {
      if ((held.get(key) ?? 0) > epochSeconds(clock)) await act(key);
      held.delete(key);
    }
    log.info({ what, count: keys.length }, "pending store writes completed");
  };

  const retry = (keys = [...held.keys()].filter((key) => !attempted.has(key))): Promise<void> => {
    if (keys.length === 0) return Promise.resolve();
    retrying ??= retryAll(keys)
      // Tried again at the next reading of the feed.
      .catch((error: unknown) => log.warn({ what, count: held.size, reason: errorText(error) }, "store writes pending"))
      .finally(() => (retrying = undefined));
    return retrying;
  };

  return {
    has: (key) => held.has(key),
    async settle(key) {
      held.set(key, epochSeconds(clock) + lifetime());
      attempted.add(key);
      try {
        await act(key);
        held.delete(key);
      } finally {
        attempted.delete(key);
      }
    },
    retry: () => retry(),
    async close() {
      await retrying;
      await retry([...held.keys()]);
      if (held.size > 0) log.error({ what, count: held.size }, "store writes lost on shutdown");
    },
  };
}
