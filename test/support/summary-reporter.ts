/** Ends a test run with one plain line that a pipeline can read: "N passed, N failed, N skipped". */
import type { Reporter, TestCase } from "vitest/node";

export default class SummaryReporter implements Reporter {
  private readonly counts = { passed: 0, failed: 0, skipped: 0 };

  onTestCaseResult(testCase: TestCase): void {
    const { state } = testCase.result();
    if (state === "passed" || state === "failed" || state === "skipped") this.counts[state] += 1;
  }

  onTestRunEnd(_modules: unknown, errors: readonly unknown[]): void {
    // An error outside any test (a crashed worker, an unhandled rejection) is a failure as well.
    const failed = this.counts.failed + errors.length;
    // Where everything must be there, a test that did not run proves nothing.
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1" && this.counts.skipped > 0) process.exitCode = 1;
    console.log(`\n${this.counts.passed} passed, ${failed} failed, ${this.counts.skipped} skipped`);
  }
}
