/**
 * Listeners for new feed entries. They are called after a hint (this process appended, or the server notified us), or
 * after a poll, which also covers lost hints. Listeners may be called without need, but no entry is missed.
 */

import { task } from "../shared/faults/guard.ts";

export interface FeedWatch {
  /** @returns unsubscribe; safe to call twice */
  onAppend(feed: string, listener: () => void): () => void;
  /** Something was, or may have been, appended; without a name to any feed. */
  hint(feed?: string): void;
  close(): void;
}

export interface FeedPoll {
  /** Newest sequence of each feed that has entries. May reject: the next poll tries again. */
  readonly latest: (feeds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  readonly everyMs: number;
}

/** @param poll absent if every appender is in this process */
export function createFeedWatch(poll?: FeedPoll): FeedWatch {
  const listeners = new Map<string, Set<() => void>>();
  const seen = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let polling = false;
  let closed = false;

  return {
    onAppend(feed, listener) {
      const known = listeners.get(feed) ?? new Set();
      listeners.set(feed, known);
      // A separate wrapper: the same function subscribed twice is two subscriptions.
      const entry = (): void => {
        if (known.has(entry)) listener();
      };
      known.add(entry);
      schedule();
      return () => {
        known.delete(entry);
        if (known.size === 0 && listeners.get(feed) === known) listeners.delete(feed);
      };
    },
    hint(feed) {
      if (feed !== undefined) notify(feed);
      else for (const name of listeners.keys()) notify(name);
    },
    close() {
      closed = true;
      listeners.clear();
      clearTimeout(timer);
    },
  };

  function notify(feed: string): void {
    // Later, and one by one: a listener must not run inside the append that caused it.
    for (const entry of listeners.get(feed) ?? []) queueMicrotask(task("a listener of a feed", entry));
  }

  function schedule(): void {
    if (!poll || closed || polling || timer || listeners.size === 0) return;
    timer = setTimeout(
      task("check of a feed", () => {
        timer = undefined;
        polling = true;
        void check(poll).finally(() => {
          polling = false;
          schedule();
        });
      }),
      poll.everyMs,
    );
    timer.unref();
  }

  async function check({ latest }: FeedPoll): Promise<void> {
    let newest: ReadonlyMap<string, number>;
    try {
      newest = await latest([...listeners.keys()]);
    } catch {
      // The back end is unavailable; readers of the feed get its error. Nothing is marked as seen.
      return;
    }
    for (const [feed, sequence] of newest) {
      if (seen.get(feed) === sequence) continue;
      seen.set(feed, sequence);
      notify(feed);
    }
  }
}
