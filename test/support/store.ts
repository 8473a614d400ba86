/** A memory store that can be made to fail, for "the store is down" cases. */
import { GatewayError } from "../../runtime/shared/errors.ts";
import type { Clock } from "../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";

export interface BreakableStore {
  readonly store: Store;
  /** While true every asynchronous call rejects with `store.unavailable`, like a database that is gone. */
  broken: boolean;
  /** Names of the methods called, in order: for "this path touches the store zero times". */
  readonly calls: string[];
}

/** @param inner a store to break instead of an empty one in memory */
export function createBreakableStore(clock: Clock, inner: Store = createMemoryStore({ clock })): BreakableStore {
  const calls: string[] = [];
  const handle: { broken: boolean } = { broken: false };
  const store = new Proxy(inner, {
    get(target, name: keyof Store) {
      // "then" among others: an awaited store is not a promise.
      if (!(name in target)) return undefined;
      if (name === "onAppend") return target.onAppend.bind(target);
      return (...args: unknown[]): Promise<unknown> => {
        calls.push(name);
        if (handle.broken && name !== "close") {
          return Promise.reject(
            new GatewayError("store.unavailable", "Cannot reach the store: it is broken by the test"),
          );
        }
        return (target[name] as (...args: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  return {
    store,
    calls,
    get broken() {
      return handle.broken;
    },
    set broken(broken: boolean) {
      handle.broken = broken;
    },
  };
}
