/**
 * Unique names of a directory's resources: who reserves one first has it, on however many processes.
 *
 * A name is reserved before its resource is written and confirmed after; one that a process left behind half way is given to
 * others once that process must have given up, and the confirmation tells it so if it had not.
 */
import type { Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { nameKey, type NameOf, type NameRecord } from "./records.ts";

/** Longer than a request takes. */
const ABANDONED_MS = 60_000;
/** Half of it, for clocks of processes that differ. */
const CERTAIN_MS = ABANDONED_MS / 2;
const MAX_CONFLICTS = 8;

export interface Names {
  /**
   * @param isFirst for a resource that is being made: its names are mostly nobody's, so that is not asked first
   * @returns whether it was nobody's before @throws ScimRefusal 409 when it is another's, 503 when that is not yet known
   */
  reserve(name: NameOf, id: string, isFirst?: boolean): Promise<boolean>;
  /** @throws ScimRefusal 503 when it is another's by now */
  confirm(name: NameOf, id: string): Promise<void>;
  /** Whether what was reserved at that time, for a resource that is written by now, may be another's: nobody was slow otherwise. */
  isDoubtful(reservedMs: number): boolean;
  /** Whoever was about to give it back, of those who speak for the same resource, gives it back no more. @throws likewise */
  hold(name: NameOf, id: string): Promise<void>;
  /** Unless the resource has it. */
  release(name: NameOf, id: string): Promise<void>;
  find(name: NameOf): Promise<string | undefined>;
}

/** @param isHeldBy whether the resource is there and has the name */
export function createNames(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  isHeldBy: (name: NameOf, id: string) => Promise<boolean>,
): Names {
  const read = (name: NameOf) => store.get<NameRecord>(nameKey(name));
  return {
    async reserve(name, id, isFirst = false) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = isFirst && attempt === 0 ? undefined : await read(name);
        if (stored?.value.id === id) return false;
        if (stored) {
          if (await isHeldBy(name, stored.value.id))
            throw new ScimRefusal(409, `"${name.attribute}" is another's already`, "uniqueness");
          if (clock.now() - stored.value.at < ABANDONED_MS) throw busy(name);
        }
        const value: NameRecord = { id, at: clock.now() };
        const put = await store.put(nameKey(name), value, { ifVersion: stored?.version ?? 0 });
        if (put.ok) return true;
      }
      throw busy(name);
    },
    async confirm(name, id) {
      if ((await read(name))?.value.id !== id) throw busy(name);
    },
    isDoubtful: (reservedMs) => clock.now() - reservedMs >= CERTAIN_MS,
    async hold(name, id) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await read(name);
        if (stored?.value.id !== id) break;
        // Another version: what is given back is the one that was there before the resource was looked at.
        const put = await store.put(nameKey(name), stored.value, { ifVersion: stored.version });
        if (put.ok) return;
      }
      throw busy(name);
    },
    async release(name, id) {
      const stored = await read(name);
      if (stored?.value.id === id && !(await isHeldBy(name, id)))
        await store.delete(nameKey(name), { ifVersion: stored.version });
    },
    find: async (name) => (await read(name))?.value.id,
  };
}

function busy({ attribute }: NameOf): ScimRefusal {
  return new ScimRefusal(503, `"${attribute}" is being given to another`);
}
