/** Threads of one process: their CPU time in nanoseconds, from the kernel's scheduler statistics, and their core. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

export interface ThreadTimes {
  /** The one that handles requests. */
  readonly first: number;
  /** All others: those of the records, the store, the garbage collector, the disk. */
  readonly others: number;
}

export function threadTimes(pid: number): ThreadTimes {
  let [first, others] = [0, 0];
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const time = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
    if (Number(task) === pid) first = time;
    else others += time;
  }
  return { first, others };
}

/** To another core, where the machine can pin it. @param name of the thread; nothing is done where there is none */
export function moveThread(pid: number, name: string, core: string): void {
  if (!existsSync("/usr/bin/taskset")) return;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    if (readFileSync(`/proc/${pid}/task/${task}/comm`, "utf8").trim() === name)
      execFileSync("/usr/bin/taskset", ["-cp", core, task], { stdio: "ignore" });
  }
}
