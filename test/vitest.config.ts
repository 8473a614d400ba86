import { defineConfig } from "vitest/config";

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
    maxWorkers: 2,
    fileParallelism: true,
    reporters: ["default", "./test/support/summary-reporter.ts"],
  },
});
