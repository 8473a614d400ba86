/**
 * Requests at a fixed rate, whatever becomes of those before (an open loop), from a process of its own: what else the
 * benchmark does is not in the figures.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { setPriority } from "node:os";

import type { SteadyOptions, SteadySamples } from "./steady-child.ts";

export interface SteadyLoad {
  /** What was asked for from one time to another, epoch milliseconds; sorted. Microseconds from when it was due. */
  between(fromMs: number, untilMs: number): readonly number[];
  /** Answers other than 2xx, and broken connections. */
  errors(): number;
  stop(): Promise<void>;
}

export function startSteadyLoad(options: SteadyOptions): SteadyLoad {
  const child = fork(new URL("steady-child.ts", import.meta.url), [JSON.stringify(options)], {
    serialization: "advanced",
  });
  // Its own waiting for a processor is not the gateway's.
  runBeforeOthers(child.pid ?? 0, 2);
  const samples: SteadySamples[] = [];
  let errors = 0;
  let stopped: Promise<void> | undefined;
  child.on("message", (message: SteadySamples) => {
    samples.push(message);
    errors += message.errors;
  });
  return {
    between: (fromMs, untilMs) =>
      samples
        .flatMap(({ dueMs, micros }) =>
          micros.filter((_, at) => Number(dueMs[at]) >= fromMs && Number(dueMs[at]) < untilMs),
        )
        .sort((a, b) => a - b),
    errors: () => errors,
    stop: () => (stopped ??= end(child)),
  };
}

/**
 * A process, and what it starts from now on, is scheduled before all others; done for root alone.
 *
 * @param priority over others of this kind; with 0 it comes after them, and before everybody else
 */
export function runBeforeOthers(pid: number, priority: number): void {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/chrt")) return;
  const policy = priority === 0 ? "--other" : "--rr";
  execFileSync("/usr/bin/chrt", ["--all-tasks", policy, "--pid", String(priority), String(pid)]);
  // Of each thread: a process' number is that of its first thread, and it would wait for the others, who wait for everybody else.
  if (priority === 0) for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), -20);
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
