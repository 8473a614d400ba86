/**
 * Connections to PostgreSQL: a pool for statements, and one listening connection for notifications. Both reconnect
 * automatically after the server was unavailable. Every wait is bounded. Messages never contain the URL or its
 * password.
 *
 * Promise: a read-only server (a standby, a primary that became one) is never queried: its data may be old, and a
 * revocation may be missing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client, DatabaseError, Pool, type ClientConfig, type PoolClient, type QueryResultRow } from "pg";

import { createBackoff, type Pauses } from "../../shared/backoff.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { ignore } from "../../shared/ignore.ts";
import { task } from "../../shared/faults/guard.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 5_000;
/** Above the server's own limit: ends only waits for a server that no longer responds at all. */
const QUERY_TIMEOUT_MS = 7_000;
const RECONNECT: Pauses = { firstMs: 100, mostMs: 5_000 };

export interface Database {
  /** One statement. @throws GatewayError `store.unavailable` */
  readonly query: <R extends QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<readonly R[]>;
  /** For a statement that takes longer to plan than to run: each connection plans it once. @param name unique */
  readonly queryPlanned: <R extends QueryResultRow>(
    name: string,
    text: string,
    values: readonly unknown[],
  ) => Promise<readonly R[]>;
  /** Several statements that happen together or not at all. @throws GatewayError `store.unavailable` */
  readonly transaction: <T>(run: (client: PoolClient) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

export function connectionSettings(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: "gateform",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
  };
}

export function openPool({ url, log }: { readonly url: string; readonly log: Log }): Database {
  const pool = new Pool({ ...connectionSettings(url), max: 10, idleTimeoutMillis: 30_000, verify: refuseReadOnly });
  const clients = new Set<PoolClient>();
  pool.on(
    "connect",
    task("a new connection to the store", (client) => {
      clients.add(client);
      // The user of the client gets the error from the failing statement; without a listener it would end the process.
      client.on("error", ignore);
    }),
  );
  pool.on("remove", (client) => clients.delete(client));
  // An idle connection was lost (restart, failover). The pool has dropped it already; the next statement opens another.
  pool.on("error", (error) => log.warn({ reason: reasonOf(error) }, "store connection lost"));
  let closing: Promise<void> | undefined;

  /** Turns the driver's errors into ours; ours pass unchanged. */
  const guarded = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      // Other pooled connections lead there as well, and would still be used for reading.
      if (error instanceof DatabaseError && error.code === READ_ONLY_SQL_TRANSACTION)
        for (const { connection } of clients) connection.stream.destroy();
      throw new GatewayError("store.unavailable", `Cannot use the store: ${reasonOf(error)}`, { cause: error });
    }
  };

  return {
    async query<R extends QueryResultRow>(text: string, values: readonly unknown[] = []) {
      return guarded(async () => {
        const { rows } = await pool.query<R>(text, [...values]);
        return rows;
      });
    },
    async queryPlanned<R extends QueryResultRow>(name: string, text: string, values: readonly unknown[]) {
      return guarded(async () => {
        const { rows } = await pool.query<R>({ name, text, values: [...values] });
        return rows;
      });
    },
    async transaction(run) {
      return guarded(async () => {
        const client = await pool.connect();
        let broken = true;
        try {
          await client.query("BEGIN");
          const result = await run(client);
          await client.query("COMMIT");
          broken = false;
          return result;
        } finally {
          // A connection that failed inside a transaction is closed, and the server rolls back.
          client.release(broken);
        }
      });
    },
    close: () => (closing ??= pool.end()),
  };
}

const READ_ONLY_SQL_TRANSACTION = "25006";

/** Checks each new connection: a proxy in between may now lead to another server. */
function refuseReadOnly(client: PoolClient, done: (error?: Error) => void): void {
  const statement = "SHOW transaction_read_only";
  client.query<{ transaction_read_only: string }>(statement, [], (error: Error | null, answer) => {
    if (error) done(error);
    else if (answer.rows[0]?.transaction_read_only === "off") done();
    else done(new GatewayError("store.unavailable", "Cannot use the store: this server accepts no writes"));
  });
}

/** A refused connection to a name with several addresses is an AggregateError without a text of its own. */
function reasonOf(error: unknown): string {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [];
  return errors.length > 0 ? errors.map(errorText).join(", ") : errorText(error);
}

export interface Listener {
  readonly close: () => Promise<void>;
}

/**
 * Maintains one connection that listens on a channel, and reconnects with growing pauses.
 *
 * @param onNotify called with the payload; without one after each (re)connection, since notifications may have been
 *   missed
 */
export function listen(
  { url, log }: { readonly url: string; readonly log: Log },
  channel: string,
  onNotify: (payload?: string) => void,
): Listener {
  const stop = new AbortController();
  let current: Client | undefined;
  const running = keepListening();
  return {
    async close() {
      stop.abort();
      await current?.end().catch(ignore);
      await running;
    },
  };

  async function keepListening(): Promise<void> {
    const backoff = createBackoff({ ...RECONNECT, random: () => 1 });
    while (!stop.signal.aborted) {
      const client = new Client(connectionSettings(url));
      try {
        const lost = new Promise<void>((resolve) => {
          client.once("end", () => resolve());
          client.on("error", () => resolve());
        });
        client.on(
          "notification",
          task("a notification of the store", ({ payload }: { payload?: string | undefined }) => onNotify(payload)),
        );
        current = client;
        // A connection that is closed while connecting settles only by its "end" event.
        await Promise.race([lost, client.connect().then(() => client.query(`LISTEN ${channel}`))]);
        if (stop.signal.aborted) break;
        backoff.reset();
        onNotify();
        await lost;
        if (!stop.signal.aborted) log.warn("store notifications lost, polling instead");
      } catch (error) {
        log.debug({ reason: reasonOf(error) }, "store notifications unavailable");
      }
      await client.end().catch(ignore);
      if (!stop.signal.aborted)
        await delay(backoff.next(), undefined, { signal: stop.signal, ref: false }).catch(ignore);
    }
  }
}
