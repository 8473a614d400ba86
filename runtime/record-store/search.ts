/**
 * Finds records in segments, the same way in every database.
 *
 * In each segment one of the queried columns leads (the one with the fewest rows), and the others are compared row by
 * row. The leading column may have a million rows and the whole query none. So the work is limited, and the page then
 * contains a cursor to continue.
 */
import { GatewayError } from "../shared/errors.ts";
import { criteriaOf } from "./criteria.ts";
import { firstIdAt, LAST_ID, parseId, timeOf, formatId } from "./record-id.ts";
import type { KeptRecord, RecordPage, RecordQuery, RecordReader } from "./record-reader.ts";
import { isAskedFor } from "./row.ts";
import {
  chooseLeading,
  type Range,
  readTexts,
  SCAN_STRIDE,
  searchIn,
  type SegmentReader,
  STRIDE,
  toId,
} from "./segment-search.ts";
import { type Segment, segmentOf } from "./segments.ts";

export interface SearchLimits {
  /** Older records are hidden, though they may still exist. */
  readonly maxAgeMs: number;
  /** Rows that a page may read. */
  readonly maxRows?: number;
  /** Time that a page may take, checked every few thousand rows. */
  readonly maxMs?: number;
}

const MAX_LIMIT = 200;
/** Cost of opening a segment, in rows. */
const SEGMENT_ROWS = 100;

/** @throws GatewayError `records.query`, `records.cursor`, and errors of the database */
export async function findRecords(
  db: SegmentReader,
  query: RecordQuery,
  { maxAgeMs, maxRows = 200_000, maxMs = 60 }: SearchLimits,
  now: number,
): Promise<RecordPage> {
  const { order, limit, sinceMs = 0, untilMs } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new GatewayError("records.query", `Cannot find records: limit is ${limit}, must be 1 to ${MAX_LIMIT}`);
  const cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor, order);
  const fullRange: Range = {
    low: firstIdAt(Math.max(sinceMs, now - maxAgeMs)),
    high: untilMs === undefined ? LAST_ID : firstIdAt(untilMs),
  };
  const criteria = criteriaOf(query);
  const started = performance.now();
  let used = 0;
  const found: { readonly record: KeptRecord; readonly at: string }[] = [];

  /** One more than requested shows that there is more. */
  const page = (isPartial: boolean, goesOnAt?: string): RecordPage => {
    const records = found.slice(0, limit).map(({ record }) => record);
    const next = found.length > limit ? found[limit - 1]?.at : goesOnAt;
    return { records, isPartial, ...(next !== undefined && { next }) };
  };

  for (const { segment, range: all } of inOrder(await db.segments(), order)) {
    if (cursor && (order === "newest" ? segment.number > cursor.segment : segment.number < cursor.segment)) continue;
    let range = narrow(all, fullRange);
    if (cursor?.segment === segment.number) range = after(range, cursor.id, order);
    if (range.low >= range.high) continue;
    used += SEGMENT_ROWS;
    const { leading, rows: few } = await chooseLeading(db, segment, range, criteria);
    const search = searchIn(db, segment, criteria, leading, order);
    if (few === 0) continue;
    while (range.low < range.high) {
      const isShort = few !== undefined || criteria.length === (leading === undefined ? 0 : 1);
      const end = isShort ? undefined : await search.stride(range);
      const stretch = end === undefined ? range : upTo(range, end, order);
      const missing = limit + 1 - found.length;
      const rows = await search.rows(stretch, missing);
      for (const { id, record } of rows) {
        const at = formatCursor(order, segment.number, id);
        if (record !== undefined && isAskedFor(record, query)) found.push({ record, at });
      }
      if (found.length > limit) return page(false);
      const last = rows.at(-1);
      used += end === undefined ? rows.length : leading === undefined ? SCAN_STRIDE / 5 : STRIDE;
      // After a full result there may be more in the same stretch.
      if (last !== undefined && rows.length === missing) range = after(range, last.id, order);
      else if (end === undefined) break;
      else range = after(range, end, order);
      const edge = order === "newest" ? range.high : range.low - 1n;
      if (used >= maxRows || performance.now() - started > maxMs)
        return page(true, formatCursor(order, segment.number, edge));
    }
    if (used >= maxRows || performance.now() - started > maxMs) {
      const edge = order === "newest" ? 0n : LAST_ID;
      return page(true, formatCursor(order, segment.number, edge));
    }
  }
  return page(false);
}

/** @throws errors of the database */
export async function getRecord(
  db: SegmentReader,
  id: string,
  { maxAgeMs }: Pick<SearchLimits, "maxAgeMs">,
  now: number,
): Promise<KeptRecord | undefined> {
  const number = parseId(id);
  if (number === undefined || timeOf(number) < now - maxAgeMs) return undefined;
  const segment = segmentOf(await db.segments(), number);
  if (segment === undefined) return undefined;
  const [record] = await readTexts(db, segment.number, [number]);
  return record?.record;
}

/** @throws errors of the database */
export async function countRecords(
  db: SegmentReader,
  { maxAgeMs }: Pick<SearchLimits, "maxAgeMs">,
  now: number,
): ReturnType<RecordReader["stats"]> {
  const segments = await db.segments();
  const count = segments.reduce((sum, { records }) => sum + records, 0);
  const bytes = await db.bytes();
  for (const { number } of segments) {
    const [row] = await db.all(`SELECT min(id) FROM ${db.prefix}facts_${number} WHERE id >= ?`, [
      firstIdAt(now - maxAgeMs),
    ]);
    const oldest = row?.[0];
    if (oldest !== null && oldest !== undefined) return { count, bytes, oldestMs: timeOf(toId(oldest)) };
  }
  return { count, bytes };
}

function inOrder(
  segments: readonly Segment[],
  order: RecordQuery["order"],
): readonly { readonly segment: Segment; readonly range: Range }[] {
  const all = segments.map((segment, index) => ({
    segment,
    // The first segment also has the records that came too late for their own.
    range: { low: index === 0 ? 0n : segment.firstId, high: segments[index + 1]?.firstId ?? LAST_ID },
  }));
  return order === "newest" ? all.toReversed() : all;
}

function narrow(a: Range, b: Range): Range {
  return { low: a.low > b.low ? a.low : b.low, high: a.high < b.high ? a.high : b.high };
}

/** The range after this ID. */
function after({ low, high }: Range, id: bigint, order: RecordQuery["order"]): Range {
  return order === "newest" ? { low, high: id < high ? id : high } : { low: id >= low ? id + 1n : low, high };
}

/** The range up to this ID, inclusive. */
function upTo({ low, high }: Range, id: bigint, order: RecordQuery["order"]): Range {
  return order === "newest" ? { low: id, high } : { low, high: id + 1n };
}

/** End of a page: a segment, and the ID of the last row checked. */
function formatCursor(order: RecordQuery["order"], segment: number, id: bigint): string {
  return `${order === "newest" ? "n" : "o"}${segment.toString(36)}.${formatId(id)}`;
}

/** @throws GatewayError `records.cursor` */
function parseCursor(text: string, order: RecordQuery["order"]): { readonly segment: number; readonly id: bigint } {
  const [, from, segment = "", id = ""] = /^([no])([0-9a-z]{1,9})\.([0-9a-z]{1,13})$/.exec(text) ?? [];
  const number = parseId(id);
  if (number === undefined || from !== (order === "newest" ? "n" : "o"))
    throw new GatewayError("records.cursor", "Cannot find records: the cursor belongs to another query");
  return { segment: Number.parseInt(segment, 36), id: number };
}
