/**
 * The tables of both databases, step by step. A step is never changed once released: a later one corrects it.
 *
 * Each step runs in one transaction with the write of its version, under a lock that other starting processes wait
 * for. A database that is newer than this program is refused: an older replica must not write what it does not know.
 */
import { GatewayError } from "../shared/errors.ts";

export interface Migration {
  readonly version: number;
  readonly sqlite: string;
  readonly postgres: string;
}

/** Holds one row per step that was taken. The same statement suits both databases. */
export const VERSION_TABLE = "CREATE TABLE gateway_schema (version integer PRIMARY KEY, applied_at bigint NOT NULL)";

export const migrations: readonly Migration[] = [
  {
    version: 1,
    sqlite: `
      CREATE TABLE gateway_records (
        key text PRIMARY KEY NOT NULL,
        value text NOT NULL,
        version integer NOT NULL,
        expires_at integer
      ) STRICT;
      CREATE INDEX gateway_records_expiry ON gateway_records (expires_at) WHERE expires_at IS NOT NULL;
      CREATE TABLE gateway_tags (
        tag text NOT NULL,
        key text NOT NULL REFERENCES gateway_records (key) ON DELETE CASCADE,
        PRIMARY KEY (tag, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX gateway_tags_key ON gateway_tags (key);
      CREATE TABLE gateway_leases (
        name text PRIMARY KEY NOT NULL,
        holder text NOT NULL,
        expires_at_ms integer NOT NULL
      ) STRICT;
      CREATE TABLE gateway_feed (
        sequence integer PRIMARY KEY AUTOINCREMENT,
        feed text NOT NULL,
        entry text NOT NULL,
        expires_at integer NOT NULL
      ) STRICT;
      CREATE INDEX gateway_feed_order ON gateway_feed (feed, sequence);
      CREATE INDEX gateway_feed_expiry ON gateway_feed (expires_at);`,
    // Collation "C": keys are ordered by their bytes, whatever the database's locale.
    postgres: `
      CREATE TABLE gateway_records (
        key text COLLATE "C" PRIMARY KEY,
        value text NOT NULL,
        version bigint NOT NULL,
        expires_at bigint,
        tags text[] NOT NULL
      );
      CREATE INDEX gateway_records_expiry ON gateway_records (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX gateway_records_tags ON gateway_records USING gin (tags);
      CREATE TABLE gateway_leases (
        name text COLLATE "C" PRIMARY KEY,
        holder text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE TABLE gateway_feed (
        sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        feed text COLLATE "C" NOT NULL,
        entry text NOT NULL,
        expires_at bigint NOT NULL
      );
      CREATE INDEX gateway_feed_order ON gateway_feed (feed, sequence);
      CREATE INDEX gateway_feed_expiry ON gateway_feed (expires_at);`,
  },
  {
    version: 2,
    sqlite: `
      CREATE TABLE gateway_allotments (
        key text PRIMARY KEY NOT NULL,
        entries text NOT NULL,
        expires_at integer NOT NULL
      ) STRICT;
      CREATE INDEX gateway_allotments_expiry ON gateway_allotments (expires_at);`,
    // Unlogged: written for requests, and what a crash loses counts anew. Several times as fast, and nothing in the log.
    postgres: `
      CREATE UNLOGGED TABLE gateway_allotments (
        key text COLLATE "C" PRIMARY KEY,
        names text[] NOT NULL,
        counts integer[] NOT NULL,
        untils bigint[] NOT NULL,
        granted integer NOT NULL,
        at bigint NOT NULL,
        expires_at bigint NOT NULL
      );
      CREATE INDEX gateway_allotments_expiry ON gateway_allotments (expires_at);`,
  },
];

/**
 * @param current newest version in the database; 0 for an empty one
 * @throws GatewayError `store.too-new`
 */
export function pendingMigrations(current: number): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    throw new GatewayError(
      "store.too-new",
      `Cannot use the store: its tables have version ${current}, this program knows versions up to ${newest}`,
    );
  }
  return migrations.filter((migration) => migration.version > current);
}
