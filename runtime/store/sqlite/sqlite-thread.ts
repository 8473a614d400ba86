/**
 * The caller's side of the worker thread: starts it, sends requests, matches responses, and fails pending requests when
 * it ends.
 */
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { SqliteOperation, SqliteOperations } from "./sqlite-database.ts";
import { CHANGED, OPENING, type WorkerAnswer, type WorkerSettings } from "./sqlite-worker.ts";
import { reportFault } from "../../shared/faults/faults.ts";
import { task } from "../../shared/faults/guard.ts";
import { startThread, ThreadCalls } from "../../shared/thread.ts";

export interface SqliteThread {
  /** @throws GatewayError `store.unavailable` */
  readonly call: <K extends SqliteOperation>(
    operation: K,
    ...args: Parameters<SqliteOperations[K]>
  ) => Promise<ReturnType<SqliteOperations[K]>>;
  /** Finishes pending requests, then closes the file and ends the thread. */
  readonly close: () => Promise<void>;
}

/** @param onChange another connection has written @throws GatewayError `store.open`, `store.too-new` */
export async function startSqliteThread(settings: WorkerSettings, onChange: () => void): Promise<SqliteThread> {
  const worker = startThread(import.meta.url, "sqlite-worker", { workerData: settings, name: "sqlite" });
  const calls = new ThreadCalls<WorkerAnswer>(worker, (error) => {
    reportFault({ scope: "task", what: "an answer of the store", error });
    calls.rejectAll(unavailable("its answer could not be read", error));
  });
  worker.on(
    "message",
    task("a change of the store's file", ({ id }: WorkerAnswer) => id === CHANGED && onChange()),
  );
  let ended: GatewayError | undefined;
  let closing: Promise<void> | undefined;

  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on("error", (error) => end("its thread failed", error));
  void exited.then(() => end("it is closed"));

  try {
    resultOf(await calls.answerTo(OPENING));
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

  async function request(content: { operation: string; args?: readonly unknown[] }): Promise<unknown> {
    const refused = ended ?? (closing && new GatewayError("store.unavailable", "Cannot use the store: it is closed"));
    if (refused) throw refused;
    return resultOf(await calls.call(content));
  }

  function end(state: string, cause?: unknown): void {
    ended ??= unavailable(state, cause);
    calls.rejectAll(ended);
  }
}

/** @throws GatewayError */
function resultOf(answer: WorkerAnswer): unknown {
  if (answer.ok) return answer.result;
  if (answer.code === "store.too-new") throw new GatewayError(answer.code, answer.message);
  throw new GatewayError(answer.code, `Cannot use the store: ${answer.message}`);
}

function unavailable(state: string, cause?: unknown): GatewayError {
  return new GatewayError("store.unavailable", `Cannot use the store: ${state}`, { cause });
}
