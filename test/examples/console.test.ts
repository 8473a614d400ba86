/** examples/console as its README tells it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { missingChromium } from "../support/chromium.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

test("console: every screen, driven by those whom it is for", { timeout: LONG_MS }, async () => {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "console"], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(stdout).toMatch(missingChromium() === undefined ? /^23 passed, 0 failed\n$/m : /^skipped: .*\n0 passed/m);
});
