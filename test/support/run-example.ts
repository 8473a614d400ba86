/**
 * `npm run example NAME [arguments]`: runs `check.ts` of examples/NAME with the arguments and ends with its exit code.
 * Without a name it lists the examples.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";

import { QUICK_GO } from "./quick-start.ts";

const examples = new URL("../../examples/", import.meta.url);

/** Folders that have a check. */
export function exampleNames(): readonly string[] {
  return readdirSync(examples)
    .filter((name) => existsSync(new URL(`${name}/check.ts`, examples)))
    .toSorted();
}

/** @returns exit code */
export async function runExample(name: string | undefined, args: readonly string[]): Promise<number> {
  const names = exampleNames();
  if (name === undefined || !names.includes(name)) {
    const asked =
      name === undefined ? "Which example?" : `Cannot run example "${name}": there is no examples/${name}/check.ts.`;
    console.error(`${asked} Examples: ${names.join(", ")}. See examples/README.md.`);
    return 2;
  }
  const check = new URL(`${name}/check.ts`, examples).pathname;
  const child = spawn(process.execPath, [check, ...args], { stdio: "inherit", env: { ...process.env, ...QUICK_GO } });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // Ended by a signal: no code, and certainly not a pass.
    child.once("close", (code) => resolve(code ?? 1));
  });
}

if (import.meta.main) {
  const [name, ...args] = process.argv.slice(2);
  process.exitCode = await runExample(name, args);
}
