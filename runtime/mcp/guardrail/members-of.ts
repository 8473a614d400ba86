/** Positions of the members of one JSON object, read strictly. */
import { isUtf8 } from "node:buffer";

import { JsonScanner, type TextSpan } from "../scan.ts";

// Reused for its arrays; it retains nothing of a text, and no two calls interleave.
const scanner = new JsonScanner();

/** @returns undefined for anything but an object that all parsers read alike */
export function membersOf(bytes: Buffer): ReadonlyMap<string, TextSpan> | undefined {
  return isUtf8(bytes) ? scanner.read(bytes, readMembers, () => undefined) : undefined;
}

function readMembers(): ReadonlyMap<string, TextSpan> | undefined {
  if (scanner.peek() !== "object") return undefined;
  const members = new Map<string, TextSpan>();
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const key = scanner.key();
    members.set(key, scanner.take());
  }
  scanner.finish();
  return members;
}

/** The bytes with another JSON text at a position. */
export function withValue(bytes: Buffer, { start, end }: TextSpan, value: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), value, bytes.subarray(end)]);
}
