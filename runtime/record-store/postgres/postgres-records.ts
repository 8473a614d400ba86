/** Connections to PostgreSQL for records: few, with short waits, in a separate schema. */
import { Pool } from "pg";

import { errorText } from "../../shared/errors.ts";
import { BackEndError, newerVersion, SCHEMA_VERSION } from "../back-end.ts";
import { type Segment, updateSegment } from "../segments.ts";

export const PREFIX = "gateform_records.";
/**
 * First half of our advisory locks' names: "gatr". Writers take it shared, and code that adds or drops segments
 * exclusively.
 */
export const LOCK_SPACE = 0x67617472;
export const SEGMENTS_LOCK = 1;

const CONNECT_TIMEOUT_MS = 5_000;
/** Limit of the server, and a longer one of our own for a server that no longer responds. */
const STATEMENT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 12_000;
const UNDEFINED_TABLE = "42P01";
const INVALID_SCHEMA = "3F000";
const UNDEFINED_COLUMN = "42703";

export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>;

export interface RecordPool {
  /** @throws BackEndError */
  readonly query: Query;
  /** All or nothing. @throws BackEndError */
  readonly transaction: <T>(run: (query: Query) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** A table or column is not there: it was dropped meanwhile, nothing was written yet, or it is of an earlier version. */
export class NoTableError extends BackEndError {}

export function openRecordPool(url: string, connections: number): RecordPool {
  const pool = new Pool({
    connectionString: url,
    application_name: "gateform records",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    max: connections,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  // An idle connection was lost. The pool has dropped it; the next statement opens another.
  pool.on("error", () => {});
  let closing: Promise<void> | undefined;
  return {
    query: (text, values = []) =>
      guarded(async () => {
        const { rows } = await pool.query<unknown[]>({ text, values: [...values], rowMode: "array" });
        return rows;
      }),
    transaction: (run) =>
      guarded(async () => {
        const client = await pool.connect();
        let isBroken = true;
        try {
          await client.query("BEGIN");
          const result = await run(async (text, values = []) => {
            const { rows } = await client.query<unknown[]>({ text, values: [...values], rowMode: "array" });
            return rows;
          });
          await client.query("COMMIT");
          isBroken = false;
          return result;
        } finally {
          client.release(isBroken);
        }
      }),
    close: () => (closing ??= pool.end()),
  };
}

/** Creates missing tables. @throws BackEndError */
export async function prepareSchema({ query, transaction }: RecordPool): Promise<void> {
  const version = await readVersion(query);
  if (version === undefined) {
    await transaction(async (run) => {
      await lockAlone(run);
      // A role that cannot create schemas is enough once it exists.
      const [known] = await run("SELECT 1 FROM pg_namespace WHERE nspname = 'gateform_records'");
      if (!known) await run("CREATE SCHEMA gateform_records");
      await run(`CREATE TABLE IF NOT EXISTS ${PREFIX}version (version integer NOT NULL)`);
      await run(
        `INSERT INTO ${PREFIX}version SELECT ${SCHEMA_VERSION} WHERE NOT EXISTS (SELECT 1 FROM ${PREFIX}version)`,
      );
      await run(
        `CREATE TABLE IF NOT EXISTS ${PREFIX}segments (number integer PRIMARY KEY, first_id bigint NOT NULL, records bigint NOT NULL, is_indexed boolean NOT NULL)`,
      );
      // Earlier versions use it to number their writers.
      await run(`CREATE SEQUENCE IF NOT EXISTS ${PREFIX}writers`);
    });
  } else await update({ query, transaction });
}

/** From version 1. A program of that version may still begin segments, so each is checked. */
async function update({ query, transaction }: Pick<RecordPool, "query" | "transaction">): Promise<void> {
  const old = `SELECT substr(table_name, 7) FROM information_schema.tables t
     WHERE table_schema = 'gateform_records' AND table_name LIKE 'facts\\_%' AND NOT EXISTS (SELECT 1
       FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND column_name = 'request')`;
  if ((await query(old)).length === 0 && (await readVersion(query)) === SCHEMA_VERSION) return;
  await transaction(async (run) => {
    await lockAlone(run);
    for (const [number] of await run(old))
      for (const sql of updateSegment(PREFIX, Number(number), true)) await run(sql);
    await run(`UPDATE ${PREFIX}version SET version = ${SCHEMA_VERSION}`);
  });
}

/** @returns undefined before anything was written @throws BackEndError */
export async function readVersion(query: Query): Promise<number | undefined> {
  try {
    const [row] = await query(`SELECT version FROM ${PREFIX}version`);
    const version = row === undefined ? undefined : Number(row[0]);
    if (version !== undefined && version > SCHEMA_VERSION) throw newerVersion(version);
    return version;
  } catch (error) {
    if (error instanceof NoTableError) return undefined;
    throw error;
  }
}

/** Oldest first. */
export async function readSegments(query: Query): Promise<readonly Segment[]> {
  const rows = await query(`SELECT number, first_id, records, is_indexed FROM ${PREFIX}segments ORDER BY number`);
  return rows.map(([number, firstId, records, isIndexed]) => ({
    number: Number(number),
    firstId: BigInt(firstId as string),
    records: Number(records),
    isIndexed: isIndexed === true,
  }));
}

/** Blocks all other writers until the end of the transaction. */
export async function lockAlone(run: Query): Promise<void> {
  await run(`SELECT pg_advisory_xact_lock(${LOCK_SPACE}, ${SEGMENTS_LOCK})`);
}

async function guarded<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof BackEndError) throw error;
    const code = (error as { code?: unknown }).code;
    const options = { cause: error };
    if (code === UNDEFINED_TABLE || code === INVALID_SCHEMA || code === UNDEFINED_COLUMN)
      throw new NoTableError("failed", errorText(error), options);
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [];
    const text = errors.length > 0 ? errors.map(errorText).join(", ") : errorText(error);
    throw new BackEndError("failed", text, options);
  }
}
