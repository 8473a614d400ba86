/**
 * A feed as one process follows it: every entry once, in order, soon after it was appended anywhere.
 *
 * Promises: entries of other processes arrive with the store's hint, or within a second when the hint is lost. An
 * unavailable store is logged once, and reading continues where it stopped.
 */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Json, Store } from "./store.ts";
import { task } from "../shared/faults/guard.ts";

export interface FeedFollower {
  /** Resolves when this process has read everything in the feed. @throws GatewayError `store.unavailable` */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly store: Pick<Store, "changesSince" | "onAppend">;
  readonly log: Log;
  /** Name of the feed; in the log as "the revocations feed". */
  readonly feed: string;
  /** Must not throw. */
  readonly onEntry: (entry: Json) => void;
  /** Called after each successful read. */
  readonly onRead?: () => void;
}

/** With the store's own hint usually immediately; this is the bound when the hint is lost. Half of the promised 2 s. */
const POLL_MS = 1000;

export function followFeed({ store, log, feed, onEntry, onRead }: FollowOptions): FeedFollower {
  let sequence = 0;
  let reading: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  let closed = false;
  let down = false;

  const read = async (): Promise<void> => {
    for (;;) {
      const entries = await store.changesSince(feed, sequence);
      for (const { sequence: at, entry } of entries) {
        sequence = at;
        onEntry(entry);
      }
      if (entries.length === 0) return;
    }
  };

  /** A read in progress may already be past the newest entry: later callers wait for one more. */
  const catchUp = (): Promise<void> => {
    if (reading) {
      following ??= reading
        .catch(() => {})
        .then(() => {
          following = undefined;
          return catchUp();
        });
      return following;
    }
    reading = read().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const poll = (): void => {
    if (closed) return;
    catchUp().then(
      () => {
        if (down) log.info({ feed }, "feed recovered");
        down = false;
        onRead?.();
      },
      (error: unknown) => {
        if (!down && !closed) log.warn({ feed, reason: errorText(error) }, "cannot read feed");
        down = true;
      },
    );
  };

  const timer = setInterval(task("the poll of a feed", poll), POLL_MS);
  timer.unref();
  const unsubscribe = store.onAppend(feed, poll);
  poll();

  return {
    catchUp,
    async close() {
      closed = true;
      clearInterval(timer);
      unsubscribe();
      await (following ?? reading)?.catch(() => {});
    },
  };
}
