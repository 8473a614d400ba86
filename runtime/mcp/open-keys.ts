/** The keys of all objects that are open during a scan: finds duplicates in time linear in the number of keys. */
import { ScanError } from "./scan-error.ts";

/** Limit for the members of all open objects together. */
const MAX_OPEN_MEMBERS = 10_000;
/** Up to this number keys are compared one by one; above it with Sets, so that many keys do not cost quadratic time. */
const MAX_COMPARED = 16;

/** Positions instead of texts: most keys are never needed as text. */
export class OpenKeys {
  /** Hash of the newest key, over its decoded bytes; see `hashKey`. */
  hash = 0;
  count = 0;
  private bytes: Buffer = Buffer.alloc(0);
  private readonly hashes = new Int32Array(MAX_OPEN_MEMBERS);
  private readonly starts = new Int32Array(MAX_OPEN_MEMBERS);
  /** Negative for a key with escapes. */
  private readonly ends = new Int32Array(MAX_OPEN_MEMBERS);
  /** Hashes of the keys of an object with more than MAX_COMPARED members, by its depth. */
  private readonly hashSets: (Set<number> | undefined)[] = [];
  /** The keys themselves, after two hashes were equal. */
  private readonly sets: (Set<string> | undefined)[] = [];

  start(bytes: Buffer): void {
    this.bytes = bytes;
    this.count = 0;
  }

  /** Starts an object. @returns its mark: the position of its first key */
  open(depth: number): number {
    this.hashSets[depth] = undefined;
    this.sets[depth] = undefined;
    return this.count;
  }

  /** Ends an object: drops its keys. */
  close(mark: number): void {
    this.count = mark;
  }

  /**
   * Takes the next key of the innermost object.
   *
   * @param start after the opening quote
   * @param end at the closing quote
   * @param hash of the bytes between, if there is no escape in them
   * @throws ScanError `duplicate-key` when the object has it already
   */
  add(start: number, end: number, isEscaped: boolean, hash: number, mark: number, depth: number): void {
    const index = this.count;
    if (index >= MAX_OPEN_MEMBERS) throw new ScanError("too-many-members");
    this.starts[index] = start;
    this.ends[index] = isEscaped ? -end : end;
    this.hash = isEscaped ? this.hashDecoded(index) : hash;
    this.hashes[index] = this.hash;
    if (index - mark < MAX_COMPARED) this.compare(mark, index);
    else this.lookUp(mark, index, depth);
    this.count = index + 1;
  }

  /** The newest key. */
  last(): string {
    return this.text(this.count - 1);
  }

  lastIs(name: Buffer): boolean {
    const index = this.count - 1;
    const start = this.starts[index] as number;
    const end = this.ends[index] as number;
    if (end < 0) return this.text(index) === name.toString();
    if (end - start !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (this.bytes[start + i] !== name[i]) return false;
    return true;
  }

  /** Length of the newest key if all of it is visible ASCII without escapes, else -1; no text is made for it. */
  lastPlainLength(): number {
    const start = this.starts[this.count - 1] as number;
    const end = this.ends[this.count - 1] as number;
    for (let i = start; i < end; i++) {
      const byte = this.bytes[i] as number;
      if (byte < 0x21 || byte > 0x7e) return -1;
    }
    return end < 0 ? -1 : end - start;
  }

  private hashDecoded(index: number): number {
    const text = this.text(index);
    // Parsers replace lone surrogates each in their own way: two such keys may become one upstream.
    if (!text.isWellFormed()) throw new ScanError("malformed-json");
    return hashKey(Buffer.from(text));
  }

  private compare(mark: number, index: number): void {
    const hash = this.hash;
    for (let i = mark; i < index; i++) {
      // The hash is only a filter: keys made to collide cost at most MAX_COMPARED comparisons.
      if (this.hashes[i] === hash && this.text(i) === this.text(index)) throw new ScanError("duplicate-key");
    }
  }

  private lookUp(mark: number, index: number, depth: number): void {
    let hashes = this.hashSets[depth];
    if (!hashes) {
      hashes = new Set(this.hashes.subarray(mark, index));
      this.hashSets[depth] = hashes;
    }
    // A different hash proves a different key, without creating a text.
    if (this.sets[depth] !== undefined || hashes.has(this.hash)) this.lookUpText(mark, index, depth);
    else hashes.add(this.hash);
  }

  private lookUpText(mark: number, index: number, depth: number): void {
    let set = this.sets[depth];
    if (!set) {
      set = new Set();
      for (let i = mark; i < index; i++) set.add(this.text(i));
      this.sets[depth] = set;
    }
    const text = this.text(index);
    if (set.has(text)) throw new ScanError("duplicate-key");
    set.add(text);
  }

  private text(index: number): string {
    const start = this.starts[index] as number;
    const end = this.ends[index] as number;
    if (end >= 0) return this.bytes.toString("utf8", start, end);
    return JSON.parse(this.bytes.toString("utf8", start - 1, 1 - end)) as string;
  }
}

/** The hash that a key with these bytes has. */
export function hashKey(bytes: Uint8Array): number {
  let hash = 0;
  for (const byte of bytes) hash = nextHash(hash, byte);
  return hash;
}

export function nextHash(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}
