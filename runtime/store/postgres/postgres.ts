/**
 * The store in PostgreSQL, for replicas on several hosts.
 *
 * The server's clock decides every expiry and lease, so replicas whose clocks differ agree. Each operation is one
 * statement where that suffices. A statement whose connection broke is not repeated, since it may have run.
 */
import type { PoolClient } from "pg";

import { GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { CheckedPut } from "../check.ts";
import { createCheckedStore, type StoreBackEnd } from "../checked-store.ts";
import { ALLOT, ALLOT_DURABLE, allotValues, toRawAllotment, type AllotmentRow } from "./allotment-statement.ts";
import { createFeedWatch } from "../feed-watch.ts";
import { gatherReads } from "../gather-reads.ts";
import { pendingMigrations, STEPS_TABLE, VERSION_TABLE } from "../migrations.ts";
import { listen, openPool, type Database } from "./postgres-connection.ts";
import { FEED_PAGE, SWEEP_BATCH, type RawRecord } from "../record.ts";
import type { Store } from "../store.ts";

/** bigint columns come as text. */
interface Row {
  readonly key: string;
  readonly value: string;
  readonly version: string;
  readonly expires_at: string | null;
  readonly tags: string[];
}

const CHANNEL = "gateway_feed";
/** Notifications usually come first; the poll covers lost ones and poolers that do not pass them on. */
const POLL_EVERY_MS = 1000;
/** First half of our advisory locks' names: "gate". */
const LOCK_SPACE = 0x67617465;
const MIGRATION_LOCK = 0;
const LOCK_WITHIN_MS = 1000;

const NOW = "floor(extract(epoch FROM clock_timestamp()))::bigint";
const RECORD = "key, value, version, expires_at, tags";
const LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

export interface PostgresDeps {
  readonly url: string;
  readonly log: Log;
}

/** @throws GatewayError `store.unavailable`, `store.too-new` */
export async function openPostgresStore({ url, log }: PostgresDeps): Promise<Store> {
  const database = openPool({ url, log });
  try {
    await database.transaction(migrate);
  } catch (error) {
    await database.close();
    throw error;
  }
  return createStore(database, { url, log });
}

function createStore(database: Database, deps: PostgresDeps): Store {
  const { query } = database;
  const watch = createFeedWatch({ latest, everyMs: POLL_EVERY_MS });
  const listener = listen(deps, CHANNEL, (feed) => watch.hint(feed));

  const backEnd: StoreBackEnd = {
    get: gatherReads(async (keys) => {
      const rows = await query<Row>(`SELECT ${RECORD} FROM gateway_records WHERE key = ANY($1) AND ${LIVE}`, [keys]);
      return rows.map(toRaw);
    }),
    async put(key, put) {
      const { text, values } = putStatement(key, put);
      const [row] = await query<{ version: string }>(text, values);
      return row ? { ok: true, version: Number(row.version) } : { ok: false, reason: "conflict" };
    },
    async delete(key, ifVersion) {
      const rows = await query(
        `DELETE FROM gateway_records WHERE key = $1 AND ${LIVE} AND ($2::bigint IS NULL OR version = $2) RETURNING 1`,
        [key, ifVersion ?? null],
      );
      return rows.length === 1;
    },
    async take(key) {
      const text = `DELETE FROM gateway_records WHERE key = $1 AND ${LIVE} RETURNING ${RECORD}`;
      return first(await query<Row>(text, [key]));
    },
    async list(tag) {
      const rows = await query<Row>(
        `SELECT ${RECORD} FROM gateway_records WHERE tags @> ARRAY[$1] AND ${LIVE} ORDER BY key`,
        [tag],
      );
      return rows.map(toRaw);
    },
    async page({ tag, from, before, limit }) {
      const rows = await query<Row>(
        `SELECT ${RECORD} FROM gateway_records WHERE key >= $1 AND key < $2 AND ${LIVE}
         ${tag === undefined ? "" : "AND tags @> ARRAY[$4]"} ORDER BY key LIMIT $3`,
        [from, before, limit, ...(tag === undefined ? [] : [tag])],
      );
      return rows.map(toRaw);
    },
    async keys({ from, before, limit }) {
      const rows = await query<Pick<Row, "key">>(
        `SELECT key FROM gateway_records WHERE key >= $1 AND key < $2 AND ${LIVE} ORDER BY key LIMIT $3`,
        [from, before, limit],
      );
      return rows.map(({ key }) => key);
    },
    async deleteByTag(tag) {
      const rows = await query(`DELETE FROM gateway_records WHERE tags @> ARRAY[$1] AND ${LIVE} RETURNING 1`, [tag]);
      return rows.length;
    },
    async lease(name, holder, ttlMs) {
      const rows = await query(
        `INSERT INTO gateway_leases AS l (name, holder, expires_at)
         VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
         WHERE l.expires_at <= clock_timestamp() RETURNING 1`,
        [name, holder, ttlMs],
      );
      return rows.length === 1;
    },
    async renew(name, holder, ttlMs) {
      const rows = await query(
        `UPDATE gateway_leases SET expires_at = clock_timestamp() + $3 * interval '1 millisecond'
         WHERE name = $1 AND holder = $2 RETURNING 1`,
        [name, holder, ttlMs],
      );
      return rows.length === 1;
    },
    async release(name, holder) {
      await query("DELETE FROM gateway_leases WHERE name = $1 AND holder = $2", [name, holder]);
    },
    async allot(key, request) {
      const [name, statement] = request.isDurable === true ? ["allot-durable", ALLOT_DURABLE] : ["allot", ALLOT];
      const [row] = await database.queryPlanned<AllotmentRow>(name, statement, allotValues(key, request));
      if (!row) throw new GatewayError("store.unavailable", "Cannot count: the database answered without a row");
      return toRawAllotment(row);
    },
    append: (feed, text, expiresAt) => database.transaction((client) => appendEntry(client, feed, text, expiresAt)),
    async changesSince(feed, sequence) {
      const rows = await query<{ sequence: string; text: string }>(
        "SELECT sequence, entry AS text FROM gateway_feed WHERE feed = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
        [feed, sequence, FEED_PAGE],
      );
      return rows.map(({ sequence: position, text }) => ({ sequence: Number(position), text }));
    },
    async now() {
      const [row] = await query<{ now: string }>(`SELECT ${NOW} AS now`, []);
      if (!row)
        throw new GatewayError("store.unavailable", "Cannot read the clock: the database answered without a row");
      return Number(row.now);
    },
    async sweep() {
      let total = 0;
      for (const statement of SWEEPS) {
        for (let removed = SWEEP_BATCH; removed === SWEEP_BATCH; total += removed) {
          removed = (await query(statement, [SWEEP_BATCH])).length;
        }
      }
      return total;
    },
    async close() {
      await listener.close();
      await database.close();
    },
  };
  return createCheckedStore(backEnd, watch);

  async function latest(feeds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await query<{ feed: string; sequence: string }>(
      "SELECT feed, max(sequence) AS sequence FROM gateway_feed WHERE feed = ANY($1) GROUP BY feed",
      [feeds],
    );
    return new Map(rows.map((row) => [row.feed, Number(row.sequence)]));
  }
}

/** SKIP LOCKED: several replicas sweep at the same time without waiting for each other. */
const SWEEPS = [
  `DELETE FROM gateway_records WHERE key IN
     (SELECT key FROM gateway_records WHERE expires_at <= ${NOW} LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
  `DELETE FROM gateway_feed WHERE sequence IN
     (SELECT sequence FROM gateway_feed WHERE expires_at <= ${NOW} LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
  ...["gateway_allotments", "gateway_history"].map(
    (table) =>
      `DELETE FROM ${table} WHERE key IN
     (SELECT key FROM ${table} WHERE expires_at <= ${NOW} LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
  ),
  `DELETE FROM gateway_leases WHERE name IN
     (SELECT name FROM gateway_leases WHERE expires_at <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
];

/** The right statement for the given version; it returns no row on a conflict. */
function putStatement(key: string, put: CheckedPut): { readonly text: string; readonly values: readonly unknown[] } {
  const values = [key, put.text, put.expiresAt, put.tags];
  if (put.ifVersion !== undefined && put.ifVersion > 0) {
    return {
      text: `UPDATE gateway_records SET value = $2, expires_at = $3, tags = $4, version = version + 1
             WHERE key = $1 AND version = $5 AND ${LIVE} RETURNING version`,
      values: [...values, put.ifVersion],
    };
  }
  // An expired row that was not swept yet counts as absent: its versions start again.
  const live = LIVE.replaceAll("expires_at", "r.expires_at");
  return {
    text: `INSERT INTO gateway_records AS r (key, value, version, expires_at, tags) VALUES ($1, $2, 1, $3, $4)
           ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at,
             tags = excluded.tags, version = CASE WHEN ${live} THEN r.version + 1 ELSE 1 END
           ${put.ifVersion === 0 ? `WHERE NOT ${live}` : ""} RETURNING version`,
    values,
  };
}

async function appendEntry(client: PoolClient, feed: string, text: string, expiresAt: number): Promise<number> {
  // One appender per feed at a time, until commit: otherwise a lower number could become visible after a higher one,
  // and a reader that has seen the higher one would never read it.
  await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [LOCK_SPACE, feed]);
  const { rows } = await client.query<{ sequence: string }>(
    "INSERT INTO gateway_feed (feed, entry, expires_at) VALUES ($1, $2, $3) RETURNING sequence",
    [feed, text, expiresAt],
  );
  await client.query("SELECT pg_notify($1, $2)", [CHANNEL, feed]);
  return Number(rows[0]?.sequence);
}

async function migrate(client: PoolClient): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock($1, $2)", [LOCK_SPACE, MIGRATION_LOCK]);
  // Checked first: if the tables exist, a role without the right to create any is enough.
  const { rows } = await client.query<{ schema: boolean; steps: boolean }>(
    "SELECT to_regclass('gateway_schema') IS NOT NULL AS schema, to_regclass('gateway_steps') IS NOT NULL AS steps",
  );
  if (rows[0]?.schema !== true) await client.query(VERSION_TABLE);
  const required = await newestIn(client, "gateway_schema");
  const compatible = rows[0]?.steps === true ? await newestIn(client, "gateway_steps") : 0;
  const pending = pendingMigrations({ required, compatible });
  // A lock that waits for a table blocks all later statements: older versions are serving, and a backup may be running.
  if (pending.length > 0) await client.query(`SET LOCAL lock_timeout = ${LOCK_WITHIN_MS}`);
  for (const { version, postgres, requires, isCompatible } of pending) {
    await client.query(postgres);
    if (requires !== undefined) await client.query(`INSERT INTO gateway_schema VALUES ($1, ${NOW})`, [requires]);
    if (!isCompatible) continue;
    await client.query(STEPS_TABLE);
    await client.query(`INSERT INTO gateway_steps VALUES ($1, ${NOW})`, [version]);
  }
}

async function newestIn(client: PoolClient, table: string): Promise<number> {
  const { rows } = await client.query<{ version: number }>(`SELECT coalesce(max(version), 0) AS version FROM ${table}`);
  const version = rows[0]?.version;
  if (version === undefined)
    throw new GatewayError("store.unavailable", "Cannot read the version of the store's tables");
  return version;
}

function first([row]: readonly Row[]): RawRecord | undefined {
  return row && toRaw(row);
}

function toRaw(row: Row): RawRecord {
  const expiresAt = row.expires_at === null ? null : Number(row.expires_at);
  return { key: row.key, text: row.value, version: Number(row.version), expiresAt, tags: row.tags };
}
