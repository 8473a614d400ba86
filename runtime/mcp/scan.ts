/**
 * A strict JSON scanner over bytes that builds nothing: it walks, checks and remembers positions.
 *
 * Untrusted input: the bytes (already known to be valid UTF-8). Promises: what it accepts every conforming parser accepts
 * and reads alike, because what parsers read differently is refused: a key standing twice in one object at any depth
 * (also when one of the two is spelled with escapes), keys with lone surrogates, anything outside the grammar of RFC 8259.
 * Time is linear in the length; depth and open members are bounded.
 */
import { OpenKeys, nextHash } from "./open-keys.ts";
import { ScanError } from "./scan-error.ts";

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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NOTHING = Buffer.alloc(0);

export class JsonScanner {
  private bytes: Buffer = NOTHING;
  private end = 0;
  private pos = 0;
  private depth = 0;
  private escaped = false;
  private readonly keys = new OpenKeys();

  start(bytes: Buffer): void {
    this.bytes = bytes;
    this.end = bytes.length;
    this.pos = 0;
    this.depth = 0;
    this.keys.start(bytes);
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
    if (++this.depth > MAX_DEPTH) throw new ScanError("too-deep");
    return this.keys.open(this.depth);
  }

  /** Goes on to the next member and stands before its value. @returns false when the object ended */
  nextKey(mark: number): boolean {
    this.skipSpace();
    let byte = this.byte();
    if (byte === 0x7d) {
      this.pos++;
      this.keys.close(mark);
      this.depth--;
      return false;
    }
    if (this.keys.count > mark) {
      if (byte !== 0x2c) throw new ScanError("malformed-json");
      this.pos++;
      this.skipSpace();
      byte = this.byte();
    }
    if (byte !== QUOTE) throw new ScanError("malformed-json");
    this.pos++;
    this.readKey(mark);
    this.skipSpace();
    if (this.byte() !== 0x3a) throw new ScanError("malformed-json");
    this.pos++;
    return true;
  }

  /** The key just read. */
  key(): string {
    return this.keys.last();
  }

  /** See `OpenKeys.lastPlainLength`. */
  keyPlainLength(): number {
    return this.keys.lastPlainLength();
  }

  /** Its hash; see `hashKey`. */
  keyHash(): number {
    return this.keys.hash;
  }

  /** True when the key just read is `name`. */
  keyIs(name: Buffer): boolean {
    return this.keys.lastIs(name);
  }

  /** Walks over the next value and says where it stands. */
  take(): Span {
    const kind = this.peek();
    const start = this.pos;
    this.skipValue();
    if (kind === undefined) throw new ScanError("malformed-json");
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
      throw new ScanError("malformed-json");
    }
  }

  /** Nothing but white space may be left. */
  finish(): void {
    this.skipSpace();
    if (this.pos !== this.end) throw new ScanError("malformed-json");
  }

  /** The next byte; the end of the bytes is never a good place to be. */
  private byte(): number {
    if (this.pos >= this.end) throw new ScanError("malformed-json");
    return this.bytes[this.pos] as number;
  }

  private skipSpace(): void {
    const { bytes, end } = this;
    let pos = this.pos;
    while (pos < end) {
      const byte = bytes[pos] as number;
      // The first comparison alone settles nearly every call.
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
      pos++;
    }
    this.pos = pos;
  }

  /** Where the next value begins, or what was just read has ended. */
  get position(): number {
    return this.pos;
  }

  /** Enters an array, and stands before its first element. @returns false when it is empty, and was left */
  openArray(): boolean {
    this.pos++;
    if (++this.depth > MAX_DEPTH) throw new ScanError("too-deep");
    this.skipSpace();
    if (this.byte() !== 0x5d) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  /** Behind an element: goes on to the next one. @returns false when the array ended */
  nextElement(): boolean {
    this.skipSpace();
    const byte = this.byte();
    this.pos++;
    if (byte === 0x2c) return true;
    if (byte !== 0x5d) throw new ScanError("malformed-json");
    this.depth--;
    return false;
  }

  private skipArray(): void {
    if (!this.openArray()) return;
    do this.skipValue();
    while (this.nextElement());
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
    throw new ScanError("malformed-json");
  }

  /** @param pos behind the backslash @returns the position behind the escape */
  private skipEscape(pos: number): number {
    const { bytes, end } = this;
    if (pos >= end) throw new ScanError("malformed-json");
    const byte = bytes[pos] as number;
    if (byte !== 0x75) {
      if (!SIMPLE_ESCAPES.has(byte)) throw new ScanError("malformed-json");
      return pos + 1;
    }
    if (pos + 5 > end) throw new ScanError("malformed-json");
    for (let i = pos + 1; i < pos + 5; i++) if (!isHex(bytes[i] as number)) throw new ScanError("malformed-json");
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
    if (this.pos === first) throw new ScanError("malformed-json");
  }

  private skipWord(word: "true" | "false" | "null"): void {
    const end = this.pos + word.length;
    if (end > this.end || this.bytes.toString("latin1", this.pos, end) !== word) throw new ScanError("malformed-json");
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
      if (pos >= end) throw new ScanError("malformed-json");
      const byte = bytes[pos] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        isEscaped = true;
        pos = this.skipEscape(pos + 1);
        continue;
      }
      if (byte < 0x20) throw new ScanError("malformed-json");
      hash = nextHash(hash, byte);
      pos++;
    }
    this.pos = pos + 1;
    this.keys.add(start, pos, isEscaped, hash, mark, this.depth);
  }
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
