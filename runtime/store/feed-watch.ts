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
  /** Queries the store now. */
  look(): void;
  close(): void;
}

export interface FeedPoll {
  /** Newest sequence of each feed that has entries. May reject: the next poll tries again. */
  readonly latest: (feeds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  /** Absent: only `look()` queries. */
  readonly everyMs?: number;
}

/** @param poll absent if every appender is in this process */
export function createFeedWatch(poll?: FeedPoll): FeedWatch {
  const listeners = new Map<string, Set<() => void>>();
  const seen = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let polling = false;
  /** Something was appended during a query. */
  let again = false;
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
    look() {
      if (!poll || closed || listeners.size === 0) return;
      if (polling) again = true;
      else startCheck(poll);
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
    if (poll?.everyMs === undefined || closed || polling || timer || listeners.size === 0) return;
    timer = setTimeout(
      task("check of a feed", () => startCheck(poll)),
      poll.everyMs,
    );
    timer.unref();
  }

  function startCheck(of: FeedPoll): void {
    clearTimeout(timer);
    timer = undefined;
    polling = true;
    again = false;
    void check(of).finally(() => {
      polling = false;
      if (again && !closed) startCheck(of);
      else schedule();
    });
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
