/** The statement that counts together with other processes, in one round trip: `allot` of ../allotments.ts, in SQL. */
import type { AllotmentRequest, RawAllotment } from "../allotments.ts";

/** bigint columns come as text. */
export interface AllotmentRow {
  readonly names: readonly string[];
  readonly counts: readonly (number | string)[];
  readonly untils: readonly string[];
  readonly granted: number | string;
  readonly at: string;
}

const NOW_MS = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/**
 * The new content of a row. The conflict locks the row before this is computed, so the clock and the entries are read
 * under the lock.
 *
 * $1 key, $2 limit, $3 wanted, $4 spent, $5 share, $6 keepMs, $7 slotMs, $8 holder, $9 and $10 entry and count returned,
 * $11 whether less than `wanted` is nothing
 *
 * @param type of counts
 */
function next(type: "integer" | "bigint", names: string, counts: string, untils: string): string {
  const live = `
    SELECT e.name, e.count - CASE WHEN e.name = $9 THEN least(e.count, $10::${type}) ELSE 0 END AS count,
           least(e.until, t.now + $6::bigint + $7::bigint) AS until
    FROM unnest(${names}, ${counts}, ${untils}) AS e (name, count, until) WHERE e.until > t.now`;
  return `
    SELECT coalesce(array_agg(m.name), '{}'), coalesce(array_agg(m.count), '{}'), coalesce(array_agg(m.until), '{}'),
           max(g.granted), max(t.now), ceil(coalesce(max(m.until), t.now) / 1000.0)::bigint
    FROM (SELECT ${NOW_MS} AS now) AS t
    CROSS JOIN LATERAL (SELECT (t.now / $7::bigint + 1) * $7::bigint + $6::bigint AS until) AS fresh
    CROSS JOIN LATERAL (SELECT coalesce(sum(l.count), 0) AS used FROM (${live}) AS l) AS u
    CROSS JOIN LATERAL (
      SELECT least($3::${type}, ceil(greatest(0, $2::${type} - u.used) / $5::numeric))::${type} AS most) AS f
    CROSS JOIN LATERAL (
      SELECT greatest($4::${type}, CASE WHEN $11::boolean AND f.most < $3::${type} THEN 0 ELSE f.most END)::${type}
        AS granted) AS g
    LEFT JOIN LATERAL (
      SELECT a.name, sum(a.count)::${type} AS count, max(a.until) AS until FROM (
        ${live} UNION ALL SELECT coalesce($8::text, fresh.until::text), g.granted, fresh.until) AS a
      WHERE a.count > 0 GROUP BY a.name) AS m ON true
    GROUP BY t.now`;
}

const COLUMNS = "names, counts, untils, granted, at, expires_at";

function statement(table: string, type: "integer" | "bigint"): string {
  return `
  INSERT INTO ${table} AS row (key, ${COLUMNS})
  SELECT $1, n.* FROM (${next(type, "'{}'::text[]", `'{}'::${type}[]`, "'{}'::bigint[]")}) AS n
  ON CONFLICT (key) DO UPDATE SET (${COLUMNS}) = (${next(type, "row.names", "row.counts", "row.untils")})
  RETURNING names, counts, untils, granted, at`;
}

export const ALLOT = statement("gateway_allotments", "integer");
export const ALLOT_DURABLE = statement("gateway_history", "bigint");

export function allotValues(key: string, request: AllotmentRequest): readonly unknown[] {
  const { limit, wanted, spent, share, keepMs, slotMs, holder, back, isWhole = false } = request;
  const returned = [back?.entry ?? null, back?.count ?? 0];
  return [key, limit, wanted, spent, share, keepMs, slotMs, holder ?? null, ...returned, isWhole];
}

export function toRawAllotment({ names, counts, untils, granted, at }: AllotmentRow): RawAllotment {
  const entries = names.map((name, index) => ({
    name,
    count: Number(counts[index] ?? 0),
    untilMs: Number(untils[index]),
  }));
  return { granted: Number(granted), entries, nowMs: Number(at) };
}
