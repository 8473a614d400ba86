/**
 * Writes records to PostgreSQL, which replicas share: a batch is one transaction of few statements.
 *
 * A batch with an unknown result is written again, skipping the rows that exist. IDs may collide when a clock was set
 * back, or with a process of the same number.
 */
import { BackEndError, type Batch, type LateOutcome, type RecordBackEnd } from "../back-end.ts";
import { firstIdAt, MAX_TRIES, nextId, OUTCOME_TRIES } from "../record-id.ts";
import { COLUMNS, type Row } from "../row.ts";
import {
  type Bounds,
  createSegment,
  indexesOf,
  isFull,
  isOver,
  nextFirstId,
  type Segment,
  segmentOf,
} from "../segments.ts";
import {
  LOCK_SPACE,
  lockAlone,
  NoTableError,
  openRecordPool,
  PREFIX,
  prepareSchema,
  type Query,
  readSegments,
  SEGMENTS_LOCK,
} from "./postgres-records.ts";

/** One for writing, one for creating indexes. */
const CONNECTIONS = 2;

export function createPostgresBackEnd(url: string, bounds: Bounds): RecordBackEnd {
  const pool = openRecordPool(url, CONNECTIONS);
  let prepared: Promise<void> | undefined;
  /** Results of one transaction may be outdated in the next, so each reads the segments again. */
  const opened = (): Promise<void> =>
    (prepared ??= prepareSchema(pool).catch((error: unknown) => {
      prepared = undefined;
      throw error;
    }));

  return {
    async write(batch) {
      try {
        await opened();
        if (await pool.transaction((query) => writeBatch(query, batch, bounds))) return;
        await pool.transaction((query) => roll(query, bounds, batch.now));
        await pool.transaction((query) => writeBatch(query, batch));
      } catch (error) {
        // The tables were dropped: the next attempt creates them.
        if (error instanceof NoTableError) prepared = undefined;
        throw error;
      }
    },
    async maintain(now) {
      await opened();
      const segments = await readSegments(pool.query);
      const last = segments.at(-1);
      if (last && isFull(last, bounds, now)) {
        await pool.transaction((query) => roll(query, bounds, now));
        return true;
      }
      if (isOver(segments, bounds, firstIdAt(now - bounds.maxAgeMs))) {
        await pool.transaction((query) => drop(query, bounds, now));
        return true;
      }
      const closed = segments.slice(0, -1).find(({ isIndexed }) => !isIndexed);
      if (closed) await pool.transaction((query) => index(query, closed.number));
      return closed !== undefined;
    },
    close: () => pool.close(),
  };
}

/**
 * @param bounds absent: also into a full segment
 * @returns false: a new segment is needed first, and nothing was written
 */
async function writeBatch(query: Query, { rows, ended, now }: Batch, bounds?: Bounds): Promise<boolean> {
  await query(`SELECT pg_advisory_xact_lock_shared(${LOCK_SPACE}, ${SEGMENTS_LOCK})`);
  const segments = await readSegments(query);
  const last = segments.at(-1);
  if (last === undefined || (bounds && isFull(last, bounds, now))) return false;
  let left = rows;
  for (let tries = 0; left.length > 0; tries += 1) {
    if (tries === MAX_TRIES) throw new BackEndError("failed", "its clock stands still");
    const others: Row[] = [];
    for (const [number, some] of bySegment(segments, left)) {
      const { count, taken } = await insert(query, number, some);
      others.push(...taken);
      await query(`UPDATE ${PREFIX}segments SET records = records + $1 WHERE number = $2`, [count, number]);
    }
    for (const row of others) row.id = nextId(row.id);
    left = others;
  }
  let open = ended;
  for (let tries = 0; open.length > 0 && tries < OUTCOME_TRIES; tries += 1) {
    const others: LateOutcome[] = [];
    for (const [number, some] of bySegment(segments, open)) others.push(...(await finish(query, number, some)));
    open = others.map((each) => ({ ...each, id: nextId(each.id) }));
  }
  return true;
}

function bySegment<T extends { readonly id: bigint }>(
  segments: readonly Segment[],
  rows: readonly T[],
): ReadonlyMap<number, readonly T[]> {
  const groups = Map.groupBy(rows, ({ id }) => segmentOf(segments, id)?.number ?? 0);
  // All writers use one order, which avoids deadlocks.
  return new Map([...groups].toSorted(([a], [b]) => a - b));
}

