/** CPU time of a process and all its children, in nanoseconds, from the kernel's scheduler statistics. */
import { readdirSync, readFileSync } from "node:fs";

export function cpuNanoseconds(pid: number): number {
  let total = 0;
  for (const id of [pid, ...descendants(pid)]) {
    try {
      for (const task of readdirSync(`/proc/${id}/task`)) {
        total += Number(readFileSync(`/proc/${id}/task/${task}/schedstat`, "utf8").split(" ")[0]);
      }
    } catch {
      // The process ended between the listing and the reading.
    }
  }
  return total;
}

function descendants(pid: number): number[] {
  const found: number[] = [];
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      for (const child of readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ")) {
        if (child !== "") found.push(Number(child), ...descendants(Number(child)));
      }
    }
  } catch {
    // As above.
  }
  return found;
}

/** Resident memory of the tree, MiB. */
export function residentMebibytes(pid: number): number {
  return Math.round(residentKibibytes(pid) / 1024);
}

/** Resident memory of the tree. */
export function residentKibibytes(pid: number): number {
  let pages = 0;
  for (const id of [pid, ...descendants(pid)]) {
    try {
      pages += Number(readFileSync(`/proc/${id}/statm`, "utf8").split(" ")[1]);
    } catch {
      // As above.
    }
  }
  return pages * 4;
}
