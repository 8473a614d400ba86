/**
 * Segments of the records, each a pair of tables: expired or surplus records are removed by dropping a table, without
 * searching for rows. A segment has the records from its first ID up to that of the next one.
 *
 * Records are appended to the last segment, which has only its primary order; once it is full it gets its indexes,
 * built in one go. A late record goes into the segment of its time.
 */
import { firstIdAt, timeOf } from "./record-id.ts";
import { COLUMNS } from "./row.ts";

export interface Segment {
  readonly number: number;
  readonly firstId: bigint;
  readonly records: number;
  /** Whether it has its indexes. */
  readonly isIndexed: boolean;
}

export interface Bounds {
  readonly maxAgeMs: number;
  readonly maxRecords: number;
}

const MAX_SEGMENT = 100_000;

/** Records per segment: few compared to the total, and few enough to search the last one without an index. */
export function segmentRecords({ maxRecords }: Bounds): number {
  return Math.min(Math.ceil(maxRecords / 20), Math.max(MAX_SEGMENT, Math.ceil(maxRecords / 200)));
}

/** How long a segment can be the last one. */
function segmentMs({ maxAgeMs }: Bounds): number {
  return Math.ceil(maxAgeMs / 24);
}

/** Whether the next segment is due: this one is full, or has been the last one for long. */
export function isFull({ records, firstId }: Segment, bounds: Bounds, now: number): boolean {
  if (records === 0) return false;
  return records >= segmentRecords(bounds) || timeOf(firstId) <= now - segmentMs(bounds);
}

/** First ID of the next segment. @param newest ID in the last one */
export function nextFirstId(newest: bigint, now: number): bigint {
  // Records written with a clock that was ahead must not keep the last segment open until that time.
  return firstIdAt(timeOf(newest) > now + MINUTE ? now : timeOf(newest) + 1);
}

const MINUTE = 60_000;

/** @param segments oldest first @returns whether to drop the first one: all of it is too old, or its space is needed */
export function isOver(segments: readonly Segment[], bounds: Bounds, oldestId: bigint): boolean {
  const [, second] = segments;
  if (second === undefined) return false;
  if (second.firstId <= oldestId) return true;
  const full = segments.slice(0, -1).reduce((sum, { records }) => sum + records, 0);
  return full > bounds.maxRecords - segmentRecords(bounds);
}

/** @param segments oldest first, at least one @returns the segment for the record */
export function segmentOf(segments: readonly Segment[], id: bigint): Segment | undefined {
  return segments.findLast(({ firstId }) => firstId <= id) ?? segments[0];
}

/** Statements of one segment. */
export function createSegment(prefix: string, number: number, isPostgres: boolean): readonly string[] {
  const integer = isPostgres ? "bigint" : "integer";
  const small = isPostgres ? "smallint" : "integer";
  const columns = COLUMNS.map((name) => `${name} ${name === "outcome" || name === "kind" ? small : integer}`);
  const strict = isPostgres ? "" : " STRICT";
  const id = isPostgres ? "id bigint PRIMARY KEY" : "id integer PRIMARY KEY";
  return [
    `CREATE TABLE ${prefix}facts_${number} (${id}, ${columns.join(", ")})${strict}`,
    `CREATE TABLE ${prefix}texts_${number} (${id}, value text NOT NULL, result text)${strict}`,
  ];
}

/** Statements that bring a segment of version 1 up to date. */
export function updateSegment(prefix: string, number: number, isPostgres: boolean): readonly string[] {
  const column = isPostgres ? "IF NOT EXISTS request bigint" : "request integer";
  const indexes = indexesOf(prefix, number, isPostgres);
  return [`ALTER TABLE ${prefix}facts_${number} ADD COLUMN ${column}`, indexes[COLUMNS.indexOf("request")] ?? ""];
}

/** Created one at a time: each blocks other writers for a moment. */
export function indexesOf(prefix: string, number: number, isPostgres: boolean): readonly string[] {
  // SQLite's indexes end in the ID anyway.
  const last = isPostgres ? ", id" : "";
  return COLUMNS.map(
    (name) =>
      `CREATE INDEX IF NOT EXISTS facts_${number}_${name} ON ${prefix}facts_${number} (${name}${last}) WHERE ${name} IS NOT NULL`,
  );
}
