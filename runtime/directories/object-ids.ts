/**
 * Finds users by their Entra object id (claim `oid`), which is the same in all applications.
 *
 * Older versions wrote no tag for it. Until such records are refreshed, they are found by an occasional scan of all
 * records.
 */
import { steadyClock, type Clock } from "../shared/clock.ts";
import type { UserId } from "../shared/user-id.ts";
import { everyPage } from "../store/page-of.ts";
import type { Store } from "../store/store.ts";
import { type IdentityRecord, objectIdTag, objectIdTags } from "../identity/identity-records.ts";

/** @param issuer undefined: the first provider */
export type FindByObjectId = (issuer: string | undefined, objectId: string) => Promise<readonly UserId[]>;

const PAGE = 500;
/** How long a scan's result is used: with untagged records, and without any. */
const SOME_MS = 60_000;
const NONE_MS = 10 * 60_000;

/** User ids by the missing tag of their record. */
type Untagged = ReadonlyMap<string, readonly UserId[]>;

export function createFindByObjectId({
  store,
  ...deps
}: {
  readonly store: Store;
  readonly clock: Clock;
}): FindByObjectId {
  const clock = steadyClock(deps.clock);
  let known: { readonly untagged: Promise<Untagged>; untilMs: number } | undefined;

  const readUntagged = async (): Promise<Untagged> => {
    const untagged = new Map<string, UserId[]>();
    for await (const records of everyPage<IdentityRecord>(store, "identity:", PAGE)) {
      for (const { value, tags } of records) {
        for (const tag of objectIdTags(value.issuer, value.claims)) {
          if (tags.includes(tag)) continue;
          const others = untagged.get(tag);
          if (others) others.push(value.userId);
          else untagged.set(tag, [value.userId]);
        }
      }
    }
    return untagged;
  };

  const findUntagged = (): Promise<Untagged> => {
    if (known && clock.now() < known.untilMs) return known.untagged;
    const reading = { untagged: readUntagged(), untilMs: clock.now() + SOME_MS };
    known = reading;
    reading.untagged.then(
      ({ size }) => {
        if (size === 0) reading.untilMs = clock.now() + NONE_MS;
      },
      () => {
        if (known === reading) known = undefined;
      },
    );
    return reading.untagged;
  };

  return async (issuer, objectId) => {
    const tag = objectIdTag(issuer, objectId);
    const tagged = await store.list<IdentityRecord>(tag);
    const others = (await findUntagged()).get(tag) ?? [];
    return [...new Set([...tagged.map(({ value }) => value.userId), ...others])];
  };
}
