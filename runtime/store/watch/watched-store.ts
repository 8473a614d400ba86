/** The store, reporting the result of each operation: for readiness and for metrics. */
import { GatewayError } from "../../shared/errors.ts";
import type { Clock } from "../../shared/clock.ts";
import { createStoreTally, type StoreCounts, type StoreOperation } from "./store-counts.ts";
import { createStoreHealth, type StoreHealth } from "./store-health.ts";
import type { Json, Lease, Store } from "../store.ts";

export interface WatchedStore {
  /** The wrapped store. */
  readonly store: Store;
  readonly health: StoreHealth;
  readonly counts: StoreCounts;
}

export function watchStore(store: Store, deps: { readonly clock: Clock }): WatchedStore {
  const health = createStoreHealth(store, deps);
  const tally = createStoreTally();

  /** @param asked already started */
  const reading = async <T>(operation: StoreOperation, asked: Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    try {
      const answer = await asked;
      tally.count(operation, "read", "ok", performance.now() - startedMs);
      health.answered(false);
      return answer;
    } catch (error) {
      if (isUnavailable(error)) {
        tally.count(operation, "read", "unavailable", performance.now() - startedMs);
        health.failed(false);
      }
      throw error;
    }
  };
  /**
   * @param wrote whether this response means that something was changed
   * @param refused whether it means that another process was first
   */
  const writing = async <T>(
    operation: StoreOperation,
    asked: Promise<T>,
    wrote: (answer: T) => boolean,
    refused: (answer: T) => boolean = never,
  ): Promise<T> => {
    const startedMs = performance.now();
    try {
      const answer = await asked;
      tally.count(operation, "write", refused(answer) ? "refused" : "ok", performance.now() - startedMs);
      health.answered(wrote(answer));
      return answer;
    } catch (error) {
      if (isUnavailable(error)) {
        tally.count(operation, "write", "unavailable", performance.now() - startedMs);
        health.failed(true);
      }
      throw error;
    }
  };
  const watchLease = (lease: Lease): Lease => ({
    renew: (ttlMs) => writing("renew", lease.renew(ttlMs), isTrue, isFalse),
    release: () => writing("release", lease.release(), never),
  });

  return {
    health,
    counts: tally,
    store: {
      get: <T = Json>(key: string) => reading("get", store.get<T>(key)),
      list: <T = Json>(tag: string) => reading("list", store.list<T>(tag)),
      page: (query) => reading("page", store.page(query)),
      keys: (query) => reading("keys", store.keys(query)),
      changesSince: (feed, sequence) => reading("changes_since", store.changesSince(feed, sequence)),
      now: () => reading("now", store.now()),
      put: (key, value, options) =>
        writing(
          "put",
          store.put(key, value, options),
          ({ ok }) => ok,
          ({ ok }) => !ok,
        ),
      delete: (key, options) => writing("delete", store.delete(key, options), isTrue),
      take: <T = Json>(key: string) => writing("take", store.take<T>(key), isPresent),
      deleteByTag: (tag) => writing("delete_by_tag", store.deleteByTag(tag), isSome),
      async lease(name, ttlMs) {
        const lease = await writing("lease", store.lease(name, ttlMs), isPresent, (held) => held === undefined);
        return lease && watchLease(lease);
      },
      allot: (key, request) => writing("allot", store.allot(key, request), () => true),
      append: (feed, entry, expiresAt) => writing("append", store.append(feed, entry, expiresAt), () => true),
      sweep: () => writing("sweep", store.sweep(), isSome),
      onAppend: (feed, listener) => store.onAppend(feed, listener),
      async close() {
        health.close();
        await store.close();
      },
    },
  };
}

/** Any other error is the caller's fault. */
const isUnavailable = (error: unknown): boolean => error instanceof GatewayError && error.code === "store.unavailable";
const isTrue = (answer: boolean): boolean => answer;
const isFalse = (answer: boolean): boolean => !answer;
const isPresent = (answer: unknown): boolean => answer !== undefined;
const isSome = (count: number): boolean => count > 0;
const never = (): boolean => false;
