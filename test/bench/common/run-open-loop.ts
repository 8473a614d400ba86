/** Runs open-loop-child.ts, before other processes where the system permits it. */
import { fork } from "node:child_process";
import { existsSync } from "node:fs";

import { REST_CORE } from "./child.ts";
import type { OpenLoopFigures, OpenLoopTask } from "./open-loop-child.ts";
import { runBeforeOthers } from "./steady-load.ts";

export function runOpenLoop(task: OpenLoopTask): Promise<OpenLoopFigures> {
  const program = new URL("open-loop-child.ts", import.meta.url).pathname;
  const isPinned = existsSync("/usr/bin/taskset");
  const child = fork(program, [JSON.stringify(task)], {
    serialization: "advanced",
    ...(isPinned && { execPath: "/usr/bin/taskset", execArgv: ["-c", REST_CORE, process.execPath] }),
  });
  try {
    // Its own waiting for a processor is not the proxy's.
    runBeforeOthers(child.pid ?? 0, 2);
  } catch {
    // Not everywhere may one; its lateness is in the table.
  }
  return new Promise((resolve, reject) => {
    let found: OpenLoopFigures | undefined;
    child.on("message", (message: OpenLoopFigures) => (found = message));
    child.once("error", reject);
    // Behind its last message, which its exit is not.
    child.once("disconnect", () =>
      found ? resolve(found) : reject(new Error("The client of the open loop ended and told nothing")),
    );
  });
}
