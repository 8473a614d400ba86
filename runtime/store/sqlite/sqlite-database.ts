/**
 * The store's operations on one SQLite connection, synchronous. Runs in the worker thread only: a lock held by another
 * process may block a statement.
 *
 * Operations in `writes` change the file and run one at a time within a transaction; the others only read.
 */
import { DatabaseSync } from "node:sqlite";

import { allot, lastSecond, type AllotmentRequest, type CountEntry, type RawAllotment } from "../allotments.ts";
import type { CheckedPage, CheckedPut } from "../check.ts";
import { pendingMigrations, STEPS_TABLE, VERSION_TABLE } from "../migrations.ts";
import { FEED_PAGE, SWEEP_BATCH, type RawFeedEntry, type RawRecord } from "../record.ts";
import type { PutResult } from "../store.ts";

interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: number;
  readonly expires_at: number | null;
  readonly tags: string;
}

const TAGS = "(SELECT json_group_array(tag) FROM (SELECT tag FROM gateway_tags t WHERE t.key = r.key ORDER BY tag))";
const RECORD = `r.key, r.value, r.version, r.expires_at, ${TAGS} AS tags`;
/** Takes one parameter, epoch seconds. */
const LIVE = "(r.expires_at IS NULL OR r.expires_at > ?)";

export type SqliteOperations = ReturnType<typeof sqliteOperations>;
export type SqliteOperation = keyof SqliteOperations;

/** Operations that change the file. */
export const writes: ReadonlySet<SqliteOperation> = new Set([
  "put",
  "delete",
  "take",
  "deleteByTag",
  "lease",
  "renew",
  "release",
  "allot",
  "append",
  "sweepBatch",
] as const);

/** Opens the file, which must exist, and updates its tables. Waits up to `timeoutMs` for other processes. */
export function openDatabase(path: string, timeoutMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: timeoutMs, enableForeignKeyConstraints: true });
  try {
    // FULL: a confirmed revocation or rotated refresh token must survive a power cut. Deleted data is overwritten:
    // users are erased, and ended sessions must not remain readable.
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864",
    );
    database.exec("BEGIN IMMEDIATE");
    const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    const newest = (table: string): number =>
      Number(database.prepare(`SELECT coalesce(max(version), 0) AS version FROM ${table}`).get()?.["version"]);
    if (!has.get("gateway_schema")) database.exec(VERSION_TABLE);
    const taken = {
      required: newest("gateway_schema"),
      compatible: has.get("gateway_steps") ? newest("gateway_steps") : 0,
    };
    for (const { version, sqlite, requires, isCompatible } of pendingMigrations(taken)) {
      database.exec(sqlite);
      if (requires !== undefined) {
        database.prepare("INSERT INTO gateway_schema VALUES (?, unixepoch())").run(requires);
      }
      if (!isCompatible) continue;
      database.exec(STEPS_TABLE);
      database.prepare("INSERT INTO gateway_steps VALUES (?, unixepoch())").run(version);
    }
    database.exec("COMMIT");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Every operation, with its statements prepared once. The caller passes all times: its clock is the store's. */
