/** Records of one kind page by page, converted by their owner. */
import type { Store, StoredRecord } from "./store.ts";

const LISTED_PAGE = 500;

export interface PageOf<T> {
  readonly found: readonly T[];
  /** Value for `after` of the next page; absent at the end. */
  readonly next?: string;
}

export interface PageRequest {
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  /** 1 to 999. */
  readonly limit: number;
}

/** @param of selects the records, with the tag of their listing */
export async function pageOf<R, T>(
  store: Pick<Store, "page">,
  of: { readonly prefix: string; readonly tag?: string | undefined },
  { after, limit }: PageRequest,
  make: (record: StoredRecord<R>) => T,
): Promise<PageOf<T>> {
  // One more, to detect whether there is a next page.
  const records = await store.page<R>({
    prefix: of.prefix,
    ...(of.tag === undefined ? {} : { tag: of.tag }),
    ...(after === undefined ? {} : { after }),
    limit: limit + 1,
  });
  const found = records.slice(0, limit);
  const next = records.length > limit ? found.at(-1)?.key : undefined;
  return { found: found.map(make), ...(next === undefined ? {} : { next }) };
}

/**
 * All records of one kind, by pages, in the order of their keys: for kinds with many records. @param tag of the records
 */
export async function* everyPage<R>(
  store: Pick<Store, "page">,
  prefix: string,
  limit: number,
  tag?: string,
): AsyncIterable<readonly StoredRecord<R>[]> {
  const of = { prefix, limit, ...(tag !== undefined && { tag }) };
  for (let after: string | undefined; ;) {
    const records = await store.page<R>(after === undefined ? of : { ...of, after });
    if (records.length > 0) yield records;
    if (records.length < limit) return;
    after = records.at(-1)?.key;
  }
}

/** The same as one list, read by pages: the store and the event loop serve other requests in between. */
export async function listByPages<R>(
  store: Pick<Store, "page">,
  prefix: string,
  tag: string,
): Promise<readonly StoredRecord<R>[]> {
  const all: StoredRecord<R>[] = [];
  for await (const records of everyPage<R>(store, prefix, LISTED_PAGE, tag)) all.push(...records);
  return all;
}

/** Yields only the keys. */
export async function* everyKey(
  store: Pick<Store, "keys">,
  prefix: string,
  limit: number,
): AsyncIterable<readonly string[]> {
  for (let after: string | undefined; ;) {
    const keys = await store.keys({ prefix, limit, ...(after === undefined ? {} : { after }) });
    if (keys.length > 0) yield keys;
    if (keys.length < limit) return;
    after = keys.at(-1);
  }
}
