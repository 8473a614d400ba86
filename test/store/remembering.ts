/** A store that remembers which keys were written, so that all its records can be written down. */
import type { Store, StoredRecord } from "../../runtime/store/store.ts";

export interface RememberingStore {
  readonly store: Store;
  /** Live records, ordered by key. */
  dump(): Promise<readonly StoredRecord[]>;
}

export function remembering(store: Store): RememberingStore {
  const keys = new Set<string>();
  return {
    store: {
      ...store,
      put(key, value, options) {
        keys.add(key);
        return store.put(key, value, options);
      },
    },
    async dump() {
      const records = await Promise.all([...keys].sort().map((key) => store.get(key)));
      return records.filter((record) => record !== undefined);
    },
  };
}
