/** Runs a command of `gateway` that ends, as a separate process. */
import { execFile } from "node:child_process";

import { builtProgram } from "./built-program.ts";

export interface CommandOutcome {
  /** Exit code; -1 when it ended without one. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function runCommand(...args: readonly string[]): Promise<CommandOutcome> {
  const program = await builtProgram();
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, out, err });
    });
  });
}
