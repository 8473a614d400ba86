/** examples/tool-policy as its README tells it, with Terraform and Chromium where they have to be there; and examples/agents and examples/guardrail. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { missingChromium } from "../support/chromium.ts";
import { terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

test("tool-policy: lists, arguments, approval, limits, shadow, replay, diff", { timeout: LONG_MS }, async () => {
  const stdout = await played("tool-policy");
  // The whole story is played where nothing is missing.
  if (terraformMissing() === undefined && missingChromium() === undefined) expect(stdout).not.toContain("skipped");
});

test("agents: a run is requested, approved, limited and ended", { timeout: LONG_MS }, async () => {
  await played("agents");
});

test("guardrail: calls and results pass, are changed and denied", { timeout: LONG_MS }, async () => {
  await played("guardrail");
});

/** @returns what it printed, without a failed step */
async function played(name: "tool-policy" | "agents" | "guardrail"): Promise<string> {
  const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", name], { cwd: root });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
  expect(stdout).toMatch(/^\d+ passed, 0 failed\n$/m);
  return stdout;
}
