/** Processes of runner.ts: each takes one order at a time; one that takes too long is ended and another takes its place. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

import { type Order, type Outcome, root } from "./runner.ts";

export interface Runner {
  /** @returns undefined where the time was over */
  run(order: Order, timeoutMs: number): Promise<Outcome | undefined>;
  close(): void;
}

export function startRunner(environment: Readonly<Record<string, string>> = {}): Runner {
  let child: ChildProcess | undefined;

  async function start(): Promise<ChildProcess> {
    const started = fork(new URL("runner.ts", import.meta.url), {
      cwd: root,
      env: { ...process.env, ...environment, NODE_ENV: "test" },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // A group of its own, so that its workers end with it.
      detached: true,
    });
    await once(started, "message");
    return started;
  }

  function end(): void {
    if (child?.pid !== undefined && child.exitCode === null) {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It is gone already.
      }
    }
    child = undefined;
  }

  return {
    async run(order, timeoutMs) {
      child ??= await start();
      const current = child;
      const answer = await new Promise<Outcome | undefined>((resolve) => {
        const timer = setTimeout(() => settle(undefined), timeoutMs);
        const onExit = (): void => settle({ failed: true, by: "the process ended", testFiles: [] });
        const settle = (outcome: Outcome | undefined): void => {
          clearTimeout(timer);
          current.off("message", settle).off("exit", onExit);
          resolve(outcome);
        };
        current.once("message", settle).once("exit", onExit);
        current.send(order);
      });
      if (!answer || answer.by === "the process ended") end();
      return answer;
    },
    close: end,
  };
}
