import { tmpdir } from "node:os";
import { join } from "node:path";

import { defineConfig } from "vitest/config";

import { LongestFirst } from "./support/longest-first.ts";

// Tests start some thousand processes of ours: each would compile the same modules anew, most of what a short one does.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "gateway-test-compile-cache");

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A poll ends when its condition holds; the bound is for machines under load.
    expect: { poll: { timeout: 15_000 } },
    pool: "forks",
    // On two cores: with one worker each, a fifth of the time both would wait for processes that tests start.
    maxWorkers: 3,
    fileParallelism: true,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/support/summary-reporter.ts"],
  },
});
