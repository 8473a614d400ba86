/** The draft thread: one question at a time. A failure is a bug or a draft made to fail, and ends the thread. */
import { parentPort, workerData } from "node:worker_threads";

import { send } from "../shared/thread.ts";
import type { PublishedSources } from "../bundle/validation/protocol.ts";
import { createAnswerTask, type ThreadSettings } from "./answer-task.ts";
import type { ToThread } from "./protocol.ts";

if (parentPort) serve(parentPort, workerData as ThreadSettings);

function serve(port: NonNullable<typeof parentPort>, settings: ThreadSettings): void {
  const answer = createAnswerTask(settings);
  let published: PublishedSources = { key: "", sources: [] };
  port.on("message", (message: ToThread) => {
    published = message.published ?? published;
    void answer(message.task, { published, kept: message.kept }).then((answered) => send(port, answered));
  });
}
