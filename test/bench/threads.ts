/** CPU time of one process by thread, in nanoseconds, from the kernel's scheduler statistics. */
import { readdirSync, readFileSync } from "node:fs";

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
