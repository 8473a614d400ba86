/** Lists in which a search looks at one record after the other: at so many for each page, which says where it goes on. */
import type { PagerParts } from "../pages/console/pieces.ts";
import type { PageOf, PageRequest } from "../store/page-of.ts";
import type { StoredRecord } from "../store/store.ts";
import { addressOfList } from "./addresses.ts";

/** Rows of a page. */
export const SEARCHED_PAGE = 25;
const READ_AT_ONCE = 250;
/** Records that one page looks at. */
const MAX_LOOKED_AT = 5_000;

interface Looked<T> {
  readonly found: readonly StoredRecord<T>[];
  /** Where it goes on. */
  readonly next: string | undefined;
  /** It goes on though the page is not full. */
  readonly isPartial: boolean;
}

interface LookOptions<T> {
  readonly after: string | undefined;
  /** How many are wanted. */
  readonly room: number;
  /** Undefined: all are. */
  readonly isMeant: ((record: StoredRecord<T>) => boolean) | undefined;
}

export async function lookThrough<T>(
  read: (page: PageRequest) => Promise<PageOf<StoredRecord<T>>>,
  { after, room, isMeant }: LookOptions<T>,
): Promise<Looked<T>> {
  const limit = isMeant ? READ_AT_ONCE : SEARCHED_PAGE;
  const found: StoredRecord<T>[] = [];
  let place = after;
  for (let lookedAt = 0; lookedAt < MAX_LOOKED_AT;) {
    const page = await read({ after: place, limit });
    for (const record of page.found) {
      place = record.key;
      if (isMeant?.(record) === false) continue;
      found.push(record);
      if (found.length >= room) {
        const isLast = page.next === undefined && record === page.found.at(-1);
        return { found, next: isLast ? undefined : place, isPartial: false };
      }
    }
    if (page.next === undefined) return { found, next: undefined, isPartial: false };
    lookedAt += page.found.length;
  }
  return { found, next: place, isPartial: true };
}

interface Searched {
  readonly search: string;
  readonly after: string | undefined;
  readonly looked: Pick<Looked<unknown>, "next" | "isPartial">;
}

/** @param list its path, which is also what its rows are called */
export function pagesOfSearch(list: "people" | "clients", { search, after, looked }: Searched): PagerParts {
  const { next, isPartial } = looked;
  const noun = list === "people" ? "users" : list;
  return {
    first: after === undefined ? undefined : addressOfList(list, { q: search }),
    next: next === undefined ? undefined : addressOfList(list, { q: search, after: next }),
    nextText: isPartial ? `Search more ${noun}` : `More ${noun}`,
    note: isPartial ? `${MAX_LOOKED_AT.toLocaleString("en")} ${noun} searched so far.` : undefined,
  };
}
