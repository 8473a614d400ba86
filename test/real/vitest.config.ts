/** Tests with real systems around the gateway: `npm run test:real`. One file at a time, which has the host for itself. */
import { defineConfig } from "vitest/config";

import { POLL_MS } from "../support/limits.ts";
import { SYSTEMS } from "./systems.ts";

/** A part may take 10 minutes; a test that hangs ends by this limit. */
const LIMIT_MS = 10 * 60_000;

const TESTS = Object.values(SYSTEMS).flatMap(({ tests }) => tests);

export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: TESTS,
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: POLL_MS } },
    pool: "forks",
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
  },
});
