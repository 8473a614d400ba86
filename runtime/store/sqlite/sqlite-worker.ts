/**
 * The thread that owns the SQLite connection: requests and responses are messages.
 *
 * Reads are answered as they arrive. Writes are queued, and queued ones share one transaction, with one flush to the
 * disk for all: a crowd of writers (any client can start sign-ins) must not keep the others waiting for one flush each.
 * No write is answered before the flush. When another process holds the write lock they are retried shortly, so that
 * reads continue meanwhile.
 */
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { DatabaseSync } from "node:sqlite";

import { GatewayError } from "../../shared/errors.ts";
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

/** ID of the response to opening, which has no request. */
export const OPENING = 0;
/** ID of a message without a request: another connection has written to the file. */
export const CHANGED = -1;
/** Other processes' writes are seen within this time: well inside the 2 s promised for revocations. */
const WATCH_EVERY_MS = 500;

/**
 * Longest wait of a statement, which blocks the thread and its reads; the rest of the wait happens between messages.
 */
const STATEMENT_WAIT_MS = 20;
const RETRY_AFTER_MS = 10;
const SQLITE_BUSY = 5;

/** Most writes per flush; reads that arrived meanwhile are answered before the next ones. */
const MAX_BATCH = 200;

type Call = Extract<WorkerRequest, { readonly args: readonly unknown[] }>;

interface Waiting {
  readonly call: Call;
  readonly deadlineMs: number;
}

if (parentPort) await serve(parentPort, workerData as WorkerSettings);

async function serve(port: NonNullable<typeof parentPort>, settings: WorkerSettings): Promise<void> {
  const queue: Waiting[] = [];
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
  const watch = watchChanges(database, () =>
    port.postMessage({ id: CHANGED, ok: true, result: null } satisfies WorkerAnswer),
  );
  port.postMessage({ id: OPENING, ok: true, result: null } satisfies WorkerAnswer);

  async function drain(): Promise<void> {
    // Messages that have already arrived come first: reads are answered, writes join the batch.
    await nextTurn();
    while (queue.length > 0) {
      await attempt(queue.splice(0, MAX_BATCH));
      await nextTurn();
    }
    writing = undefined;
  }

  async function attempt(batch: readonly Waiting[]): Promise<void> {
    for (let rest = batch; rest.length > 0; await delay(RETRY_AFTER_MS)) {
      try {
        for (const answer of inTransaction(rest)) port.postMessage(answer);
        return;
      } catch (error) {
        const now = performance.now();
        const isOver = ({ deadlineMs }: Waiting): boolean => !isBusy(error) || now >= deadlineMs;
        for (const { call } of rest.filter(isOver)) fail(call.id, error);
        rest = rest.filter((each) => !isOver(each));
      }
    }
  }

  /** @returns the responses, after the flush to disk */
  function inTransaction(batch: readonly Waiting[]): readonly WorkerAnswer[] {
    // IMMEDIATE: the lock is acquired before reading, so that a read cannot be outdated between check and write.
    database.exec("BEGIN IMMEDIATE");
    try {
      const answers = batch.map(({ call }) => apart(call));
      database.exec("COMMIT");
      return answers;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Runs one write of the transaction: a failure undoes it, and the others stay. */
  function apart(call: Call): WorkerAnswer {
    database.exec("SAVEPOINT one");
    try {
      const result = operations[call.operation](...call.args);
      database.exec("RELEASE one");
      return { id: call.id, ok: true, result };
    } catch (error) {
      // Some failures, such as a full disk, have already ended the whole transaction.
      if (!database.isTransaction) throw error;
      database.exec("ROLLBACK TO one; RELEASE one");
      return failure(call.id, error);
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
    port.postMessage(failure(id, error));
  }

  async function close(id: number): Promise<void> {
    await writing;
    clearInterval(watch);
    answerWith(id, () => {
      database.close();
      return null;
    });
    port.close();
  }
}

function failure(id: number, error: unknown): WorkerAnswer {
  const code = error instanceof GatewayError ? error.code : "store.unavailable";
  // SQLite's messages name tables and conditions, never values.
  return { id, ok: false, code, message: error instanceof Error ? error.message : String(error) };
}

/** In this thread: the main thread sleeps while nothing happens. */
function watchChanges(database: DatabaseSync, onChange: () => void): NodeJS.Timeout {
  const version = database.prepare("PRAGMA data_version");
  const read = (): unknown => version.get()?.["data_version"];
  let seen = read();
  return setInterval(() => {
    let now: unknown;
    try {
      now = read();
    } catch {
      // Locked or damaged: the next reader gets the error.
    }
    if (now !== seen) onChange();
    seen = now;
  }, WATCH_EVERY_MS);
}

/** Several processes may open a new file at the same time; SQLite does not wait for the lock to change to WAL. */
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
  // The low byte is the primary code; the rest identifies variants such as SQLITE_BUSY_SNAPSHOT.
  return typeof code === "number" && (code & 0xff) === SQLITE_BUSY;
}
