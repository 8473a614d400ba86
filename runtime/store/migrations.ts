/**
 * The tables of both databases, step by step. A step never changes once released: a later one corrects it.
 *
 * Each step runs in one transaction with the write of its version, under a lock that other starting processes wait for.
 * Older versions keep serving, and can start, as long as they can use the resulting tables. Otherwise they are
 * rejected: an older replica must not write into tables that it does not know.
 */
import { GatewayError } from "../shared/errors.ts";

export interface Migration {
  readonly version: number;
  /**
   * The oldest version that can use the tables after this step, given by its newest known step: an earlier one for a
   * step that only adds tables or columns that older versions never touch, `version` for one that removes or changes
   * existing ones.
   */
  readonly compatibleFrom: number;
  readonly sqlite: string;
  readonly postgres: string;
}

/**
 * Its highest version is the step that a program must know to use the tables: versions from before compatible steps
 * existed reject anything above theirs. The same statement suits both databases.
 */
export const VERSION_TABLE = "CREATE TABLE gateway_schema (version integer PRIMARY KEY, applied_at bigint NOT NULL)";

/**
 * Steps that older versions can do without. Created with the first of them, so that a role without the right to create
 * tables continues to work.
 */
export const STEPS_TABLE =
  "CREATE TABLE IF NOT EXISTS gateway_steps (version integer PRIMARY KEY, applied_at bigint NOT NULL)";

export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatibleFrom: 1,
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
    compatibleFrom: 1,
    sqlite: `
      CREATE TABLE gateway_allotments (
        key text PRIMARY KEY NOT NULL,
        entries text NOT NULL,
        expires_at integer NOT NULL
      ) STRICT;
      CREATE INDEX gateway_allotments_expiry ON gateway_allotments (expires_at);`,
    // Unlogged: written on requests, and after a crash the count starts again. Several times as fast, and nothing in
    // the write-ahead log.
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
  {
    version: 3,
    compatibleFrom: 1,
    // In SQLite all counts are durable and in one table.
    sqlite: "",
    // Logged: a crash must not erase what history rules (`mcp.server.history_rules`) deny calls for.
    postgres: `
      CREATE TABLE gateway_history (
        key text COLLATE "C" PRIMARY KEY,
        names text[] NOT NULL,
        counts bigint[] NOT NULL,
        untils bigint[] NOT NULL,
        granted bigint NOT NULL,
        at bigint NOT NULL,
        expires_at bigint NOT NULL
      );
      CREATE INDEX gateway_history_expiry ON gateway_history (expires_at);`,
  },
];

/** Versions of a database: the highest in each of the two tables, 0 for none. */
export interface StepsTaken {
  readonly required: number;
  readonly compatible: number;
}

/** One step for the database: its statements, then a row in each named table. */
export interface PendingStep extends Migration {
  /** Version for VERSION_TABLE; undefined: the present one suffices. */
  readonly requires: number | undefined;
  /** Whether it is noted in STEPS_TABLE. */
  readonly isCompatible: boolean;
}

/** @throws GatewayError `store.too-new` */
export function pendingMigrations({ required, compatible }: StepsTaken): readonly PendingStep[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (required > newest) {
    throw new GatewayError(
      "store.too-new",
      `Cannot use the store: its tables require a gateway that supports version ${required}, this one supports versions up to ${newest}`,
    );
  }
  let known = required;
  return migrations
    .filter(({ version }) => version > Math.max(required, compatible))
    .map((step) => {
      const requires = step.compatibleFrom > known ? step.compatibleFrom : undefined;
      known = requires ?? known;
      return { ...step, requires, isCompatible: step.version > step.compatibleFrom };
    });
}
