/** Runs parts/burst-child.ts with as many open files as it needs. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

import type { BurstOptions, BurstResult } from "../parts/burst-child.ts";
import { REST_CORE } from "./child.ts";

/** What the system lets a process have. */
export const OPEN_FILES = 20_000;
/** Addresses of the host's own network, a client each. */
export const CLIENT_ADDRESSES: readonly string[] = Array.from({ length: 50 }, (_, index) => `127.0.2.${index + 1}`);

export function runBurst(options: BurstOptions, isPinned = false): Promise<BurstResult> {
  const program = new URL("../parts/burst-child.ts", import.meta.url).pathname;
  const pinned = isPinned && existsSync("/usr/bin/taskset") ? ["/usr/bin/taskset", "-c", REST_CORE] : [];
  const command = [...pinned, process.execPath, program, JSON.stringify(options)];
  const child = spawn("/bin/sh", ["-c", `ulimit -n ${OPEN_FILES}; exec "$@"`, "sh", ...command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(text) as BurstResult);
      else reject(new Error(`Clients exited with ${code}`));
    });
  });
}
