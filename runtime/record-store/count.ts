/**
 * Counts records over time and by name, for charts: newest segments first, as far as the time limit allows.
 *
 * Counting uses only the numbers of names (row.ts). Two names with the same number would be counted together; lists
 * show both separately.
 */
import { GatewayError } from "../shared/errors.ts";
import { criteriaOf } from "./criteria.ts";
import { firstIdAt, timeOf } from "./record-id.ts";
import type { CountQuery, KeptRecord, Ranking, RankQuery, RecordCounts } from "./record-reader.ts";
import { type Column, isAskedFor, OUTCOMES } from "./row.ts";
import type { SearchLimits } from "./search.ts";
import { chooseLeading, type Range, readTexts, rowsOf, type SegmentReader, toId } from "./segment-search.ts";

const MAX_SLOTS = 200;
const MAX_RANKED = 20;
/** Rows that are counted between two checks of the time. */
const STRIDE = 5_000;
const MAX_MS = 25;

export function noCounts({ slots }: CountQuery): RecordCounts {
  return { slots: Array.from({ length: slots }, () => ({})) };
}

export function noRanking({ slots }: RankQuery): Ranking {
  return { rows: [], distinct: 0, slots: Array.from({ length: slots }, () => 0) };
}

/** @throws GatewayError `records.query`, what the database throws */
export async function countInSlots(
  db: SegmentReader,
  query: CountQuery,
  limits: SearchLimits,
  now: number,
): Promise<RecordCounts> {
  const counts = Array.from({ length: query.slots }, (): Record<string, number> => ({}));
  const countedSinceMs = await countGroups(db, query, "outcome", limits, now, ({ slot, value, count }) => {
    const at = counts[slot];
    const name = OUTCOMES[Number(value ?? 0)] ?? "allowed";
    if (at) at[name] = (at[name] ?? 0) + count;
  });
  return { slots: counts, ...(countedSinceMs !== undefined && { countedSinceMs }) };
}

const COLUMN_OF = { user: "usr", tool: "tool", route: "route" } as const satisfies Readonly<
  Record<RankQuery["by"], Column>
>;

/** @throws GatewayError `records.query`, what the database throws */
export async function rankRecords(
  db: SegmentReader,
  query: RankQuery,
  limits: SearchLimits,
  now: number,
): Promise<Ranking> {
  const { by, most, slots } = query;
  if (!Number.isInteger(most) || most < 0 || most > MAX_RANKED)
    throw new GatewayError("records.query", `Cannot rank records: expected at most ${MAX_RANKED} rows`);
  const found = new Map<string, { count: number; newest: bigint; segment: number }>();
  const distinct = Array.from({ length: slots }, () => new Set<string>());
  const countedSinceMs = await countGroups(db, query, COLUMN_OF[by], limits, now, (group) => {
    const { slot, value, count, newest, segment } = group;
    if (value === null) {
      // Anonymous users are a separate row. A record without a tool is not a tool call.
      if (by !== "user") return;
    } else distinct[slot]?.add(String(value));
    const known = found.get(String(value));
    if (!known) found.set(String(value), { count, newest, segment });
    else {
      known.count += count;
      if (newest > known.newest) Object.assign(known, { newest, segment });
    }
  });
  const ranked = [...found.values()].toSorted((a, b) => b.count - a.count).slice(0, most);
  const rows = await Promise.all(
    ranked.map(async ({ count, newest, segment }): Promise<readonly { record: KeptRecord; count: number }[]> => {
      const [row] = await readTexts(db, segment, [newest]);
      // The row may be of another name with the same number, such as that of another owner.
      return row?.record === undefined || !isAskedFor(row.record, query) ? [] : [{ record: row.record, count }];
    }),
  );
  return {
    rows: rows.flat(),
    distinct: found.size - (found.has("null") ? 1 : 0),
    slots: distinct.map(({ size }) => size),
    ...(countedSinceMs !== undefined && { countedSinceMs }),
  };
}

interface Group {
  readonly slot: number;
  readonly value: bigint | number | string | null;
  readonly count: number;
  readonly newest: bigint;
  readonly segment: number;
}

/**
 * Counts by time slot and value of a column.
 *
 * @returns the time since which everything is counted, if the time limit was reached first
 */
async function countGroups(
  db: SegmentReader,
  query: CountQuery,
  column: Column,
  { maxAgeMs, maxMs = MAX_MS }: SearchLimits,
  now: number,
  take: (group: Group) => void,
): Promise<number | undefined> {
  const { sinceMs, untilMs, slots } = query;
  if (!Number.isInteger(slots) || slots < 1 || slots > MAX_SLOTS || untilMs <= sinceMs)
    throw new GatewayError(
      "records.query",
      `Cannot count records: expected 1 to ${MAX_SLOTS} slots of a time that passes`,
    );
  const deadline = performance.now() + maxMs;
  const fullRange: Range = { low: firstIdAt(Math.max(sinceMs, now - maxAgeMs)), high: firstIdAt(untilMs) };
  const origin = firstIdAt(sinceMs);
  const width = (firstIdAt(untilMs) - origin) / BigInt(slots) + 1n;
  const criteria = criteriaOf(query);
  const segments = await db.segments();
  for (const [index, segment] of [...segments.entries()].toReversed()) {
    const low = index === 0 ? 0n : segment.firstId;
    const high = segments[index + 1]?.firstId ?? fullRange.high;
    const range = {
      low: low > fullRange.low ? low : fullRange.low,
      high: high < fullRange.high ? high : fullRange.high,
    };
    if (range.low >= range.high) continue;
    if (performance.now() > deadline) return timeOf(range.high);
    const { leading, rows } = await chooseLeading(db, segment, range, criteria);
    if (rows === 0) continue;
    for (const part of rowsOf(db, segment, criteria, leading, column)) {
      for (let end = range.high; ;) {
        const values = [origin, width, ...part.values({ low: range.low, high: end })];
        const found = await db.all(
          `SELECT (id - ?) / ?, ${column}, count(*), min(id), max(id) FROM (${part.sql} ORDER BY id DESC LIMIT ${STRIDE}) AS part GROUP BY 1, 2`,
          values,
        );
        let counted = 0;
        for (const [slot, value, number, lowest, newest] of found) {
          const count = Number(number);
          take({
            slot: Number(slot),
            value: value as Group["value"],
            count,
            newest: toId(newest),
            segment: segment.number,
          });
          counted += count;
          if (toId(lowest) < end) end = toId(lowest);
        }
        if (counted < STRIDE) break;
        if (performance.now() > deadline) return timeOf(range.high);
      }
    }
  }
  return undefined;
}
