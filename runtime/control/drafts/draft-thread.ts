/**
 * This side of the drafts' thread: whatever a draft says, it takes nobody else's time.
 *
 * Untrusted input: drafts. Promises: a question takes at most `TIMEOUT_MS` and its thread at most as much memory as
 * `HEAP_LIMITS` says, then it ends without an answer; no more than a few wait; a thread that nobody asks ends.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

import type { Closable } from "../../shared/clock.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { task } from "../../shared/faults/guard.ts";
import type { Ground, Task, TaskAnswer, ToThread } from "./protocol.ts";
import type { ThreadSettings } from "./answer-task.ts";

export interface DraftThread extends Closable {
  /** @throws GatewayError `draft.busy`, `draft.failed`, `store.unavailable` */
  ask(task: Task): Promise<TaskAnswer>;
}

export interface DraftThreadDeps extends ThreadSettings {
  /** What is published and kept now. @throws GatewayError `store.unavailable` */
  readonly ground: () => Promise<Ground>;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
const IDLE_MS = 60_000;
const MAX_WAITING = 8;
const HEAP_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 12 } as const;

export function createDraftThread({ ground, timeoutMs = TIMEOUT_MS, path, keptKeys }: DraftThreadDeps): DraftThread {
  let worker: Worker | undefined;
  let sentKey: string | undefined;
  let lastAnswer: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  return {
    async ask(task) {
      if (waiting >= MAX_WAITING) throw new GatewayError("draft.busy", "Cannot look at a draft: others are, try again");
      waiting += 1;
      const answer = lastAnswer.then(() => askNow(task));
      lastAnswer = answer.catch(() => {});
      try {
        return await answer;
      } finally {
        waiting -= 1;
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(idle);
      await worker?.terminate();
      await lastAnswer;
    },
  };

  async function askNow(asked: Task): Promise<TaskAnswer> {
    const { published, kept } = await ground();
    if (isClosed) throw failed("it is closed");
    clearTimeout(idle);
    const thread = (worker ??= start());
    // Text of megabytes, which most questions do not need again.
    const news = published.key === sentKey ? {} : { published };
    sentKey = published.key;
    try {
      return await answerOf(thread, { task: asked, kept, ...news });
    } catch (error) {
      worker = undefined;
      await thread.terminate();
      throw failed(errorText(error), error);
    } finally {
      idle = setTimeout(task("the end of the drafts' thread", end), IDLE_MS).unref();
    }
  }

  function answerOf(thread: Worker, message: ToThread): Promise<TaskAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("it takes too long")), timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        thread.off("message", answered).off("error", failedThen).off("exit", ended);
      };
      const answered = (answer: TaskAnswer): void => (done(), resolve(answer));
      const failedThen = (error: Error): void => (done(), reject(error));
      const ended = (): void => (done(), reject(new Error("its thread ended")));
      thread.on("message", answered).once("error", failedThen).once("exit", ended);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      thread.postMessage(message);
    });
  }

  function start(): Worker {
    // The published package has .js files beside each other, the source tree .ts files.
    const url = new URL(`./draft-worker${extname(import.meta.url)}`, import.meta.url);
    sentKey = undefined;
    const workerData: ThreadSettings = { path, keptKeys };
    const thread = new Worker(url, { workerData, name: "drafts", resourceLimits: HEAP_LIMITS });
    const gone = (): void => {
      if (worker === thread) worker = undefined;
    };
    thread.unref();
    return thread.on("error", gone).on("exit", gone);
  }

  async function end(): Promise<void> {
    const thread = worker;
    worker = undefined;
    await thread?.terminate();
  }
}

function failed(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("draft.failed", `Cannot look at the draft: ${reason}`, { cause });
}
