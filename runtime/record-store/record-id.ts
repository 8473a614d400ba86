/**
 * IDs of stored records, in the order of time: 42 bits of milliseconds, 9 of the record's position in the log, 12 of
 * its process. Tables are ordered and split by them, so that a query about a time reads no other rows. A record that is
 * written twice, or whose outcome comes later, has the same ID each time.
 */
import { hash } from "node:crypto";

const WRITER_BITS = 12n;
const COUNT_BITS = 9n;
const TIME_SHIFT = WRITER_BITS + COUNT_BITS;
const COUNTS = 1 << Number(COUNT_BITS);

const WRITERS = 1 << Number(WRITER_BITS);
/** Above all IDs: 2^63 - 1, the limit of databases. */
export const LAST_ID = 0x7fffffffffffffffn;
const MAX_TIME_MS = 2 ** 42 - 1;

/** Lowest id of a time. */
export function firstIdAt(timeMs: number): bigint {
  return BigInt(Math.min(Math.max(Math.floor(timeMs), 0), MAX_TIME_MS)) << TIME_SHIFT;
}

/** Number of next IDs to try: more than the records of a millisecond. */
export const MAX_TRIES = 2 * COUNTS;
/** The same for an outcome, which does not wait for anything else: two records share an ID only by chance. */
export const OUTCOME_TRIES = 4;

/** Milliseconds since the epoch. */
export function timeOf(id: bigint): number {
  return Number(id >> TIME_SHIFT);
}

/** The next ID of the same writer, for a record whose ID is in use: in the same millisecond, unless that is full. */
export function nextId(id: bigint): bigint {
  return id + (1n << WRITER_BITS);
}

/**
 * @param instance run of a process @param seq position in its log @returns the same each time; another record may
 *   also have it
 */
export function recordId(timeMs: number, instance: string, seq: number): bigint {
  const count = Number.isSafeInteger(seq) ? Math.abs(seq) % COUNTS : 0;
  return firstIdAt(timeMs) | BigInt(count * WRITERS + writerOf(instance));
}

let last = { instance: "", writer: 0 };

/** Cached: nearly all records are from one instance. */
function writerOf(instance: string): number {
  if (last.instance !== instance)
    last = { instance, writer: Number.parseInt(hash("sha256", instance).slice(0, 3), 16) };
  return last.writer;
}

/** Form of the ID in links. */
export function formatId(id: bigint): string {
  return id.toString(36);
}

/** @returns undefined for an invalid ID */
export function parseId(text: string): bigint | undefined {
  if (!/^[0-9a-z]{1,13}$/.test(text)) return undefined;
  let id = 0n;
  for (const digit of text) id = id * 36n + BigInt(Number.parseInt(digit, 36));
  return id <= LAST_ID ? id : undefined;
}
