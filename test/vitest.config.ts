import { tmpdir } from "node:os";
import { join } from "node:path";

import { defineConfig } from "vitest/config";

import { HOOK_MS, POLL_MS, TEST_MS } from "./support/limits.ts";
import { LONGEST, LongestFirst } from "./support/longest-first.ts";

// Tests start some thousand processes of ours: each would compile the same modules anew, most of what a short one does.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "gateway-test-compile-cache");

/**
 * Files with a process each: they replace modules, count what the process holds (objects, sockets, memory), or replace the
 * timer of recurring work, which a file before them may have started; and the longest, which begin first. All other files share
 * a process with the ones before them.
 */
const ALONE = [
  ...LONGEST,
  "test/flows/strangers.test.ts",
  "test/flows/upstream-store-outage.test.ts",
  "test/hostile/upstream-pipeline.test.ts",
  "test/flows/upstream-killed.test.ts",
  "test/runtime/bundle/retained.test.ts",
  "test/hostile/stalled-clients.test.ts",
  "test/runtime/limits/rate-limits.test.ts",
  "test/runtime/shared/timing/recurring.test.ts",
  "test/runtime/http/listener/idle-connections.test.ts",
  "test/runtime/upstreams/http1/http1-limits.test.ts",
];
/** Real systems are installed first: `npm run test:real`. */
const NEVER = ["**/node_modules/**", "test/real/**"];

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    testTimeout: TEST_MS,
    hookTimeout: HOOK_MS,
    expect: { poll: { timeout: POLL_MS } },
    pool: "forks",
    // On two cores: with one worker each, a fifth of the time both would wait for processes that tests start.
    maxWorkers: 4,
    fileParallelism: true,
    // What a busy machine adds to a measured stall does not show in each of three runs (test/support/stall-probe.ts).
    retry: { count: 2, condition: /^A turn of the event loop took / },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: "alone", include: ALONE, exclude: NEVER, setupFiles: ["test/support/stall-probe.ts"] },
      },
      {
        extends: true,
        test: {
          name: "together",
          include: ["test/**/*.test.ts"],
          exclude: [...NEVER, ...ALONE],
          // A process for each took half the time of most files: it starts, and loads the same modules as the one before.
          isolate: false,
          // Node loads our sources as they stand, as it does where they run.
          experimental: { viteModuleRunner: false },
          setupFiles: ["test/support/left-behind.ts", "test/support/stall-probe.ts"],
        },
      },
    ],
    reporters: ["default", "./test/support/summary-reporter.ts"],
  },
});
