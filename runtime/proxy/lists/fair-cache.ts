/**
 * A cache with a bound for the memory of all its entries, and one for the entries of each party: a party that fills its part
 * evicts its own entries, not those of others. The least recently used entries are evicted first.
 */
interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  readonly parties: readonly string[];
}

interface Part {
  bytes: number;
  /** Least recently used first. */
  readonly keys: Set<string>;
}

export class FairCache<V> {
  readonly #maxBytes: number;
  readonly #maxPartBytes: number;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<V>>();
  readonly #parts = new Map<string, Part>();
  #bytes = 0;

  constructor(maxBytes: number, maxPartBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxPartBytes = maxPartBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const party of entry.parties) {
      const keys = this.#parts.get(party)?.keys;
      keys?.delete(key);
      keys?.add(key);
    }
    return entry.value;
  }

  /**
   * Too large values are not kept.
   *
   * @param bytes estimated memory of the value
   * @param parties each has it in its part
   */
  set(key: string, value: V, bytes: number, parties: readonly string[]): void {
    this.delete(key);
    if (bytes > this.#maxPartBytes) return;
    for (const party of parties) {
      const part = this.#parts.get(party);
      if (part) this.#evict(part.keys, () => part.bytes + bytes <= this.#maxPartBytes);
    }
    this.#evict(this.#entries.keys(), () => this.#bytes + bytes <= this.#maxBytes);
    this.#entries.set(key, { value, bytes, parties });
    this.#bytes += bytes;
    for (const party of parties) {
      const part = this.#parts.get(party) ?? { bytes: 0, keys: new Set<string>() };
      part.bytes += bytes;
      part.keys.add(key);
      this.#parts.set(party, part);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    for (const party of entry.parties) {
      const part = this.#parts.get(party);
      if (part === undefined) continue;
      part.bytes -= entry.bytes;
      part.keys.delete(key);
      if (part.keys.size === 0) this.#parts.delete(party);
    }
  }

  #evict(keys: Iterable<string>, hasRoom: () => boolean): void {
    for (const key of keys) {
      if (hasRoom()) return;
      this.delete(key);
    }
  }
}
