/**
 * Limits the users and groups of a directory, so that a holder of its token cannot fill the store.
 *
 * They are counted only occasionally, since counting reads all of them. Several processes together may exceed `max`
 * slightly.
 */
import type { Directory } from "../features/sign-in/directories.ts";
import { steadyClock, type Clock } from "../shared/clock.ts";
import { everyKey } from "../store/page-of.ts";
import type { Store } from "../store/store.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { type ResourceKind, resourcePrefix } from "./records.ts";

export interface Allowance {
  /** @param make creates the resource @throws ScimRefusal 403 if the directory is full */
  spend<T>(directory: Directory, kind: ResourceKind, make: () => Promise<T>): Promise<T>;
  /** Call after a removal. */
  giveBack(directory: Directory, kind: ResourceKind): void;
}

const PAGE = 1000;
/** After this many creations of its own, a process counts all again. */
const AGAIN_AFTER = 10_000;
/** A full directory is counted again after this time. */
const FULL_MS = 10_000;

interface Counted {
  total: number;
  /** Created by this process since the count. */
  made: number;
  readonly atMs: number;
}

export function createAllowance({ store, ...deps }: { readonly store: Store; readonly clock: Clock }): Allowance {
  const clock = steadyClock(deps.clock);
  const known = new Map<string, Promise<Counted>>();

  const count = (prefix: string): Promise<Counted> => {
    const counting = (async () => {
      let total = 0;
      for await (const { length } of everyKey(store, prefix, PAGE)) total += length;
      return { total, made: 0, atMs: clock.now() };
    })();
    known.set(prefix, counting);
    counting.catch(() => known.delete(prefix));
    return counting;
  };
  const isOld = ({ total, made, atMs }: Counted, max: number): boolean =>
    total >= max ? clock.now() - atMs >= FULL_MS : made >= AGAIN_AFTER;

  const take = async (prefix: string, max: number): Promise<boolean> => {
    for (;;) {
      const counting = known.get(prefix) ?? count(prefix);
      const counted = await counting;
      if (!isOld(counted, max)) {
        if (counted.total >= max) return false;
        counted.total += 1;
        counted.made += 1;
        return true;
      }
      // Only one of several concurrent requests recounts.
      if (known.get(prefix) === counting) void count(prefix);
    }
  };
  const giveBack: Allowance["giveBack"] = ({ name }, kind) => {
    void known.get(resourcePrefix(kind, name))?.then(
      (counted) => (counted.total -= 1),
      () => {},
    );
  };

  return {
    async spend(directory, kind, make) {
      const max = directory.max[kind];
      if (!(await take(resourcePrefix(kind, directory.name), max)))
        throw new ScimRefusal(403, `The limit of ${kind}s is reached: "max_${kind}s" is ${max}`);
      try {
        return await make();
      } catch (error) {
        giveBack(directory, kind);
        throw error;
      }
    },
    giveBack,
  };
}
