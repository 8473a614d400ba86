/** examples/audit as its README tells it, with fewer kills. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

test("audit: what is done to records is named, and a kill is not taken for it", { timeout: LONG_MS }, async () => {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "audit", "6"], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(stdout).toMatch(/^10 passed, 0 failed\n$/m);
});
