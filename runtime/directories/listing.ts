/**
 * Pages of a directory by position, as SCIM defines them. The sorted ids are read once and cached, so that following
 * pages are consistent and cost only what they show.
 *
 * Records are read in small batches, one request at a time: many large ones would block the store and the event loop.
 */
import { steadyClock, type Clock } from "../shared/clock.ts";
import { createLimiter } from "../shared/limiter.ts";
import { everyKey, everyPage } from "../store/page-of.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { type ResourceKind, resourcePrefix, type ResourceRecord } from "./records.ts";
import type { Resource } from "./resources.ts";

export interface Listing {
  /** @param startIndex from 1 */
  page(
    directory: string,
    kind: ResourceKind,
    startIndex: number,
    count: number,
  ): Promise<{ readonly total: number; readonly resources: readonly Resource[] }>;
  /** Resources with a tag, in batches. */
  tagged(directory: string, kind: ResourceKind, tag: string): AsyncIterable<readonly Resource[]>;
  /** Call after this process created or removed a resource. */
  forget(directory: string, kind: ResourceKind): void;
}

const PAGE = 1000;
/** Records read at once. Each may have 32 KiB. */
const RECORDS = 40;
/** A first page is read again after this time; following pages use the cached ids for longer. */
const FIRST_MS = 5_000;
const KEPT_MS = 120_000;

interface Known {
  readonly ids: Promise<readonly string[]>;
  readonly atMs: number;
}

export function createListing({ store, ...deps }: { readonly store: Store; readonly clock: Clock }): Listing {
  const clock = steadyClock(deps.clock);
  const known = new Map<string, Known>();
  const turns = createLimiter(1);
  const taken: Pick<Store, "page"> = { page: (query) => turns.take(() => store.page(query)) };

  const readIds = async (prefix: string): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const keys of everyKey(store, prefix, PAGE)) for (const key of keys) ids.push(key.slice(prefix.length));
    return ids;
  };

  const idsOf = (prefix: string, isFirst: boolean): Promise<readonly string[]> => {
    const remembered = known.get(prefix);
    if (remembered && clock.now() - remembered.atMs < (isFirst ? FIRST_MS : KEPT_MS)) return remembered.ids;
    const ids = readIds(prefix);
    known.set(prefix, { ids, atMs: clock.now() });
    ids.catch(() => known.delete(prefix));
    return ids;
  };

  return {
    async page(directory, kind, startIndex, count) {
      const prefix = resourcePrefix(kind, directory);
      const ids = await idsOf(prefix, startIndex === 1);
      const resources: Resource[] = [];
      if (count === 0 || startIndex > ids.length) return { total: ids.length, resources };
      const before = ids[startIndex - 2];
      for (let after = before === undefined ? before : prefix + before; resources.length < count;) {
        const limit = Math.min(RECORDS, count - resources.length);
        const records = await taken.page<ResourceRecord>({ prefix, limit, ...(after === undefined ? {} : { after }) });
        resources.push(...resourcesOf(prefix, records));
        if (records.length < limit) break;
        after = records.at(-1)?.key;
      }
      return { total: ids.length, resources };
    },
    async *tagged(directory, kind, tag) {
      const prefix = resourcePrefix(kind, directory);
      for await (const records of everyPage<ResourceRecord>(taken, prefix, RECORDS, tag))
        yield resourcesOf(prefix, records);
    },
    forget: (directory, kind) => void known.delete(resourcePrefix(kind, directory)),
  };
}

function resourcesOf(prefix: string, records: readonly StoredRecord<ResourceRecord>[]): readonly Resource[] {
  return records.map(({ key, value }) => ({ ...value, id: key.slice(prefix.length) }));
}
