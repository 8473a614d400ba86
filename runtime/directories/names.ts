/**
 * Unique names of a directory's resources. The first reservation wins, across all processes.
 *
 * A name is reserved before its resource is written, and confirmed afterwards. A reservation that a process abandoned
 * is reassigned after `ABANDONED_MS`. If that process was only slow, its confirmation fails.
 */
import type { Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { nameKey, type NameOf, type NameRecord } from "./records.ts";

/** Longer than a request takes. */
const ABANDONED_MS = 60_000;
/** Half of it, to allow for differing clocks. */
const CERTAIN_MS = ABANDONED_MS / 2;
const MAX_CONFLICTS = 8;

export interface Names {
  /**
   * @param isFirst for a new resource: its names are mostly free, so skip the first read
   * @returns whether the name was free before @throws ScimRefusal 409 if it is taken, 503 if that is not known yet
   */
  reserve(name: NameOf, id: string, isFirst?: boolean): Promise<boolean>;
  /** @throws ScimRefusal 503 if the name belongs to another resource by now */
  confirm(name: NameOf, id: string): Promise<void>;
  /** Returns true if the request was so slow that another one may have got the reserved name. */
  isDoubtful(reservedMs: number): boolean;
  /** Keeps a concurrent request for the same resource from releasing the name. @throws ScimRefusal like `confirm` */
  hold(name: NameOf, id: string): Promise<void>;
  /** Releases the name unless the resource has it. */
  release(name: NameOf, id: string): Promise<void>;
  find(name: NameOf): Promise<string | undefined>;
}

/** @param isHeldBy returns true if the resource exists and has the name */
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
            throw new ScimRefusal(409, `"${name.attribute}" belongs to another resource`, "uniqueness");
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
        // Write a new version: a concurrent release compares with the version that it read before.
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
  return new ScimRefusal(503, `"${attribute}" is being assigned to another resource`);
}
