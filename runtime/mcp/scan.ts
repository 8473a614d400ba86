/**
 * A strict JSON scanner over bytes that builds nothing: it walks, checks and remembers positions.
 *
 * Untrusted input: the bytes (already valid UTF-8). Promises: every conforming parser accepts what the scanner accepts,
 * and reads it alike. It rejects input that parsers read differently: a key twice in one object at any depth (also when
 * one of the two has escapes), keys with lone surrogates, anything outside the grammar of RFC 8259. Time is linear in
 * the length; depth and open members are bounded.
 */
import { OpenKeys, nextHash } from "./open-keys.ts";
import { ScanError, type ScanReason } from "./scan-error.ts";
import { afterNumber, afterLiteral, TextScanner } from "./scan-tokens.ts";
import { MAX_JSON_DEPTH } from "../shared/json/foreign-json.ts";

/** Position of a value in the bytes; of text without its quotes. */
export interface TextSpan {
  readonly kind: ValueKind;
  readonly start: number;
  readonly end: number;
  /** Whether the text contains a backslash. */
  readonly isEscaped: boolean;
}

export type ValueKind = "object" | "array" | "text" | "number" | "true" | "false" | "null";

const MAX_DEPTH = MAX_JSON_DEPTH;
/** Used for arrays instead of an object's mark. */
const ARRAY = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NOTHING = Buffer.alloc(0);

export class JsonScanner {
  private bytes: Buffer = NOTHING;
  private end = 0;
  private pos = 0;
  private depth = 0;
  private readonly keys = new OpenKeys();
  private readonly texts = new TextScanner(NOTHING);
  /** Marks of the values around `skipValue()`, by depth. */
  private readonly marks = new Int32Array(MAX_DEPTH + 1);

  /**
   * Reads a text, and drops the reference to it.
   *
   * @param read uses this scanner @param rejected result for a text that is not accepted
   */
  read<T>(bytes: Buffer, read: (bytes: Buffer) => T, rejected: (reason: ScanReason) => T): T {
    try {
      this.start(bytes);
      return read(bytes);
    } catch (error) {
      if (error instanceof ScanError) return rejected(error.reason);
      throw error;
    } finally {
      this.start(NOTHING);
    }
  }

  start(bytes: Buffer): void {
    this.bytes = bytes;
    this.end = bytes.length;
    this.pos = 0;
    this.depth = 0;
    this.keys.start(bytes);
    this.texts.start(bytes);
  }

  /** Whether any text or key that was read has an escape with a code. */
  get hasCodes(): boolean {
    return this.texts.hasCodes;
  }

  /** Kind of the next value, by its first byte; undefined at the end or when no value starts there. */
  peek(): ValueKind | undefined {
    this.pos = this.afterSpace(this.pos);
    return kindOf(this.pos < this.end ? (this.bytes[this.pos] as number) : 0);
  }

  /** Enters an object. @returns its mark for `nextKey` */
  openObject(): number {
    this.pos++;
    this.enter();
    return this.keys.open(this.depth);
  }

