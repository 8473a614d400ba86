/**
 * A feed as one process follows it: every entry once, in order, soon after it was appended anywhere.
 *
 * Promises: entries of other processes arrive with the store's hint; if it is lost, within a second in feeds that want it. An
 * unavailable store is logged once, and reading continues where it stopped, within a second.
 */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Json, Store } from "./store.ts";
import { recur } from "../shared/timing/recurring.ts";

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
  /** True: the feed is read every second; otherwise every ten, and every second after a failed read. */
  readonly wantsRead?: () => boolean;
}

const POLL_MS = 1_000;
/** Reads without a reason, in case a hint was lost: stores look for entries themselves (feed-watch.ts). */
const QUIET_POLLS = 10;

export function followFeed({ store, log, feed, onEntry, onRead, wantsRead }: FollowOptions): FeedFollower {
  let sequence = 0;
  let reading: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  let closed = false;
  let down = false;
  /** The last read failed. */
  let isBehind = false;
  let polls = 0;

  const read = async (): Promise<void> => {
    for (;;) {
      const entries = await store.changesSince(feed, sequence);
      for (const { sequence: at, entry } of entries) {
        sequence = at;
        onEntry(entry);
      }
      if (entries.length === 0) break;
    }
    isBehind = false;
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
    isBehind = true;
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

  const stopPolls = recur("the poll of a feed", POLL_MS, () => {
    polls += 1;
    if (isBehind || polls % QUIET_POLLS === 0 || wantsRead?.() === true) poll();
  });
  const unsubscribe = store.onAppend(feed, poll);
  poll();

  return {
    catchUp,
    async close() {
      closed = true;
      stopPolls();
      unsubscribe();
      await (following ?? reading)?.catch(() => {});
    },
  };
}
