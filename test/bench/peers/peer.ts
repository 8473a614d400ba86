/** What proxies that are not Node programs have in common: they are told their port, and have to be waited for. */
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import type { Child } from "../common/child.ts";

export type PeerStart = (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>;

const PATIENCE_MS = 10_000;

/** @param name for the error @param pid of a process that must not exit meanwhile */
export async function untilListening(
  name: string,
  port: number,
  patienceMs = PATIENCE_MS,
  pid?: number,
): Promise<void> {
  const until = performance.now() + patienceMs;
  while (!(await isListening(port))) {
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) throw new Error(`${name} exited`);
    if (performance.now() > until)
      throw new Error(`${name} does not listen on port ${port} after ${patienceMs / 1000} s`);
    await delay(20);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
