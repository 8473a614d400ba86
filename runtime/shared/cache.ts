/**
 * A bounded map with second-chance eviction: a hit only sets a bit. (Moving an entry to the end of a Map at every hit
 * costs more than opening the token again: measured.)
 */
export interface Visited {
  visited: boolean;
}

export class BoundedCache<V extends Visited> {
  readonly #entries = new Map<string, V>();
  readonly #capacity: number;
  #oldest: MapIterator<[string, V]> | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value) value.visited = true;
    return value;
  }

  set(key: string, value: V): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#capacity) this.#evict();
    this.#entries.set(key, value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Visits every entry: for rare events only. */
  deleteWhere(isMeant: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) if (isMeant(value)) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Removes the oldest entry that was not used since its last check; at most one round. */
  #evict(): void {
    for (let left = this.#entries.size; left >= 0; left -= 1) {
      // Entries before the iterator are gone, and skipped ones move to the end. A new iterator would visit all holes at
      // the start: 4 µs per entry of a full cache.
      this.#oldest ??= this.#entries.entries();
      const { value: entry } = this.#oldest.next();
      if (entry === undefined) {
        this.#oldest = undefined;
        continue;
      }
      const [key, value] = entry;
      this.#entries.delete(key);
      if (!value.visited) return;
      value.visited = false;
      this.#entries.set(key, value);
    }
  }
}
