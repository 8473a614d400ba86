/** Commands of the check, each with an environment of its own. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { LONG_MS } from "../../test/support/limits.ts";
import { QUICK_START } from "../../test/support/quick-start.ts";

export type Environment = Readonly<Record<string, string>>;

/** @returns what it printed. @throws Error with the same when it fails */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Environment,
  input = "",
): Promise<string> {
  const env = {
    PATH: process.env["PATH"],
    HOME: cwd,
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    ...QUICK_START,
    ...environment,
  };
  try {
    const running = promisify(execFile)(command, args, { cwd, env, timeout: LONG_MS, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin?.end(input);
    const { stdout, stderr } = await running;
    return stdout + stderr;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`Cannot run "${command} ${args.join(" ")}":\n${stdout}\n${stderr}`, { cause: error });
  }
}