/** @returns number of new records, and those whose ID another record has */
async function insert(
  query: Query,
  segment: number,
  given: readonly Row[],
): Promise<{ readonly count: number; readonly taken: readonly Row[] }> {
  const byId = new Map(given.toReversed().map((row) => [String(row.id), row]));
  const taken = given.filter((row) => byId.get(String(row.id)) !== row);
  const rows = [...byId.values()];
  const columns = COLUMNS.map((name) => rows.map((row) => (name === "outcome" ? row.outcome : row.columns[name])));
  const types = COLUMNS.map(
    (name, at) => `$${at + 2}::${name === "outcome" || name === "kind" ? "smallint" : "bigint"}[]`,
  );
  const inserted = await query(
    `INSERT INTO ${PREFIX}facts_${segment} (id, ${COLUMNS.join(", ")})
     SELECT * FROM unnest($1::bigint[], ${types.join(", ")}) ON CONFLICT (id) DO NOTHING RETURNING id`,
    [[...byId.keys()], ...columns],
  );
  const fresh = inserted.flatMap(([id]) => byId.get(String(id)) ?? []);
  await query(`INSERT INTO ${PREFIX}texts_${segment} SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])`, [
    fresh.map(({ id }) => String(id)),
    fresh.map(textOf),
    fresh.map(({ result }) => result),
  ]);
  if (fresh.length < rows.length) {
    for (const row of fresh) byId.delete(String(row.id));
    const known = await query(`SELECT id, value FROM ${PREFIX}texts_${segment} WHERE id = ANY($1::bigint[])`, [
      [...byId.keys()],
    ]);
    const texts = new Map(known.map(([id, value]) => [String(id), value]));
    const isStored = ([id, row]: readonly [string, Row]): boolean => texts.get(id) === textOf(row);
    taken.push(...[...byId].filter((each) => !isStored(each)).map(([, row]) => row));
    // Its outcome may not have been known then.
    const again = [...byId].filter(isStored).flatMap(([, row]) => {
      const { id, result, outcome } = row;
      return result === null ? [] : [{ id, mark: textOf(row).slice(0, -1), result, outcome }];
    });
    if (again.length > 0) await finish(query, segment, again);
  }
  return { count: fresh.length, taken };
}

/** PostgreSQL's text has no NUL; JSON has it as an escape. */
function textOf({ text }: Row): string {
  return text.toWellFormed();
}

/** @returns outcomes whose record does not exist with this ID */
async function finish(query: Query, segment: number, given: readonly LateOutcome[]): Promise<readonly LateOutcome[]> {
  const rows = await query(
    `UPDATE ${PREFIX}texts_${segment} t SET result = n.result
     FROM unnest($1::bigint[], $2::text[], $3::text[]) AS n (id, result, mark)
     WHERE t.id = n.id AND (strpos(t.value, n.mark || ',') > 0 OR strpos(t.value, n.mark || '}') > 0) RETURNING t.id`,
    [given.map(({ id }) => String(id)), given.map(({ result }) => result), given.map(({ mark }) => mark)],
  );
  const found = new Set(rows.map(([id]) => String(id)));
  const [here, others] = [true, false].map((is) => given.filter(({ id }) => found.has(String(id)) === is));
  await query(
    `UPDATE ${PREFIX}facts_${segment} f SET outcome = n.outcome FROM unnest($1::bigint[], $2::smallint[]) AS n (id, outcome)
     WHERE f.id = n.id AND n.outcome IS NOT NULL AND f.outcome IS NULL`,
    [here?.map(({ id }) => String(id)), here?.map(({ outcome }) => outcome)],
  );
  return others ?? [];
}

/** Starts the next segment, unless another process has. */
async function roll(query: Query, bounds: Bounds, now: number): Promise<void> {
  await lockAlone(query);
  const last = (await readSegments(query)).at(-1);
  if (last === undefined) return begin(query, 1, firstIdAt(now));
  if (!isFull(last, bounds, now)) return;
  const [row] = await query(`SELECT max(id) FROM ${PREFIX}facts_${last.number}`);
  const newest = BigInt((row?.[0] as string | null) ?? last.firstId);
  await begin(query, last.number + 1, nextFirstId(newest, now));
}

async function begin(query: Query, number: number, firstId: bigint): Promise<void> {
  for (const sql of createSegment(PREFIX, number, true)) await query(sql);
  await query(`INSERT INTO ${PREFIX}segments VALUES ($1, $2, 0, false)`, [number, String(firstId)]);
}

async function drop(query: Query, bounds: Bounds, now: number): Promise<void> {
  await lockAlone(query);
  const segments = await readSegments(query);
  const [first] = segments;
  if (!first || !isOver(segments, bounds, firstIdAt(now - bounds.maxAgeMs))) return;
  await query(`DELETE FROM ${PREFIX}segments WHERE number = $1`, [first.number]);
  await query(`DROP TABLE ${PREFIX}facts_${first.number}, ${PREFIX}texts_${first.number}`);
}

/** Late outcomes for the segment wait meanwhile; other segments are written. */
async function index(query: Query, number: number): Promise<void> {
  const [row] = await query(`SELECT is_indexed FROM ${PREFIX}segments WHERE number = $1 FOR UPDATE SKIP LOCKED`, [
    number,
  ]);
  if (row?.[0] !== false) return;
  for (const sql of indexesOf(PREFIX, number, true)) await query(sql);
  await query(`ANALYZE ${PREFIX}facts_${number}`);
  await query(`UPDATE ${PREFIX}segments SET is_indexed = true WHERE number = $1`, [number]);
}
