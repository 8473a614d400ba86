/** The caller's side of the reader thread, which starts with the first query. */
import type { Worker } from "node:worker_threads";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { RecordReader } from "../record-reader.ts";
import type { ReaderAnswer, ReaderRequest, ReaderSettings } from "./sqlite-reader-worker.ts";
import { reportFault } from "../../shared/faults/faults.ts";
import { startThread, ThreadCalls } from "../../shared/thread.ts";

type Question = ReaderRequest extends infer R ? (R extends { readonly id: number } ? Omit<R, "id"> : never) : never;

interface Thread {
  readonly worker: Worker;
  readonly calls: ThreadCalls<ReaderAnswer>;
}

/** Most queries that wait for the thread; more are rejected. */
const MAX_WAITING = 100;

export function createSqliteReader(settings: ReaderSettings): RecordReader {
  let thread: Thread | undefined;
  let closing: Promise<void> | undefined;

  function start(): Thread {
    const worker = startThread(import.meta.url, "sqlite-reader-worker", { workerData: settings, name: "records" });
    // The response cannot be matched to a query: all pending queries fail, and the next one starts another thread.
    const calls = new ThreadCalls<ReaderAnswer>(worker, (error) => {
      reportFault({ scope: "task", what: "an answer of the record store", error });
      end(started, errorText(error));
      void worker.terminate();
    });
    const started = { worker, calls };
    worker.on("error", (error) => end(started, errorText(error)));
    worker.once("exit", () => end(started, "its thread has ended"));
    worker.unref();
    return started;
  }

  function end(ended: Thread, state: string): void {
    if (thread !== ended) return;
    // The next query starts another thread.
    thread = undefined;
    ended.calls.rejectAll(readError("records.unavailable", state));
  }

  async function ask(question: Question): Promise<unknown> {
    if (closing && question.ask !== "close") throw readError("records.unavailable", "the reader is closed");
    const { worker, calls } = (thread ??= start());
    if (calls.count() >= MAX_WAITING && !closing)
      throw readError("records.unavailable", "too many queries are pending");
    const answered = calls.call(question);
    worker.ref();
    const answer = await answered;
    // While closing, wait for the thread's end.
    if (calls.count() === 0 && !closing) worker.unref();
    if (!answer.ok) throw readError(answer.code, answer.message);
    return answer.result;
  }

  return {
    find: (query) => ask({ ask: "find", query }) as ReturnType<RecordReader["find"]>,
    rank: (query) => ask({ ask: "rank", query }) as ReturnType<RecordReader["rank"]>,
    count: (query) => ask({ ask: "count", query }) as ReturnType<RecordReader["count"]>,
    get: (recordId) => ask({ ask: "get", recordId }) as ReturnType<RecordReader["get"]>,
    stats: () => ask({ ask: "stats" }) as ReturnType<RecordReader["stats"]>,
    close: () => (closing ??= closeThread()),
  };

  async function closeThread(): Promise<void> {
    if (!thread) return;
    const { worker } = thread;
    const exited = new Promise((resolve) => worker.once("exit", resolve));
    await ask({ ask: "close" });
    await exited;
  }
}

function readError(code: string, message: string): GatewayError {
  return new GatewayError(code, message.startsWith("Cannot ") ? message : `Cannot read the records: ${message}`);
}
