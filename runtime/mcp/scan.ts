/**
 * A strict JSON reader over bytes that builds nothing: it walks, checks and remembers positions.
 *
 * Untrusted input: the bytes (already known to be valid UTF-8). Promises: what it accepts every conforming parser accepts
 * and reads alike, because what parsers read differently is refused: a key standing twice in one object at any depth
 * (also when one of the two is spelled with escapes), keys with lone surrogates, anything outside the grammar of RFC 8259.
 * Time is linear in the length; depth and open members are bounded.
 */
export type ScanReason = "malformed-json" | "duplicate-key" | "too-deep" | "too-many-members";

export class ScanFault extends Error {
  readonly reason: ScanReason;

  constructor(reason: ScanReason) {
    super(reason);
    this.name = "ScanFault";
    this.reason = reason;
  }
}

/** Where a value stands in the bytes; for text without its quotes. */
export interface Span {
  readonly kind: ValueKind;
  readonly start: number;
  readonly end: number;
  /** Text with a backslash in it. */
  readonly isEscaped: boolean;
}

export type ValueKind = "object" | "array" | "text" | "number" | "true" | "false" | "null";

const MAX_DEPTH = 64;
/** Members of all objects that are open at once. */
const MAX_OPEN_MEMBERS = 10_000;
/** Up to here keys are compared one with the other; past it a Set, so that many keys do not cost their square. */
const MAX_COMPARED = 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NOTHING = Buffer.alloc(0);

export class JsonScanner {
  private bytes: Buffer = NOTHING;
  private end = 0;
  private pos = 0;
  private depth = 0;
  /** Keys of all open objects, innermost last; a negative end marks an escaped key. */
  private keyCount = 0;
  private readonly hashes = new Int32Array(MAX_OPEN_MEMBERS);
  private readonly starts = new Int32Array(MAX_OPEN_MEMBERS);
  private readonly ends = new Int32Array(MAX_OPEN_MEMBERS);
  /** Keys of an object with more than MAX_COMPARED members, by depth. */
  private readonly sets: (Set<string> | undefined)[] = [];
  private escaped = false;

  /** Hash of the key just read, over its decoded bytes; see `hashKey`. */
  keyHash = 0;

  start(bytes: Buffer): void {
    this.bytes = bytes;
    this.end = bytes.length;
    this.pos = 0;
    this.depth = 0;
    this.keyCount = 0;
  }

  /** Lets go of the bytes. */
  release(): void {
    this.start(NOTHING);
  }

  /** What the next value is, going by its first byte; undefined at the end or at something that begins no value. */
  peek(): ValueKind | undefined {
    this.skipSpace();
    return kindOf(this.pos < this.end ? (this.bytes[this.pos] as number) : 0);
  }

  /** Enters an object. @returns its mark for `nextKey` */
  openObject(): number {
    this.pos++;
    if (++this.depth > MAX_DEPTH) throw new ScanFault("too-deep");
    this.sets[this.depth] = undefined;
    return this.keyCount;
  }

  /** Goes on to the next member and stands before its value. @returns false when the object ended */
  nextKey(mark: number): boolean {
    this.skipSpace();
    let byte = this.byte();
    if (byte === 0x7d) {
      this.pos++;
      this.keyCount = mark;
      this.depth--;
      return false;
    }
    if (this.keyCount > mark) {
      if (byte !== 0x2c) throw new ScanFault("malformed-json");
      this.pos++;
      this.skipSpace();
      byte = this.byte();
    }
    if (byte !== QUOTE) throw new ScanFault("malformed-json");
    this.pos++;
    this.readKey(mark);
    this.skipSpace();
    if (this.byte() !== 0x3a) throw new ScanFault("malformed-json");
    this.pos++;
    return true;
  }

  /** The key just read. */
  key(): string {
    return this.keyText(this.keyCount - 1);
  }

