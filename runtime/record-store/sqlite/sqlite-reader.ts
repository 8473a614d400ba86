/** This side of the thread that reads: it begins with the first question. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { RecordReader } from "../record-reader.ts";
import type { ReaderAnswer, ReaderRequest, ReaderSettings } from "./sqlite-reader-worker.ts";
import { tellFault } from "../../shared/faults/faults.ts";
import { guard } from "../../shared/faults/guard.ts";

type Question = ReaderRequest extends infer R ? (R extends { readonly id: number } ? Omit<R, "id"> : never) : never;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Questions that wait for the thread; more are refused. */
const MAX_WAITING = 100;

export function createSqliteReader(settings: ReaderSettings): RecordReader {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;
  let closing: Promise<void> | undefined;

  function start(): Worker {
    // The published package has .js files beside each other, the source tree .ts files.
    const url = new URL(`./sqlite-reader-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, { workerData: settings, name: "records" });
    worker.on(
      "message",
      guard({ broke: (error) => brokeWith(worker, error) }, (answer: ReaderAnswer) => {
        const asked = waiting.get(answer.id);
        waiting.delete(answer.id);
        // While it is being closed its end is waited for.
        if (waiting.size === 0 && !closing) worker.unref();
        if (answer.ok) asked?.resolve(answer.result);
        else asked?.reject(readError(answer.code, answer.message));
      }),
    );
    worker.on("error", (error) => end(worker, errorText(error)));
    worker.once("exit", () => end(worker, "its thread has ended"));
    worker.unref();
    return worker;
  }

  function end(worker: Worker, state: string): void {
    if (thread !== worker) return;
    // The next question begins another one.
    thread = undefined;
    for (const { reject } of waiting.values()) reject(readError("records.unavailable", state));
    waiting.clear();
  }

  /** Whose answer it was is not known: all that wait are told, and the next question begins another thread. */
  function brokeWith(worker: Worker, error: unknown): void {
    tellFault({ scope: "task", what: "an answer of the record store", error });
    end(worker, errorText(error));
    void worker.terminate();
  }

  function ask(question: Question): Promise<unknown> {
    if (closing && question.ask !== "close")
      return Promise.reject(readError("records.unavailable", "the reader is closed"));
    if (waiting.size >= MAX_WAITING && !closing)
      return Promise.reject(readError("records.unavailable", "too many questions are waiting"));
    const worker = (thread ??= start());
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      // First: what cannot be sent is not waited for.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ id, ...question });
      waiting.set(id, { resolve, reject });
      worker.ref();
    });
  }

  return {
    find: (query) => ask({ ask: "find", query }) as ReturnType<RecordReader["find"]>,
    get: (recordId) => ask({ ask: "get", recordId }) as ReturnType<RecordReader["get"]>,
    stats: () => ask({ ask: "stats" }) as ReturnType<RecordReader["stats"]>,
    close: () => (closing ??= closeThread()),
  };

  async function closeThread(): Promise<void> {
    const worker = thread;
    if (!worker) return;
    const exited = new Promise((resolve) => worker.once("exit", resolve));
    await ask({ ask: "close" });
    await exited;
  }
}

function readError(code: string, message: string): GatewayError {
  return new GatewayError(code, message.startsWith("Cannot ") ? message : `Cannot read the records: ${message}`);
}
