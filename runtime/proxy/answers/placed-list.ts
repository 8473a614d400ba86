/**
 * What each request enters and leaves: a list of which every item knows its place.
 *
 * Not a Set: once the table of one is in V8's old space, each later table hangs on the one before it, with the requests that were
 * open when it was made, until a major collection. That cost a request a tenth of its time (D378).
 */
export interface Placed {
  /** Absent, -1: it is not in the list. */
  place?: number;
}

export interface PlacedList<T extends Placed> {
  add(item: T): void;
  /** @returns whether it was in the list */
  take(item: T): boolean;
  /** As they are now. */
  all(): readonly T[];
}

export function createPlacedList<T extends Placed>(): PlacedList<T> {
  const items: T[] = [];
  return {
    add(item) {
      item.place = items.length;
      items.push(item);
    },
    take(item) {
      const { place: at = -1 } = item;
      if (items[at] !== item) return false;
      item.place = -1;
      const last = items.pop();
      if (last === undefined || last === item) return true;
      items[at] = last;
      last.place = at;
      return true;
    },
    all: () => Array.from(items),
  };
}