  /** True when the key just read is `name`; `hash` is `hashKey(name)`. */
  keyIs(name: Buffer): boolean {
    const last = this.keyCount - 1;
    const start = this.starts[last] as number;
    const end = this.ends[last] as number;
    if (end < 0) return this.keyText(last) === name.toString();
    if (end - start !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (this.bytes[start + i] !== name[i]) return false;
    return true;
  }

  /** Walks over the next value and says where it stands. */
  take(): Span {
    const kind = this.peek();
    const start = this.pos;
    this.skipValue();
    if (kind === undefined) throw new ScanFault("malformed-json");
    return kind === "text"
      ? { kind, start: start + 1, end: this.pos - 1, isEscaped: this.escaped }
      : { kind, start, end: this.pos, isEscaped: false };
  }

  /** Walks over the next value, whatever it is. */
  skipValue(): void {
    this.skipSpace();
    const byte = this.byte();
    if (byte === QUOTE) {
      this.pos++;
      this.skipText();
    } else if (byte === 0x7b) {
      const mark = this.openObject();
      while (this.nextKey(mark)) this.skipValue();
    } else if (byte === 0x5b) {
      this.skipArray();
    } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      this.skipNumber();
    } else if (byte === 0x74) {
      this.skipWord("true");
    } else if (byte === 0x66) {
      this.skipWord("false");
    } else if (byte === 0x6e) {
      this.skipWord("null");
    } else {
      throw new ScanFault("malformed-json");
    }
  }

  /** Nothing but white space may be left. */
  finish(): void {
    this.skipSpace();
    if (this.pos !== this.end) throw new ScanFault("malformed-json");
  }

  /** The next byte; the end of the bytes is never a good place to be. */
  private byte(): number {
    if (this.pos >= this.end) throw new ScanFault("malformed-json");
    return this.bytes[this.pos] as number;
  }

  private skipSpace(): void {
    const bytes = this.bytes;
    while (this.pos < this.end) {
      const byte = bytes[this.pos] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.pos++;
    }
  }

  private skipArray(): void {
    this.pos++;
    if (++this.depth > MAX_DEPTH) throw new ScanFault("too-deep");
    this.skipSpace();
    if (this.byte() === 0x5d) {
      this.pos++;
      this.depth--;
      return;
    }
    for (;;) {
      this.skipValue();
      this.skipSpace();
      const byte = this.byte();
      this.pos++;
      if (byte === 0x5d) break;
      if (byte !== 0x2c) throw new ScanFault("malformed-json");
    }
    this.depth--;
  }

  /** From behind the opening quote to behind the closing one. */
  private skipText(): void {
    const { bytes, end } = this;
    let pos = this.pos;
    this.escaped = false;
    while (pos < end) {
      const byte = bytes[pos] as number;
      pos++;
      if (byte === QUOTE) {
        this.pos = pos;
        return;
      }
      if (byte === BACKSLASH) {
        this.escaped = true;
        pos = this.skipEscape(pos);
      } else if (byte < 0x20) {
        break;
      }
    }
    throw new ScanFault("malformed-json");
  }

  /** @param pos behind the backslash @returns the position behind the escape */
  private skipEscape(pos: number): number {
    const { bytes, end } = this;
    if (pos >= end) throw new ScanFault("malformed-json");
    const byte = bytes[pos] as number;
    if (byte !== 0x75) {
      if (!SIMPLE_ESCAPES.has(byte)) throw new ScanFault("malformed-json");
      return pos + 1;
    }
    if (pos + 5 > end) throw new ScanFault("malformed-json");
    for (let i = pos + 1; i < pos + 5; i++) if (!isHex(bytes[i] as number)) throw new ScanFault("malformed-json");
    return pos + 5;
  }

  /** RFC 8259 §6: no leading zeros, no plus, digits on both sides of the point. */
  private skipNumber(): void {
    if (this.byte() === 0x2d) this.pos++;
    if (this.byte() === 0x30) this.pos++;
    else this.skipDigits();
    if (this.pos < this.end && this.bytes[this.pos] === 0x2e) {
      this.pos++;
      this.skipDigits();
    }
    const exponent = this.pos < this.end ? (this.bytes[this.pos] as number) : 0;
    if (exponent === 0x65 || exponent === 0x45) {
      this.pos++;
      const sign = this.byte();
      if (sign === 0x2b || sign === 0x2d) this.pos++;
      this.skipDigits();
    }
  }

