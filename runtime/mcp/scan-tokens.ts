/**
 * The JSON tokens that contain no others, read strictly (RFC 8259 §3, §6, §7). Pure.
 *
 * Each function gets the bytes, a position and the end of the bytes, and returns the position after the token.
 */
import { ScanError } from "./scan-error.ts";

/** @param pos after the backslash @throws ScanError `malformed-json` */
export function afterEscape(bytes: Buffer, pos: number, end: number): number {
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

const SIMPLE_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

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
