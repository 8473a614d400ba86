/**
 * Writes records to a SQLite file. It blocks the records thread: each operation is small, and waits only briefly for
 * other processes.
 */
import { rmSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { type Batch, BackEndError, type LateOutcome, type RecordBackEnd } from "../back-end.ts";
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
import { attempt, fileAt, openForWriting } from "./record-file.ts";

/** Other writers are brief; after this time the write is retried later. */
const WAIT_MS = 20;

interface Open {
  readonly database: DatabaseSync;
  readonly file: number | undefined;
  readonly statements: Map<string, StatementSync>;
}

export function createSqliteBackEnd(path: string, isTemporary: boolean, bounds: Bounds): RecordBackEnd {
  let open: Open | undefined;

  function opened(): Open {
    if (open) return open;
    const database = openForWriting(path, WAIT_MS);
    return (open = { database, file: fileAt(path), statements: new Map() });
  }

  function close(): void {
    const closing = open;
    open = undefined;
    closing?.database.close();
  }

  function run<T>(work: (open: Open) => T): T {
    try {
      return attempt(path, () => work(opened()));
    } catch (error) {
      // The file may be repaired or replaced before the next attempt.
      if (error instanceof BackEndError && error.reason === "failed") closeQuietly();
      throw error;
    }
  }

  function closeQuietly(): void {
    try {
      close();
    } catch {
      open = undefined;
    }
  }

  function transaction<T>(work: (open: Open) => T): T {
    return run((current) => {
      const { database } = current;
      // IMMEDIATE: the lock is acquired before reading, so that reads cannot be outdated.
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = work(current);
        database.exec("COMMIT");
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  return {
    async write(batch) {
      transaction((current) => writeBatch(current, batch, bounds));
    },
    async maintain(now) {
      if (open && open.file !== fileAt(path)) close();
      return transaction((current) => maintain(current, bounds, now));
    },
    async close() {
      closeQuietly();
      if (isTemporary) for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    },
  };
}

function writeBatch(open: Open, { rows, ended, now }: Batch, bounds: Bounds): void {
  const { database } = open;
  roll(open, bounds, now);
  const segments = readSegments(database);
  const counts = new Map<number, number>();
  for (const row of rows) {
    const number = insert(open, segments, row);
    if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  for (const [number, count] of counts)
    statement(open, "UPDATE segments SET records = records + ? WHERE number = ?").run(count, number);
  for (const each of ended) finish(open, segments, each);
}

/** @returns the segment's number; undefined: already stored */
function insert(open: Open, segments: readonly Segment[], row: Row): number | undefined {
  // Two processes with one name, or a clock that was set back, produce the same ID.
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const number = segmentOf(segments, row.id)?.number ?? 1;
    const { usr, mail, route, owner, tool, client, kind, request } = row.columns;
    const facts = `INSERT OR IGNORE INTO facts_${number} (id, ${COLUMNS.join(", ")}) VALUES (?${", ?".repeat(COLUMNS.length)})`;
    const values = [usr, mail, route, owner, tool, client, row.outcome, kind, request];
    const { changes } = statement(open, facts).run(row.id, ...values);
    if (changes === 1n) {
      statement(open, `INSERT INTO texts_${number} VALUES (?, ?, ?)`).run(row.id, row.text, row.result);
      return number;
    }
    const known = statement(open, `SELECT value FROM texts_${number} WHERE id = ?`).get(row.id);
    if (known?.["value"] === row.text) {
      if (row.result !== null) end(open, number, row.id, row.result, row.outcome);
      return undefined;
    }
    row.id = nextId(row.id);
  }
  throw new BackEndError("failed", "its clock stands still");
}

function finish(open: Open, segments: readonly Segment[], { id: first, mark, result, outcome }: LateOutcome): void {
  let id = first;
  for (let tries = 0; tries < OUTCOME_TRIES; tries += 1, id = nextId(id)) {
    const number = segmentOf(segments, id)?.number;
    if (number === undefined) return;
    const found = `SELECT 1 FROM texts_${number} WHERE id = ? AND (instr(value, ?) > 0 OR instr(value, ?) > 0)`;
    if (statement(open, found).get(id, `${mark},`, `${mark}}`)) return end(open, number, id, result, outcome);
  }
}

function end(open: Open, number: number, id: bigint, result: string, outcome: number | null): void {
  statement(open, `UPDATE texts_${number} SET result = ? WHERE id = ?`).run(result, id);
  if (outcome !== null) statement(open, `UPDATE facts_${number} SET outcome = ? WHERE id = ?`).run(outcome, id);
}

/** Starts the next segment when the last one is full, or has been the last one for long. */
function roll(open: Open, bounds: Bounds, now: number): void {
  const { database } = open;
  const last = readSegments(database).at(-1);
  if (last === undefined) return begin(open, 1, firstIdAt(now));
  if (!isFull(last, bounds, now)) return;
  const newest = database.prepare(`SELECT max(id) AS id FROM facts_${last.number}`);
  newest.setReadBigInts(true);
  begin(open, last.number + 1, nextFirstId((newest.get()?.["id"] as bigint | null) ?? last.firstId, now));
}

function begin(open: Open, number: number, firstId: bigint): void {
  for (const sql of createSegment("", number, false)) open.database.exec(sql);
  statement(open, "INSERT INTO segments VALUES (?, ?, 0, 0)").run(number, firstId);
}

function maintain(open: Open, bounds: Bounds, now: number): boolean {
  const { database } = open;
  roll(open, bounds, now);
  const segments = readSegments(database);
  const [first] = segments;
  if (first && isOver(segments, bounds, firstIdAt(now - bounds.maxAgeMs))) {
    database.exec(`DROP TABLE facts_${first.number}; DROP TABLE texts_${first.number}`);
    statement(open, "DELETE FROM segments WHERE number = ?").run(first.number);
    return true;
  }
  const closed = segments.slice(0, -1).find(({ isIndexed }) => !isIndexed);
  if (!closed) return false;
  const known = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?");
  const made = new Set(known.all(`facts_${closed.number}`).map(({ name }) => String(name)));
  const missing = indexesOf("", closed.number, false).filter(
    (_, at) => !made.has(`facts_${closed.number}_${COLUMNS[at]}`),
  );
  const [next] = missing;
  if (next !== undefined) database.exec(next);
  else statement(open, "UPDATE segments SET is_indexed = 1 WHERE number = ?").run(closed.number);
  return true;
}

/** Oldest first. */
export function readSegments(database: DatabaseSync): readonly Segment[] {
  const statement = database.prepare("SELECT number, first_id, records, is_indexed FROM segments ORDER BY number");
  statement.setReadBigInts(true);
  return statement.all().map((row) => ({
    number: Number(row["number"]),
    firstId: row["first_id"] as bigint,
    records: Number(row["records"]),
    isIndexed: Number(row["is_indexed"]) === 1,
  }));
}

const MAX_STATEMENTS = 64;

function statement({ database, statements }: Open, sql: string): StatementSync {
  let known = statements.get(sql);
  if (!known) {
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    statements.set(sql, (known = database.prepare(sql)));
    // IDs exceed the range of numbers, also that of the last row.
    known.setReadBigInts(true);
  }
  return known;
}
