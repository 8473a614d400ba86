/** This side of the worker thread: starts it, sends requests, matches answers, and fails what waits when it ends. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { SqliteOperation, SqliteOperations } from "./sqlite-database.ts";
import { OPENING, type WorkerAnswer, type WorkerSettings } from "./sqlite-worker.ts";
import { tellFault } from "../../shared/faults/faults.ts";
import { guard } from "../../shared/faults/guard.ts";

export interface SqliteThread {
  /** @throws GatewayError `store.unavailable` */
  readonly call: <K extends SqliteOperation>(
    operation: K,
    ...args: Parameters<SqliteOperations[K]>
  ) => Promise<ReturnType<SqliteOperations[K]>>;
  /** Finishes what was requested, then closes the file and ends the thread. */
  readonly close: () => Promise<void>;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** @throws GatewayError `store.open`, `store.too-new` */
export async function startSqliteThread(settings: WorkerSettings): Promise<SqliteThread> {
  // The published package has .js files beside each other, the source tree .ts files.
  const url = new URL(`./sqlite-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(url, { workerData: settings, name: "sqlite" });
  const pending = new Map<number, Pending>();
  let lastId = OPENING;
  let ended: GatewayError | undefined;
  let closing: Promise<void> | undefined;

  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on(
    "message",
    guard({ broke }, (answer: WorkerAnswer) => {
      const waiting = pending.get(answer.id);
      pending.delete(answer.id);
      if (answer.ok) waiting?.resolve(answer.result);
      else if (answer.code === "store.too-new") waiting?.reject(new GatewayError(answer.code, answer.message));
      else waiting?.reject(new GatewayError(answer.code, `Cannot use the store: ${answer.message}`));
    }),
  );
  worker.on("error", (error) => end("its thread failed", error));
  void exited.then(() => end("it is closed"));

  try {
    await new Promise((resolve, reject) => pending.set(OPENING, { resolve, reject }));
  } catch (error) {
    await worker.terminate();
    if (error instanceof GatewayError && error.code === "store.too-new") throw error;
    throw new GatewayError("store.open", `Cannot open store "${settings.path}": ${errorText(error)}`, { cause: error });
  }
  return {
    call: (operation, ...args) => request({ operation, args }) as never,
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    if (!ended) await request({ operation: "close" });
    await exited;
  }

  function request(content: { operation: string; args?: readonly unknown[] }): Promise<unknown> {
    const refused = ended ?? (closing && new GatewayError("store.unavailable", "Cannot use the store: it is closed"));
    if (refused) return Promise.reject(refused);
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ id, ...content });
    });
  }

  function end(state: string, cause?: unknown): void {
    ended ??= unavailable(state, cause);
    rejectAll(ended);
  }

  /** Whose answer it was is unknown, and nothing may wait for ever. */
  function broke(error: unknown): void {
    tellFault({ scope: "task", what: "an answer of the store", error });
    rejectAll(unavailable("its answer could not be read", error));
  }

  function rejectAll(error: GatewayError): void {
    for (const waiting of pending.values()) waiting.reject(error);
    pending.clear();
  }
}

function unavailable(state: string, cause?: unknown): GatewayError {
  return new GatewayError("store.unavailable", `Cannot use the store: ${state}`, { cause });
}
