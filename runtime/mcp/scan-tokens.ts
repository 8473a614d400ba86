/**
 * The JSON tokens that contain no others, read strictly (RFC 8259 §3, §6, §7). Pure.
 *
 * Each function gets the bytes, a position and the end of the bytes, and returns the position after the token.
 */
import { ScanError } from "./scan-error.ts";

/** @param pos after the backslash @throws ScanError `malformed-json` */
function afterEscape(bytes: Buffer, pos: number, end: number): number {
  if (pos >= end) throw new ScanError("malformed-json");
  const byte = bytes[pos] as number;
  if (byte !== 0x75) {
    if (SIMPLE_ESCAPES[byte] !== 1) throw new ScanError("malformed-json");
    return pos + 1;
  }
  if (pos + 5 > end) throw new ScanError("malformed-json");
  for (let i = pos + 1; i < pos + 5; i++) if (!isHex(bytes[i] as number)) throw new ScanError("malformed-json");
  return pos + 5;
}

/** 1 for each byte that follows a backslash alone. */
const SIMPLE_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) SIMPLE_ESCAPES[byte] = 1;

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** A number: no leading zeros, no plus, digits on both sides of the point. @throws ScanError `malformed-json` */
export function afterNumber(bytes: Buffer, start: number, end: number): number {
  let pos = start;
  if (byteAt(bytes, pos, end) === 0x2d) pos++;
  pos = byteAt(bytes, pos, end) === 0x30 ? pos + 1 : behindDigits(bytes, pos, end);
  if (byteAt(bytes, pos, end) === 0x2e) pos = behindDigits(bytes, pos + 1, end);
  const exponent = byteAt(bytes, pos, end);
  if (exponent === 0x65 || exponent === 0x45) {
    const sign = byteAt(bytes, pos + 1, end);
    pos = behindDigits(bytes, sign === 0x2b || sign === 0x2d ? pos + 2 : pos + 1, end);
  }
  return pos;
}

/** @returns 0 at the end: no number contains that byte */
function byteAt(bytes: Buffer, pos: number, end: number): number {
  return pos < end ? (bytes[pos] as number) : 0;
}

function behindDigits(bytes: Buffer, first: number, end: number): number {
  let pos = first;
  while (pos < end) {
    const byte = bytes[pos] as number;
    if (byte < 0x30 || byte > 0x39) break;
    pos++;
  }
  if (pos === first) throw new ScanError("malformed-json");
  return pos;
}

/** `true`, `false` or `null`. @throws ScanError `malformed-json` */
export function afterLiteral(bytes: Buffer, pos: number, end: number): number {
  const word = pos < end ? WORDS.get(bytes[pos] as number) : undefined;
  if (word === undefined || end - pos < word.length) throw new ScanError("malformed-json");
  for (let at = 1; at < word.length; at++) if (bytes[pos + at] !== word[at]) throw new ScanError("malformed-json");
  return pos + word.length;
}

/** Literals by their first byte. */
const WORDS: ReadonlyMap<number, Buffer> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Longer texts are read in words. */
const SHORT_TEXT = 16;
/** After this many plain bytes a long part is likely. */
const PLAIN_BYTES = 256;

/**
 * Texts: the beginning in bytes, the rest in words, and a long part without escapes by native searches. Time is linear in the length
 * of all texts of a message. Both loops have the same end of a part: in one loop, texts with many escapes take a quarter longer.
 */
export class TextScanner {
  /** Whether the last text contains a backslash. */
  isEscaped = false;
  /** Whether any text or key until now has an escape with a code. */
  hasCodes = false;
  private bytes: Buffer;
  private end = 0;
  /** Made for the first long text. */
  private view: DataView | undefined;
  /** The next quote and backslash from some position on; they are searched for once. */
  private quote = -1;
  private backslash = -1;

  constructor(nothing: Buffer) {
    this.bytes = nothing;
  }

  start(bytes: Buffer): void {
    this.bytes = bytes;
    this.end = bytes.length;
    this.view = undefined;
    this.quote = -1;
    this.backslash = -1;
    this.hasCodes = false;
  }

  /** From after the opening quote to after the closing one. @throws ScanError `malformed-json` */
  after(start: number): number {
    const { bytes, end } = this;
    const near = start + SHORT_TEXT < end ? start + SHORT_TEXT : end;
    let pos = start;
    this.isEscaped = false;
    while (pos < near) {
      const byte = bytes[pos] as number;
      pos++;
      if (byte === QUOTE) return pos;
      if (byte === BACKSLASH) {
        this.isEscaped = true;
        pos = this.afterEscape(pos);
      } else if (byte < 0x20) {
        throw new ScanError("malformed-json");
      }
    }
    return this.afterLong(pos);
  }

  /** @param pos after the backslash @throws ScanError `malformed-json` */
  afterEscape(pos: number): number {
    const next = afterEscape(this.bytes, pos, this.end);
    if (next > pos + 1) this.hasCodes = true;
    return next;
  }

  private afterLong(start: number): number {
    const { bytes, end } = this;
    const view = (this.view ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    let pos = start;
    while (pos < end) {
      const far = pos + PLAIN_BYTES;
      while (pos <= end - 4) {
        const found = endsIn(view.getInt32(pos, true));
        if (found !== 0) {
          pos += (31 - Math.clz32(found & -found)) >> 3;
          break;
        }
        pos += 4;
        if (pos === far) pos = this.afterPlain(view, pos);
      }
      const byte = pos < end ? (bytes[pos] as number) : 0;
      pos++;
      if (byte === QUOTE) return pos;
      if (byte === BACKSLASH) {
        this.isEscaped = true;
        pos = this.afterEscape(pos);
      } else if (byte < 0x20) {
        break;
      }
    }
    throw new ScanError("malformed-json");
  }

  /** @returns a position from `start` on, before which no byte ends the plain part */
  private afterPlain(view: DataView, start: number): number {
    const { bytes, end } = this;
    if (this.quote < start) this.quote = found(bytes.indexOf(QUOTE, start), end);
    if (this.backslash < start) this.backslash = found(bytes.indexOf(BACKSLASH, start), end);
    const last = Math.min(this.quote, this.backslash) - 8;
    let pos = start;
    while (pos <= last && (controlsIn(view.getInt32(pos, true)) | controlsIn(view.getInt32(pos + 4, true))) === 0)
      pos += 8;
    return pos;
  }
}

function found(index: number, end: number): number {
  return index === -1 ? end : index;
}

const ONES = 0x01010101;
const HIGHEST = (0x80 * ONES) | 0;

/** @param word four bytes, the first one lowest @returns 0 if none of them is a control character; see `endsIn` */
function controlsIn(word: number): number {
  return (word - 0x20 * ONES) & ~word & HIGHEST;
}

/**
 * @returns 0 if all four bytes are plain; else the lowest bit that is set is the highest of the first byte that is a quote, a
 *   backslash or a control character. Subtracting sets that bit where a byte is too small; what is borrowed from later bytes does
 *   not matter.
 */
function endsIn(word: number): number {
  const quotes = word ^ (QUOTE * ONES);
  const backslashes = word ^ (BACKSLASH * ONES);
  return controlsIn(word) | ((((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes)) & HIGHEST);
}
