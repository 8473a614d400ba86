/** The examples that show how the gateway is run: their steps on this machine. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url).pathname;

async function play(name: string): Promise<string> {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", name], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(stdout).toMatch(/^\d+ passed, 0 failed$/m);
  return stdout;
}

test("systemd: the unit is what systemd-analyze verify accepts", async () => {
  const output = await play("systemd");
  // Required where everything is, skipped with a reason elsewhere.
  if (!output.includes("skipped:")) expect(output).toContain("pass  systemd-analyze verify");
});
