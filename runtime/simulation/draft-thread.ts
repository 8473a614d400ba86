/**
 * Main thread's side of the draft thread: no draft can take other requests' time.
 *
 * Untrusted input: drafts. Promises: a question takes at most `TIMEOUT_MS`, and its thread at most the memory of
 * `HEAP_LIMITS`; then it ends without an answer. Few questions wait, and owners take turns: slow drafts of one owner
 * delay another by at most the running one. A thread without questions ends.
 */
import type { Worker } from "node:worker_threads";

import type { Closable } from "../shared/clock.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { task } from "../shared/faults/guard.ts";
import { createFairLimiter } from "../shared/limiter.ts";
import { ownerOfRoute } from "../shared/route-key.ts";
import { converse, startThread } from "../shared/thread.ts";
import type { DraftBase, Task, TaskAnswer, ToThread } from "./protocol.ts";
import type { ThreadSettings } from "./answer-task.ts";

export interface DraftThread extends Closable {
  /** @throws GatewayError `draft.busy`, `draft.failed`, `store.unavailable` */
  ask(task: Task): Promise<TaskAnswer>;
}

export interface DraftThreadDeps extends ThreadSettings {
  /** Current publication and previous slices. @throws GatewayError `store.unavailable` */
  readonly readBase: () => Promise<DraftBase>;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
const IDLE_MS = 60_000;
/** Limits per owner, and in total. */
const MAX_WAITING = 8;
const MAX_WAITING_IN_ALL = 32;
const HEAP_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 12 } as const;

export function createDraftThread({ readBase, timeoutMs = TIMEOUT_MS, path, sealKeys }: DraftThreadDeps): DraftThread {
  let worker: Worker | undefined;
  let sentKey: string | undefined;
  const turns = createFairLimiter(1);
  const waiting = new Map<Promise<TaskAnswer>, string>();
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  return {
    async ask(task) {
      const party = ownerOfTask(task);
      const ofParty = [...waiting.values()].filter((each) => each === party).length;
      if (ofParty >= MAX_WAITING || waiting.size >= MAX_WAITING_IN_ALL)
        throw new GatewayError("draft.busy", "Cannot preview a draft: other previews are running, try again");
      const answer = turns.take(party, () => run(task));
      waiting.set(answer, party);
      try {
        return await answer;
      } finally {
        waiting.delete(answer);
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(idle);
      await worker?.terminate();
      await Promise.allSettled(waiting.keys());
    },
  };

  async function run(question: Task): Promise<TaskAnswer> {
    const { published, kept } = await readBase();
    if (isClosed) throw failed("it is closed");
    clearTimeout(idle);
    const thread = (worker ??= start());
    // Megabytes of text, which most questions do not need again.
    const update = published.key === sentKey ? {} : { published };
    sentKey = published.key;
    try {
      const message: ToThread = { task: question, kept, ...update };
      return await converse(thread, message, timeoutMs, (answer: TaskAnswer) => answer);
    } catch (error) {
      worker = undefined;
      await thread.terminate();
      throw failed(errorText(error), error);
    } finally {
      idle = setTimeout(task("the end of the drafts' thread", end), IDLE_MS).unref();
    }
  }

  function start(): Worker {
    sentKey = undefined;
    const workerData: ThreadSettings = { path, sealKeys };
    const thread = startThread(import.meta.url, "draft-worker", {
      workerData,
      name: "drafts",
      resourceLimits: HEAP_LIMITS,
    });
    const onEnd = (): void => {
      if (worker === thread) worker = undefined;
    };
    thread.unref();
    return thread.on("error", onEnd).on("exit", onEnd);
  }

  async function end(): Promise<void> {
    const thread = worker;
    worker = undefined;
    await thread?.terminate();
  }
}

/** The owner of the question's draft or routes. */
function ownerOfTask(task: Task): string {
  if ("draft" in task) return task.draft.owner;
  return task.kind === "read-policy" ? ownerOfRoute(task.route) : (task.scope ?? []).join(" ");
}

function failed(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("draft.failed", `Cannot preview the draft: ${reason}`, { cause });
}
