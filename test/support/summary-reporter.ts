/**
 * Ends a test run with a summary: the tests that failed, the files that took longest, what the run left in
 * the work tree, and one plain line for a pipeline: "N passed, N failed, N skipped".
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import type { Reporter, TestCase, TestModule } from "vitest/node";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SLOWEST = 20;

/** State of the work tree in git, including ignored files; undefined outside a work tree. */
export function workTreeState(root: string): ReadonlySet<string> | undefined {
  try {
    const command = ["status", "--porcelain", "--ignored=matching", "--untracked-files=all"];
    const text = execFileSync("git", command, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return new Set(text.split("\n").filter((line) => line !== ""));
  } catch {
    return undefined;
  }
}

export default class SummaryReporter implements Reporter {
  private readonly counts = { passed: 0, failed: 0, skipped: 0 };
  private readonly failed: string[] = [];
  private readonly seconds: (readonly [name: string, seconds: number])[] = [];
  private before: ReadonlySet<string> | undefined;

  onTestRunStart(): void {
    this.before = workTreeState(ROOT);
  }

  onTestCaseResult(testCase: TestCase): void {
    const { state } = testCase.result();
    if (state === "passed" || state === "failed" || state === "skipped") this.counts[state] += 1;
    if (state === "failed") this.failed.push(`${testCase.module.relativeModuleId} > ${testCase.fullName}`);
  }

  onTestModuleEnd(module: TestModule): void {
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    this.seconds.push([module.relativeModuleId, (duration + collectDuration + setupDuration) / 1000]);
    // A hook or the file itself: its tests did not run.
    if (module.errors().length > 0)
      this.failed.push(`${module.relativeModuleId}: ${module.errors()[0]?.message ?? ""}`);
    for (const suite of module.children.allSuites())
      for (const error of suite.errors())
        this.failed.push(`${module.relativeModuleId} > ${suite.fullName}: ${error.message}`);
  }

  onTestRunEnd(_modules: unknown, errors: readonly unknown[]): void {
    const left = this.before && [...(workTreeState(ROOT) ?? [])].filter((line) => !this.before?.has(line));
    // In other runs a developer may be editing files.
    const isAlone = process.env["GATEWAY_REQUIRE_ALL"] === "1" || process.env["GATEWAY_CLEAN_TREE"] === "1";
    const spoiled = isAlone ? (left?.length ?? 0) : 0;
    if (spoiled > 0) process.exitCode = 1;
    // An error outside any test (a crashed worker, an unhandled rejection) is a failure as well.
    const failed = Math.max(this.counts.failed, this.failed.length) + errors.length + spoiled;
    // Where everything must be there, a test that did not run proves nothing.
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1" && this.counts.skipped > 0) process.exitCode = 1;
    const slowest = this.seconds.toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
    print(
      "Slowest files",
      slowest.map(([name, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
    );
    print("New or changed in the work tree", left ?? []);
    print("Failed", this.failed);
    console.log(`\n${this.counts.passed} passed, ${failed} failed, ${this.counts.skipped} skipped`);
  }
}

function print(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}
