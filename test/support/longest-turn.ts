/** In a process of its own, loaded by `--import`: writes the longest turn of its main thread to a file when it ends. */
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

import { cpuMicros } from "./work.ts";

/** Beginning of the file's name; the process id follows. */
const beginning = process.env["GATEWAY_TEST_TURNS"];

if (isMainThread && beginning !== undefined) {
  let longest = 0;
  let since = cpuMicros();
  const nextTurn = (): void => {
    const now = cpuMicros();
    longest = Math.max(longest, now - since);
    since = now;
    setImmediate(nextTurn).unref();
  };
  // Work before it listens delays no client.
  subscribe("tracing:net.server.listen:asyncEnd", () => {
    nextTurn();
    longest = 0;
  });
  process.once("exit", () => writeFileSync(`${beginning}${process.pid}`, String(longest)));
}
