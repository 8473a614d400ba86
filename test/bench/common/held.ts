/** Connections or event streams that are held open, in a process of their own. */
import { fork } from "node:child_process";
import { once } from "node:events";

import type { HeldQuestion, HeldTask } from "./held-child.ts";

export interface Held {
  /** Opens what is missing. @returns how many are open */
  reach(count: number): Promise<number>;
  /** How many are open. */
  tell(): Promise<number>;
  close(): Promise<void>;
}

export function hold(task: HeldTask): Held {
  const child = fork(new URL("held-child.ts", import.meta.url).pathname, [JSON.stringify(task)]);
  const ask = async (question: HeldQuestion): Promise<number> => {
    child.send(question);
    const [open] = (await once(child, "message")) as [number];
    return open;
  };
  return {
    reach: (count) => ask({ reach: count }),
    tell: () => ask("tell"),
    async close() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
