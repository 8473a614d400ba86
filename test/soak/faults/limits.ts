/** Limits of the operating system that a process runs into. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

import { allServe } from "./processes.ts";
import { type Fault, oneOf } from "./fault.ts";

const PRLIMIT = "/usr/bin/prlimit";
/** Left to each process beyond what it has open. */
const SPARE_DESCRIPTORS = 2;

/** New connections find no descriptor: they are closed or wait; those that are open go on. */
export const DESCRIPTORS_EXHAUSTED: Fault = {
  name: "descriptors-exhausted",
  disturbs: ["network", "store", "writes", "records", "bundle"],
  lasts: [4, 8],
  briefly: 1,
  missing: needsLimits,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    const before = new Map<number, string>();
    return {
      replicas: [replica],
      async strike() {
        for (const { pid } of await replica.workers()) {
          const open = readdirSync(`/proc/${pid}/fd`).length;
          before.set(pid, limitOf(pid, "Max open files"));
          prlimit(pid, `--nofile=${open + SPARE_DESCRIPTORS}:`);
        }
      },
      async heal() {
        for (const [pid, limit] of before) prlimit(pid, `--nofile=${limit}:`);
        await allServe(replica);
      },
    };
  },
};

/** One worker gets no more memory: it ends as if it were killed, and its supervisor starts another one. */
export const MEMORY_EXHAUSTED: Fault = {
  name: "memory-exhausted",
  disturbs: ["killed", "network"],
  lasts: [3, 6],
  missing: needsLimits,
  aim(world, random) {
    const replica = oneOf(world.replicas, random);
    const turn = random();
    let pid = 0;
    return {
      replicas: [replica],
      async strike() {
        ({ pid } = oneOf(await replica.workers(), () => turn));
        const size = Number(/^VmSize:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
        prlimit(pid, `--as=${size}:`);
      },
      async heal() {
        // It may have got by with what it had.
        prlimit(pid, "--as=unlimited:");
        await allServe(replica);
      },
    };
  },
};

function needsLimits(): string | undefined {
  return spawnSync(PRLIMIT, ["--version"]).status === 0 ? undefined : `no ${PRLIMIT}`;
}

/** The soft limit; a process that is gone has none. */
function prlimit(pid: number, limit: string): void {
  spawnSync(PRLIMIT, [`--pid=${pid}`, limit]);
}

function limitOf(pid: number, name: string): string {
  const line = readFileSync(`/proc/${pid}/limits`, "utf8")
    .split("\n")
    .find((each) => each.startsWith(name));
  return /\s(\d+|unlimited)\s/.exec(line?.slice(name.length) ?? "")?.[1] ?? "1024";
}
