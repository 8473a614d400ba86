/** Rows of one segment: the leading index, the extent of a number of rows, and the rows themselves. */
import type { ColumnFilter } from "./criteria.ts";
import type { KeptRecord, RecordQuery } from "./record-reader.ts";
import { type Column, toKept } from "./row.ts";
import type { Segment } from "./segments.ts";

type Value = bigint | number;

/** Read access to one database. */
export interface SegmentReader {
  /** Prefix of table names. */
  readonly prefix: string;
  /** Oldest first. */
  segments(): Promise<readonly Segment[]>;
  /** Returns whole numbers in any form that `BigInt` accepts. @param values for the "?" of the statement */
  all(sql: string, values: readonly Value[]): Promise<readonly (readonly unknown[])[]>;
  bytes(): Promise<number>;
}

/** Rows between two checks of the work limit: rows found by an index, and rows read in sequence. */
export const STRIDE = 5_000;
export const SCAN_STRIDE = 25_000;
/** Rows of a column to count before it is called frequent. */
const FEW = 500;
/** Most rows per read: a page, and one that shows that there is more. */
const MAX_ROWS = 201;

/** Unread part of a segment: `low` ≤ id < `high`. */
export interface Range {
  readonly low: bigint;
  readonly high: bigint;
}

/** @returns the leading column (absent: only the order), and its number of rows in the range if these are few */
export async function chooseLeading(
  db: SegmentReader,
  { number, isIndexed }: Segment,
  { low, high }: Range,
  criteria: readonly ColumnFilter[],
): Promise<{ readonly leading: ColumnFilter | undefined; readonly rows: number | undefined }> {
  if (!isIndexed) return { leading: undefined, rows: undefined };
  let best: ColumnFilter | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const criterion of criteria.filter(({ isScanned }) => !isScanned)) {
    let rows = 0;
    for (const { column, value } of criterion.alternatives) {
      const [row] = await db.all(
        `SELECT count(*) FROM (SELECT 1 FROM ${db.prefix}facts_${number} WHERE ${column} = ? AND id >= ? AND id < ? LIMIT ${FEW}) AS few`,
        [value, low, high],
      );
      rows += Number(row?.[0] ?? 0);
    }
    if (rows < fewest) [best, fewest] = [criterion, rows];
    if (rows === 0) break;
  }
  return { leading: best, rows: fewest < FEW ? fewest : undefined };
}

export interface SegmentSearch {
  /** ID of the last row of a stride; undefined: fewer rows remain. */
  stride(range: Range): Promise<bigint | undefined>;
  rows(
    range: Range,
    most: number,
  ): Promise<readonly { readonly id: bigint; readonly record: KeptRecord | undefined }[]>;
}

/** Rows of a segment that a question finds, by each alternative of what leads; their ids are apart. */
export interface RowsPart {
  /** Without an order. */
  readonly sql: string;
  values(range: Range): readonly Value[];
}

export function rowsOf(
  { prefix }: Pick<SegmentReader, "prefix">,
  { number }: Segment,
  criteria: readonly ColumnFilter[],
  leading: ColumnFilter | undefined,
  column: Column,
): readonly RowsPart[] {
  const rest = criteria.filter((criterion) => criterion !== leading);
  const filter = rest.map(({ condition }) => ` AND ${condition}`).join("");
  const values = rest.flatMap((criterion) => criterion.values);
  const select = `SELECT id, ${column} FROM ${prefix}facts_${number} WHERE `;
  if (leading === undefined)
    return [{ sql: `${select}id >= ? AND id < ?${filter}`, values: (range) => [range.low, range.high, ...values] }];
  return leading.alternatives.map(({ column, value, but }) => ({
    sql: `${select}${column} = ? AND id >= ? AND id < ?${but === undefined ? "" : ` AND ${but}`}${filter}`,
    values: (range) => [value, range.low, range.high, ...values],
  }));
}

export function searchIn(
  db: SegmentReader,
  { number }: Segment,
  criteria: readonly ColumnFilter[],
  leading: ColumnFilter | undefined,
  order: RecordQuery["order"],
): SegmentSearch {
  const table = `${db.prefix}facts_${number}`;
  const direction = order === "newest" ? "DESC" : "ASC";
  const rest = criteria.filter((criterion) => criterion !== leading);
  const conditions = rest.map(({ condition }) => ` AND ${condition}`).join("");
  const values = rest.flatMap((criterion) => criterion.values);

  /** Each alternative by its index; merged in order. */
  const select = (range: Range, isFiltered: boolean): { readonly sql: string; readonly values: readonly Value[] } => {
    const filter = isFiltered ? conditions : "";
    const filterValues = isFiltered ? values : [];
    if (leading === undefined) {
      const sql = `SELECT id FROM ${table} WHERE id >= ? AND id < ?${filter}`;
      return { sql, values: [range.low, range.high, ...filterValues] };
    }
    return {
      sql: leading.alternatives
        .map(
          ({ column, but }) =>
            `SELECT id FROM ${table} WHERE ${column} = ? AND id >= ? AND id < ?${but === undefined ? "" : ` AND ${but}`}${filter}`,
        )
        .join(" UNION ALL "),
      values: leading.alternatives.flatMap(({ value }) => [value, range.low, range.high, ...filterValues]),
    };
  };

  return {
    async stride(range) {
      const { sql, values: given } = select(range, false);
      const [row] = await db.all(
        `${sql} ORDER BY id ${direction} LIMIT 1 OFFSET ${(leading === undefined ? SCAN_STRIDE : STRIDE) - 1}`,
        given,
      );
      return row === undefined ? undefined : toId(row[0]);
    },
    async rows(range, most) {
      const { sql, values: given } = select(range, true);
      const rows = await db.all(`${sql} ORDER BY id ${direction} LIMIT ${most}`, given);
      return readTexts(
        db,
        number,
        rows.map(([id]) => toId(id)),
      );
    },
  };
}

/** @returns in the order of the ids */
export async function readTexts(
  db: SegmentReader,
  segment: number,
  ids: readonly bigint[],
): Promise<readonly { readonly id: bigint; readonly record: KeptRecord | undefined }[]> {
  if (ids.length === 0) return [];
  // Rounded up: a separate statement for each length is not worth it.
  const places = [...ids, ...Array.from({ length: roundUp(ids.length) - ids.length }, () => -1n)];
  const rows = await db.all(
    `SELECT f.id, f.outcome, t.value, t.result FROM ${db.prefix}texts_${segment} t JOIN ${db.prefix}facts_${segment} f ON f.id = t.id WHERE t.id IN (${places.map(() => "?").join(", ")})`,
    places,
  );
  const byId = new Map(rows.map((row) => [toId(row[0]), row]));
  return ids.map((id) => {
    const row = byId.get(id);
    if (row === undefined) return { id, record: undefined };
    const [, outcome, value, result] = row;
    const resultText = typeof result === "string" ? result : null;
    return { id, record: toKept({ id, outcome: Number(outcome ?? 0), text: String(value), result: resultText }) };
  });
}

function roundUp(length: number): number {
  return [1, 10, 51, MAX_ROWS].find((step) => length <= step) ?? length;
}

export function toId(value: unknown): bigint {
  return BigInt(value as bigint | number | string);
}
