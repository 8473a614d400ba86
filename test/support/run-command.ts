/** A command of `gateway` that ends by itself, as a process of its own. */
import { execFile } from "node:child_process";

export interface CommandOutcome {
  /** Exit code; -1 when it ended without one. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

export function runCommand(...args: readonly string[]): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, out, err });
    });
  });
}
