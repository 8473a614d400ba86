/**
 * Changes of users' connections, announced to every process: caches drop them within 2 s. So no token is sent after a
 * disconnect, and a token with more scope is used immediately.
 */
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { followFeed } from "../../store/follow-feed.ts";
import { createRetriedWrites } from "../../store/retried-writes.ts";
import type { Store } from "../../store/store.ts";

export const CONNECTION_FEED = "upstream-connections";

/** User and route of a connection. */
export interface ConnectionChange {
  readonly userId: string;
  readonly routeKey: string;
}

export interface ConnectionChanges {
  /**
   * Applies the change in this process immediately and announces it through the feed. Never fails: entries that the
   * store rejects are sent later.
   */
  announce(change: ConnectionChange): Promise<void>;
  subscribe(listener: (change: ConnectionChange) => void): void;
  /** Increases with every change. Results read from the store before a change must not be cached after it. */
  readonly epoch: number;
  close(): Promise<void>;
}

/** Longer than any cache lives while the store is unavailable (attach-token.ts). */
const KEPT_SECONDS = 600;

export function createConnectionChanges(deps: {
  readonly store: Pick<Store, "append" | "changesSince" | "onAppend">;
  readonly clock: Clock;
  readonly log: Log;
}): ConnectionChanges {
  const { store, clock, log } = deps;
  const listeners = new Set<(change: ConnectionChange) => void>();
  const learn = (change: ConnectionChange): void => {
    changes.epoch += 1;
    for (const listener of listeners) listener(change);
  };
  const writes = createRetriedWrites({
    clock,
    log,
    what: "changes of connections",
    lifetime: () => KEPT_SECONDS,
    act: async (text) => {
      const { userId, routeKey } = JSON.parse(text) as ConnectionChange;
      await store.append(CONNECTION_FEED, { userId, routeKey }, epochSeconds(clock) + KEPT_SECONDS);
    },
  });
  const follower = followFeed({
    store,
    log,
    feed: CONNECTION_FEED,
    onEntry(entry) {
      const { userId, routeKey } = (entry ?? {}) as { userId?: unknown; routeKey?: unknown };
      if (typeof userId === "string" && typeof routeKey === "string") learn({ userId, routeKey });
    },
    onRead: () => void writes.retry(),
    wantsRead: () => writes.waits(),
  });
  const changes: ConnectionChanges & { epoch: number } = {
    async announce({ userId, routeKey }) {
      learn({ userId, routeKey });
      try {
        await writes.settle(JSON.stringify({ userId, routeKey } satisfies ConnectionChange));
      } catch (error) {
        log.warn({ route: routeKey, reason: errorText(error) }, "cannot notify replicas of upstream account change");
      }
    },
    subscribe: (listener) => void listeners.add(listener),
    epoch: 0,
    async close() {
      await follower.close();
      await writes.close();
    },
  };
  return changes;
}
