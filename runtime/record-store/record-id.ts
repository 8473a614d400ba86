/**
 * Ids of kept records, in the order of time: 42 bits of milliseconds, 9 of a count, 12 of the writer. They are what tables are
 * ordered and cut by, so a question about a time looks at no other.
 */
const WRITER_BITS = 12n;
const COUNT_BITS = 9n;
const TIME_SHIFT = WRITER_BITS + COUNT_BITS;
const COUNTS = 1 << Number(COUNT_BITS);

/** So many writers have names of their own at a time. */
export const WRITERS = 1 << Number(WRITER_BITS);
/** Above all ids: 2^63 - 1, what databases have room for. */
export const LAST_ID = 0x7fffffffffffffffn;
const MAX_TIME_MS = 2 ** 42 - 1;

/** Lowest id of a time. */
export function firstIdAt(timeMs: number): bigint {
  return BigInt(Math.min(Math.max(Math.floor(timeMs), 0), MAX_TIME_MS)) << TIME_SHIFT;
}

/** So often the next id is tried: more than a millisecond has. */
export const MAX_TRIES = 2 * COUNTS;

/** Milliseconds since the epoch. */
export function timeOf(id: bigint): number {
  return Number(id >> TIME_SHIFT);
}

/** The next one of the same writer, for a record whose id another one has: of the same millisecond, unless that is full. */
export function nextId(id: bigint): bigint {
  return id + (1n << WRITER_BITS);
}

/** @param writer 0 to `WRITERS` - 1: no other writer has it at the same time @returns ids that grow as long as the time does */
export function createIds(writer: number): (timeMs: number) => bigint {
  let count = 0;
  let last = -1;
  return (timeMs) => {
    count = timeMs > last ? 0 : (count + 1) % COUNTS;
    last = Math.max(last, timeMs);
    return firstIdAt(timeMs) | BigInt(count * WRITERS + writer);
  };
}

/** As it stands in links. */
export function formatId(id: bigint): string {
  return id.toString(36);
}

/** @returns undefined for what is no id */
export function parseId(text: string): bigint | undefined {
  if (!/^[0-9a-z]{1,13}$/.test(text)) return undefined;
  let id = 0n;
  for (const digit of text) id = id * 36n + BigInt(Number.parseInt(digit, 36));
  return id <= LAST_ID ? id : undefined;
}
