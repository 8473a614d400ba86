/**
 * How many users and groups a directory has, so that who has its token cannot fill the store. Counted now and then, since to
 * count costs a look at all of them: several processes may let in somewhat more than `max` together.
 */
import type { Directory } from "../features/sign-in/directories.ts";
import { steadyClock, type Clock } from "../shared/clock.ts";
import { everyKey } from "../store/page-of.ts";
import type { Store } from "../store/store.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { type ResourceKind, resourcePrefix } from "./records.ts";

export interface Allowance {
  /** @param make one more @throws ScimRefusal 403 when there may be no more */
  spend<T>(directory: Directory, kind: ResourceKind, make: () => Promise<T>): Promise<T>;
  /** One was removed. */
  giveBack(directory: Directory, kind: ResourceKind): void;
}

const PAGE = 1000;
/** After so many of its own a process counts what all have made. */
const AGAIN_AFTER = 10_000;
/** A full directory is counted again after this. */
const FULL_MS = 10_000;

interface Counted {
  total: number;
  /** Made here since. */
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
      // Of several who see it, one counts.
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
        throw new ScimRefusal(403, `There are as many ${kind}s as there may be: "max_${kind}s" is ${max}`);
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