  private skipDigits(): void {
    const first = this.pos;
    while (this.pos < this.end) {
      const byte = this.bytes[this.pos] as number;
      if (byte < 0x30 || byte > 0x39) break;
      this.pos++;
    }
    if (this.pos === first) throw new ScanFault("malformed-json");
  }

  private skipWord(word: "true" | "false" | "null"): void {
    const end = this.pos + word.length;
    if (end > this.end || this.bytes.toString("latin1", this.pos, end) !== word) throw new ScanFault("malformed-json");
    this.pos = end;
  }

  /** From behind the opening quote to behind the closing one; refuses a key that this object has already. */
  private readKey(mark: number): void {
    const { bytes, end } = this;
    const start = this.pos;
    let pos = start;
    let hash = 0;
    let isEscaped = false;
    for (;;) {
      if (pos >= end) throw new ScanFault("malformed-json");
      const byte = bytes[pos] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        isEscaped = true;
        pos = this.skipEscape(pos + 1);
        continue;
      }
      if (byte < 0x20) throw new ScanFault("malformed-json");
      hash = (Math.imul(hash, 31) + byte) | 0;
      pos++;
    }
    this.pos = pos + 1;
    if (this.keyCount >= MAX_OPEN_MEMBERS) throw new ScanFault("too-many-members");
    if (isEscaped) {
      const text = this.decode(start, pos);
      // Parsers replace lone surrogates each in their own way: two such keys may become one upstream.
      if (!text.isWellFormed()) throw new ScanFault("malformed-json");
      hash = hashKey(Buffer.from(text));
    }
    const index = this.keyCount;
    this.hashes[index] = hash;
    this.starts[index] = start;
    this.ends[index] = isEscaped ? -pos : pos;
    this.keyHash = hash;
    this.refuseDuplicate(mark, index);
    this.keyCount = index + 1;
  }

  private refuseDuplicate(mark: number, index: number): void {
    const hash = this.hashes[index];
    if (index - mark < MAX_COMPARED) {
      for (let i = mark; i < index; i++) {
        // The hash is only a filter: keys made to collide cost at most MAX_COMPARED comparisons.
        if (this.hashes[i] === hash && this.keyText(i) === this.keyText(index)) throw new ScanFault("duplicate-key");
      }
      return;
    }
    let set = this.sets[this.depth];
    if (!set) {
      set = new Set();
      for (let i = mark; i < index; i++) set.add(this.keyText(i));
      this.sets[this.depth] = set;
    }
    const text = this.keyText(index);
    if (set.has(text)) throw new ScanFault("duplicate-key");
    set.add(text);
  }

  private keyText(index: number): string {
    const start = this.starts[index] as number;
    const end = this.ends[index] as number;
    return end < 0 ? this.decode(start, -end) : this.bytes.toString("utf8", start, end);
  }

  private decode(start: number, end: number): string {
    return JSON.parse(this.bytes.toString("utf8", start - 1, end + 1)) as string;
  }
}

/** The hash that `keyHash` has for a key with these bytes. */
export function hashKey(bytes: Uint8Array): number {
  let hash = 0;
  for (const byte of bytes) hash = (Math.imul(hash, 31) + byte) | 0;
  return hash;
}

/** The text at a span, decoded. */
export function spanText(bytes: Buffer, span: Span): string {
  const text = bytes.toString("utf8", span.start, span.end);
  return span.isEscaped ? (JSON.parse(`"${text}"`) as string) : text;
}

const SIMPLE_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function kindOf(byte: number): ValueKind | undefined {
  switch (byte) {
    case QUOTE:
      return "text";
    case 0x7b:
      return "object";
    case 0x5b:
      return "array";
    case 0x74:
      return "true";
    case 0x66:
      return "false";
    case 0x6e:
      return "null";
    default:
      return byte === 0x2d || (byte >= 0x30 && byte <= 0x39) ? "number" : undefined;
  }
}