export function sqliteOperations(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  const find = sql(`SELECT ${RECORD} FROM gateway_records r WHERE r.key = ? AND ${LIVE}`);
  const findTagged = sql(
    `SELECT ${RECORD} FROM gateway_tags g JOIN gateway_records r USING (key) WHERE g.tag = ? AND ${LIVE} ORDER BY r.key`,
  );
  const pageOfAll = sql(
    `SELECT ${RECORD} FROM gateway_records r
     WHERE r.key >= ? AND r.key < ? AND ${LIVE} ORDER BY r.key LIMIT ?`,
  );
  const keysOfAll = sql(
    `SELECT r.key FROM gateway_records r
     WHERE r.key >= ? AND r.key < ? AND ${LIVE} ORDER BY r.key LIMIT ?`,
  );
  const pageOfTagged = sql(
    `SELECT ${RECORD} FROM gateway_tags g JOIN gateway_records r USING (key)
     WHERE g.tag = ? AND g.key >= ? AND g.key < ? AND ${LIVE} ORDER BY g.key LIMIT ?`,
  );
  const write = sql(
    `INSERT INTO gateway_records (key, value, version, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`,
  );
  const removeTags = sql("DELETE FROM gateway_tags WHERE key = ?");
  const addTag = sql("INSERT INTO gateway_tags (tag, key) VALUES (?, ?)");
  const remove = sql("DELETE FROM gateway_records WHERE key = ?");
  const removeTagged = sql(
    `DELETE FROM gateway_records AS r WHERE r.key IN (SELECT key FROM gateway_tags WHERE tag = ?) AND ${LIVE}`,
  );
  const sweeps = [
    sql(`DELETE FROM gateway_records WHERE key IN (SELECT key FROM gateway_records WHERE expires_at <= ? LIMIT ?)`),
    sql(`DELETE FROM gateway_feed WHERE sequence IN (SELECT sequence FROM gateway_feed WHERE expires_at <= ? LIMIT ?)`),
    sql(
      `DELETE FROM gateway_allotments WHERE key IN (SELECT key FROM gateway_allotments WHERE expires_at <= ? LIMIT ?)`,
    ),
    sql(
      `DELETE FROM gateway_leases WHERE name IN (SELECT name FROM gateway_leases WHERE expires_at_ms <= ? * 1000 LIMIT ?)`,
    ),
  ];

  return {
    getAll(keys: readonly string[], now: number): readonly RawRecord[] {
      return keys.flatMap((key) => toRaw(find.get(key, now)) ?? []);
    },
    list(tag: string, now: number): readonly RawRecord[] {
      return findTagged.all(tag, now).flatMap((row) => toRaw(row) ?? []);
    },
    page({ tag, from, before, limit }: CheckedPage, now: number): readonly RawRecord[] {
      const rows =
        tag === undefined ? pageOfAll.all(from, before, now, limit) : pageOfTagged.all(tag, from, before, now, limit);
      return rows.flatMap((row) => toRaw(row) ?? []);
    },
    keys({ from, before, limit }: CheckedPage, now: number): readonly string[] {
      return keysOfAll.all(from, before, now, limit).map(({ key }) => String(key));
    },
    put(key: string, put: CheckedPut, now: number): PutResult {
      const stored = toRaw(find.get(key, now))?.version ?? 0;
      if (put.ifVersion !== undefined && put.ifVersion !== stored) return { ok: false, reason: "conflict" };
      const version = stored + 1;
      write.run(key, put.text, version, put.expiresAt);
      removeTags.run(key);
      for (const tag of put.tags) addTag.run(tag, key);
      return { ok: true, version };
    },
    delete(key: string, ifVersion: number | undefined, now: number): boolean {
      const stored = toRaw(find.get(key, now));
      if (!stored || (ifVersion !== undefined && ifVersion !== stored.version)) return false;
      return remove.run(key).changes === 1;
    },
    take(key: string, now: number): RawRecord | undefined {
      const stored = toRaw(find.get(key, now));
      if (stored) remove.run(key);
      return stored;
    },
    deleteByTag(tag: string, now: number): number {
      return Number(removeTagged.run(tag, now).changes);
    },
    ...sharedOperations(database),
    /** One small transaction. @returns rows removed; fewer than a batch means that nothing is left */
    sweepBatch(now: number): number {
      let removed = 0;
      for (const statement of sweeps) {
        if (removed < SWEEP_BATCH) removed += Number(statement.run(now, SWEEP_BATCH - removed).changes);
      }
      return removed;
    },
  };
}

/** Leases, counts and feeds: the state shared between processes. */
function sharedOperations(database: DatabaseSync) {
  const sql = (text: string) => database.prepare(text);
  const takeLease = sql(
    `INSERT INTO gateway_leases (name, holder, expires_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at_ms = excluded.expires_at_ms
     WHERE gateway_leases.expires_at_ms <= ?`,
  );
  const renewLease = sql("UPDATE gateway_leases SET expires_at_ms = ? WHERE name = ? AND holder = ?");
  const dropLease = sql("DELETE FROM gateway_leases WHERE name = ? AND holder = ?");
  const findCount = sql("SELECT entries FROM gateway_allotments WHERE key = ?");
  const writeCount = sql(
    `INSERT INTO gateway_allotments (key, entries, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET entries = excluded.entries, expires_at = excluded.expires_at`,
  );
  const addEntry = sql("INSERT INTO gateway_feed (feed, entry, expires_at) VALUES (?, ?, ?)");
  const entriesAfter = sql(
    "SELECT sequence, entry AS text FROM gateway_feed WHERE feed = ? AND sequence > ? ORDER BY sequence LIMIT ?",
  );
  const newestEntry = sql("SELECT max(sequence) AS sequence FROM gateway_feed WHERE feed = ?");
  return {
    lease(name: string, holder: string, expiresAtMs: number, nowMs: number): boolean {
      return takeLease.run(name, holder, expiresAtMs, nowMs).changes === 1;
    },
    renew(name: string, holder: string, expiresAtMs: number): boolean {
      return renewLease.run(expiresAtMs, name, holder).changes === 1;
    },
    release(name: string, holder: string): void {
      dropLease.run(name, holder);
    },
    allot(key: string, request: AllotmentRequest, nowMs: number): RawAllotment {
      const stored = findCount.get(key)?.["entries"];
      const allotted = allot(stored === undefined ? [] : (JSON.parse(String(stored)) as CountEntry[]), nowMs, request);
      writeCount.run(key, JSON.stringify(allotted.entries), lastSecond(allotted.entries));
      return allotted;
    },
    append(feed: string, text: string, expiresAt: number): number {
      return Number(addEntry.run(feed, text, expiresAt).lastInsertRowid);
    },
    changesSince(feed: string, sequence: number): readonly RawFeedEntry[] {
      const rows = entriesAfter.all(feed, sequence, FEED_PAGE);
      return rows.map((row) => ({ sequence: Number(row["sequence"]), text: String(row["text"]) }));
    },
    latest(feeds: readonly string[]): ReadonlyMap<string, number> {
      const found = new Map<string, number>();
      for (const feed of feeds) {
        const sequence = newestEntry.get(feed)?.["sequence"];
        if (typeof sequence === "number") found.set(feed, sequence);
      }
      return found;
    },
  };
}

function toRaw(row: unknown): RawRecord | undefined {
  if (!row) return undefined;
  const { key, value, version, expires_at, tags } = row as Row;
  return { key, text: value, version, expiresAt: expires_at, tags: JSON.parse(tags) as string[] };
}
