/**
 * Counts records over time, for a chart: newest segments first, as far as the time for it goes.
 *
 * Counts go by the numbers of names alone (row.ts). Two names of one number would be counted together, and both are shown apart
 * in lists.
 */
import { GatewayError } from "../shared/errors.ts";
import { criteriaOf } from "./criteria.ts";
import { firstIdAt, timeOf } from "./record-id.ts";
import type { CountQuery, RecordCounts } from "./record-reader.ts";
import { OUTCOMES } from "./row.ts";
import type { SearchLimits } from "./search.ts";
import { chooseLeading, rowsOf, type Range, type SegmentReader, toId } from "./segment-search.ts";

const MAX_SLOTS = 200;
/** Rows that are counted between two checks of the time. */
const STRIDE = 20_000;
const MAX_MS = 25;

export function noCounts({ slots }: CountQuery): RecordCounts {
  return { slots: Array.from({ length: slots }, () => ({})) };
}

/** @throws GatewayError `records.query`, what the database throws */
export async function countInSlots(
  db: SegmentReader,
  query: CountQuery,
  { maxAgeMs, maxMs = MAX_MS }: SearchLimits,
  now: number,
): Promise<RecordCounts> {
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
  const counts = Array.from({ length: slots }, () => ({}) as Record<string, number>);
  const segments = await db.segments();
  for (const [index, segment] of [...segments.entries()].toReversed()) {
    const low = index === 0 ? 0n : segment.firstId;
    const high = segments[index + 1]?.firstId ?? fullRange.high;
    const range = {
      low: low > fullRange.low ? low : fullRange.low,
      high: high < fullRange.high ? high : fullRange.high,
    };
    if (range.low >= range.high) continue;
    if (performance.now() > deadline) return { slots: counts, countedSinceMs: timeOf(range.high) };
    const { leading, rows } = await chooseLeading(db, segment, range, criteria);
    if (rows === 0) continue;
    for (const part of rowsOf(db, segment, criteria, leading)) {
      for (let end = range.high; ;) {
        const values = [origin, width, ...part.values({ low: range.low, high: end })];
        const found = await db.all(
          `SELECT (id - ?) / ?, outcome, count(*), min(id) FROM (${part.sql} ORDER BY id DESC LIMIT ${STRIDE}) AS part GROUP BY 1, 2`,
          values,
        );
        let counted = 0;
        for (const [slot, outcome, count, lowest] of found) {
          const at = counts[Number(slot)];
          const name = OUTCOMES[Number(outcome ?? 0)] ?? "allowed";
          if (at) at[name] = (at[name] ?? 0) + Number(count);
          counted += Number(count);
          if (toId(lowest) < end) end = toId(lowest);
        }
        if (counted < STRIDE) break;
        if (performance.now() > deadline) return { slots: counts, countedSinceMs: timeOf(range.high) };
      }
    }
  }
  return { slots: counts };
}
