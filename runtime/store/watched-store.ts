/** The store with what becomes of each of its operations: for readiness and for metrics. */
import { GatewayError } from "../shared/errors.ts";
import type { Clock } from "../shared/clock.ts";
import { createStoreHealth, type StoreHealth } from "./store-health.ts";
import type { Json, Lease, Store } from "./store.ts";

export interface WatchedStore {
  /** Does what the store does. */
  readonly store: Store;
  readonly health: StoreHealth;
}

export function watchStore(store: Store, deps: { readonly clock: Clock }): WatchedStore {
  const health = createStoreHealth(store, deps);

  /** @param asked has begun */
  const reading = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      const answer = await asked;
      health.answered(false);
      return answer;
    } catch (error) {
      if (isAway(error)) health.failed(false);
      throw error;
    }
  };
  /** @param wrote whether this answer says that something was changed */
  const writing = async <T>(asked: Promise<T>, wrote: (answer: T) => boolean): Promise<T> => {
    try {
      const answer = await asked;
      health.answered(wrote(answer));
      return answer;
    } catch (error) {
      if (isAway(error)) health.failed(true);
      throw error;
    }
  };
  const watchLease = (lease: Lease): Lease => ({
    renew: (ttlMs) => writing(lease.renew(ttlMs), isTrue),
    release: () => writing(lease.release(), () => false),
  });

  return {
    health,
    store: {
      get: <T = Json>(key: string) => reading(store.get<T>(key)),
      list: <T = Json>(tag: string) => reading(store.list<T>(tag)),
      page: (query) => reading(store.page(query)),
      changesSince: (feed, sequence) => reading(store.changesSince(feed, sequence)),
      put: (key, value, options) => writing(store.put(key, value, options), ({ ok }) => ok),
      delete: (key, options) => writing(store.delete(key, options), isTrue),
      take: <T = Json>(key: string) => writing(store.take<T>(key), (record) => record !== undefined),
      deleteByTag: (tag) => writing(store.deleteByTag(tag), (count) => count > 0),
      async lease(name, ttlMs) {
        const lease = await writing(store.lease(name, ttlMs), (held) => held !== undefined);
        return lease && watchLease(lease);
      },
      allot: (key, request) => writing(store.allot(key, request), () => true),
      append: (feed, entry, expiresAt) => writing(store.append(feed, entry, expiresAt), () => true),
      sweep: () => writing(store.sweep(), (count) => count > 0),
      onAppend: (feed, listener) => store.onAppend(feed, listener),
      async close() {
        health.close();
        await store.close();
      },
    },
  };
}

/** Anything else is the caller's own. */
const isAway = (error: unknown): boolean => error instanceof GatewayError && error.code === "store.unavailable";
const isTrue = (answer: boolean): boolean => answer;
