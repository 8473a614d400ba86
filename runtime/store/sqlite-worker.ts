/**
 * The thread that owns the SQLite connection: takes requests by message, answers by message.
 *
 * Reads are answered as they come. Writes wait in a queue and are done one at a time; when another process holds the
 * write lock the first one is tried again shortly, so that reads go on meanwhile.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { DatabaseSync } from "node:sqlite";

import { GatewayError } from "../errors.ts";
import { openDatabase, sqliteOperations, writes, type SqliteOperation } from "./sqlite-database.ts";

export interface WorkerSettings {
  readonly path: string;
  /** How long a write waits for other processes before it fails. */
  readonly busyTimeoutMs: number;
}

export type WorkerRequest =
  | { readonly id: number; readonly operation: SqliteOperation; readonly args: readonly unknown[] }
  | { readonly id: number; readonly operation: "close" };

export type WorkerAnswer =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly code: string; readonly message: string };

/** Id of the answer to the opening, which nobody requests. */
export const OPENING = 0;

/** Statements block the thread, and with it reads, only this long; what is left of the wait happens between messages. */
const STATEMENT_WAIT_MS = 20;
const RETRY_AFTER_MS = 10;
const SQLITE_BUSY = 5;

type Call = Extract<WorkerRequest, { readonly args: readonly unknown[] }>;

if (parentPort) await serve(parentPort, workerData as WorkerSettings);

async function serve(port: NonNullable<typeof parentPort>, settings: WorkerSettings): Promise<void> {
  const queue: { readonly call: Call; readonly deadlineMs: number }[] = [];
  let writing: Promise<void> | undefined;
  let database: DatabaseSync;
  try {
    database = await openPatiently(settings);
  } catch (error) {
    fail(OPENING, error);
    return;
  }
  const operations = sqliteOperations(database) as Record<SqliteOperation, (...args: unknown[]) => unknown>;

  port.on("message", (request: WorkerRequest) => {
    if (request.operation === "close") void close(request.id);
    else if (!writes.has(request.operation))
      answerWith(request.id, () => operations[request.operation](...request.args));
    else {
      queue.push({ call: request, deadlineMs: performance.now() + settings.busyTimeoutMs });
      writing ??= drain();
    }
  });
  port.postMessage({ id: OPENING, ok: true, result: null } satisfies WorkerAnswer);

  async function drain(): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift()) await attempt(next.call, next.deadlineMs);
    writing = undefined;
  }

  async function attempt(call: Call, deadlineMs: number): Promise<void> {
    for (;;) {
      try {
        const result = inTransaction(call);
        port.postMessage({ id: call.id, ok: true, result } satisfies WorkerAnswer);
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadlineMs) {
          fail(call.id, error);
          return;
        }
        await delay(RETRY_AFTER_MS);
      }
    }
  }

  function inTransaction(call: Call): unknown {
    // IMMEDIATE: the lock is taken before reading, so a read cannot turn stale between check and write.
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = operations[call.operation](...call.args);
      database.exec("COMMIT");
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  function answerWith(id: number, run: () => unknown): void {
    try {
      port.postMessage({ id, ok: true, result: run() } satisfies WorkerAnswer);
    } catch (error) {
      fail(id, error);
    }
  }

  function fail(id: number, error: unknown): void {
    const code = error instanceof GatewayError ? error.code : "store.unavailable";
    // SQLite's messages name tables and conditions, never values.
    const message = error instanceof Error ? error.message : String(error);
    port.postMessage({ id, ok: false, code, message } satisfies WorkerAnswer);
  }

  async function close(id: number): Promise<void> {
    await writing;
    answerWith(id, () => {
      database.close();
      return null;
    });
    port.close();
  }
}

/** Several processes may open a new file at once; the change to WAL does not wait for its lock by itself. */
async function openPatiently({ path, busyTimeoutMs }: WorkerSettings): Promise<DatabaseSync> {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      const database = openDatabase(path, busyTimeoutMs);
      database.exec(`PRAGMA busy_timeout = ${STATEMENT_WAIT_MS}`);
      return database;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadlineMs) throw error;
      await delay(RETRY_AFTER_MS);
    }
  }
}

function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode;
  // The low byte is the primary code; the rest tells variants such as SQLITE_BUSY_SNAPSHOT apart.
  return typeof code === "number" && (code & 0xff) === SQLITE_BUSY;
}