  /** Moves to the value of the next member. @returns false when the object ended */
  nextKey(mark: number): boolean {
    let pos = this.afterSpace(this.pos);
    let byte = this.byteAt(pos);
    if (byte === 0x7d) {
      this.pos = pos + 1;
      this.keys.close(mark);
      this.depth--;
      return false;
    }
    if (this.keys.count > mark) {
      if (byte !== 0x2c) throw new ScanError("malformed-json");
      pos = this.afterSpace(pos + 1);
      byte = this.byteAt(pos);
    }
    this.pos = this.afterKey(pos, mark);
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

  /** Hash of the current key; see `hashKey`. */
  keyHash(): number {
    return this.keys.hash;
  }

  /** True when the key just read is `name`. */
  keyIs(name: Buffer): boolean {
    return this.keys.lastIs(name);
  }

  /** Walks over the next value and returns its position. */
  take(): TextSpan {
    const kind = this.peek();
    const start = this.pos;
    this.skipValue();
    if (kind === undefined) throw new ScanError("malformed-json");
    return kind === "text"
      ? { kind, start: start + 1, end: this.pos - 1, isEscaped: this.texts.isEscaped }
      : { kind, start, end: this.pos, isEscaped: false };
  }

  /** Walks over the next value of any kind, in one loop: a call for each nested value would cost more than the walk. */
  skipValue(): void {
    const { bytes, end, marks } = this;
    const outer = this.depth;
    let pos = this.pos;
    for (;;) {
      pos = this.afterSpace(pos);
      const first = pos < end ? (bytes[pos] as number) : 0;
      if (first === QUOTE) {
        pos = this.texts.after(pos + 1);
      } else if (first === 0x7b || first === 0x5b) {
        const next = this.afterSpace(pos + 1);
        const isObject = first === 0x7b;
        this.enter();
        // "{" and "[" are two code points before "}" and "]".
        if (this.byteAt(next) === first + 2) {
          this.depth--;
          pos = next + 1;
        } else {
          const mark = isObject ? this.keys.open(this.depth) : ARRAY;
          marks[this.depth] = mark;
          pos = isObject ? this.afterKey(next, mark) : next;
          continue;
        }
      } else if (first === 0x2d || (first >= 0x30 && first <= 0x39)) {
        pos = afterNumber(bytes, pos, end);
      } else {
        pos = afterLiteral(bytes, pos, end);
      }
      // After a value: the enclosing value continues or ends.
      for (;;) {
        if (this.depth === outer) {
          this.pos = pos;
          return;
        }
        pos = this.afterSpace(pos);
        const byte = this.byteAt(pos);
        const mark = marks[this.depth] as number;
        pos++;
        if (byte === 0x2c) {
          if (mark !== ARRAY) pos = this.afterKey(this.afterSpace(pos), mark);
          break;
        }
        if (byte !== (mark === ARRAY ? 0x5d : 0x7d)) throw new ScanError("malformed-json");
        if (mark !== ARRAY) this.keys.close(mark);
        this.depth--;
      }
    }
  }

  /** Only white space may remain. */
  finish(): void {
    this.pos = this.afterSpace(this.pos);
    if (this.pos !== this.end) throw new ScanError("malformed-json");
  }

  private enter(): void {
    if (++this.depth > MAX_DEPTH) throw new ScanError("too-deep");
  }

  /** The byte at a position; throws at the end of the bytes. */
  private byteAt(pos: number): number {
    if (pos >= this.end) throw new ScanError("malformed-json");
    return this.bytes[pos] as number;
  }

  private afterSpace(pos: number): number {
    const { bytes, end } = this;
    while (pos < end) {
      const byte = bytes[pos] as number;
      // The first comparison settles nearly every call.
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
      pos++;
    }
    return pos;
  }

  /** Start of the next value, or end of the last one. */
  get position(): number {
    return this.pos;
  }

  /** Enters an array, and moves to its first element. @returns false when it was empty; it is closed again then */
  openArray(): boolean {
    this.enter();
    this.pos = this.afterSpace(this.pos + 1);
    if (this.byteAt(this.pos) !== 0x5d) return true;
    this.pos++;
    this.depth--;
    return false;
  }

  /** Moves from the end of an element to the next one. @returns false when the array ended */
  nextElement(): boolean {
    const pos = this.afterSpace(this.pos);
    const byte = this.byteAt(pos);
    this.pos = pos + 1;
    if (byte === 0x2c) return true;
    if (byte !== 0x5d) throw new ScanError("malformed-json");
    this.depth--;
    return false;
  }

  /** From a key's opening quote to after its colon; rejects a repeated key. */
  private afterKey(pos: number, mark: number): number {
    if (this.byteAt(pos) !== QUOTE) throw new ScanError("malformed-json");
    const { bytes, end } = this;
    const start = pos + 1;
    let at = start;
    let hash = 0;
    let isEscaped = false;
    for (;;) {
      if (at >= end) throw new ScanError("malformed-json");
      const byte = bytes[at] as number;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        isEscaped = true;
        at = this.texts.afterEscape(at + 1);
        continue;
      }
      if (byte < 0x20) throw new ScanError("malformed-json");
      hash = nextHash(hash, byte);
      at++;
    }
    this.keys.add(start, at, isEscaped, hash, mark, this.depth);
    const colon = this.afterSpace(at + 1);
    if (this.byteAt(colon) !== 0x3a) throw new ScanError("malformed-json");
    return colon + 1;
  }
}

/** The text at a span, decoded. */
export function spanText(bytes: Buffer, span: TextSpan): string {
  const text = bytes.toString("utf8", span.start, span.end);
  return span.isEscaped ? (JSON.parse(`"${text}"`) as string) : text;
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
