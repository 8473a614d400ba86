/**
 * Previous slices in the store that all replicas share: each owner's last active slice, for a process that starts while
 * the owner's current slice is invalid.
 *
 * Sealed by their source (previous-slices.ts). A running process relies on its own active slices and only writes.
 */
import type { Store } from "../store/store.ts";
import type { PreviousSliceChanges, SealedSlice } from "./validation/protocol.ts";

export interface PreviousSliceStore {
  /** @throws GatewayError `store.unavailable` */
  read(): Promise<readonly SealedSlice[]>;
  /** Writes these changes and earlier ones whose write failed. @throws GatewayError `store.unavailable` */
  write(changes: PreviousSliceChanges): Promise<void>;
}

interface PreviousSliceRecord extends SealedSlice {
  /** Version of this record's format. */
  readonly schema: number;
}

const SCHEMA = 1;
const PREVIOUS_TAG = "kept";

export function createPreviousSliceStore({ store }: { readonly store: Store }): PreviousSliceStore {
  const known = new Map<string, SealedSlice>();
  const unwritten = new Set<string>();

  return {
    async read() {
      const records = (await store.list<PreviousSliceRecord>(PREVIOUS_TAG)).map(({ value }) => value);
      // From a newer version of Gateform: never guess its meaning.
      for (const { schema, owner, since, sealed } of records) {
        if (schema === SCHEMA) known.set(owner, { owner, since, sealed });
      }
      return [...known.values()];
    },
    async write({ changed, removed }) {
      for (const owner of removed) known.delete(owner);
      for (const { owner, since, sealed = known.get(owner)?.sealed } of changed) {
        if (sealed !== undefined) known.set(owner, { owner, since, sealed });
      }
      for (const owner of [...removed, ...changed.map((each) => each.owner)]) unwritten.add(owner);
      for (const owner of unwritten) {
        const slice = known.get(owner);
        if (slice) await store.put(recordKey(owner), { schema: SCHEMA, ...slice }, { tags: [PREVIOUS_TAG] });
        else await store.delete(recordKey(owner));
        unwritten.delete(owner);
      }
    },
  };
}

function recordKey(owner: string): string {
  return `kept:${owner}`;
}
