/** Memory settings of a service: what the operator chose stays. */
import { expect, test } from "vitest";

import { memorySettings } from "../../runtime/process-memory.ts";

const FLAG = "--max-semi-space-size=8";
const ALLOCATOR = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

test("adds what is not set, and keeps all flags and variables", () => {
  const start = { execArgv: ["--max-old-space-size=256"], env: { PATH: "/bin" } };
  const settings = { execArgv: ["--max-old-space-size=256", FLAG], env: { PATH: "/bin", ...ALLOCATOR } };
  expect(memorySettings(start)).toEqual(settings);
  expect(memorySettings(settings)).toBeUndefined();
});

test.each([
  ["a flag", ["--max-semi-space-size=16"], {}],
  ["a flag with underscores", ["--max_semi_space_size=16"], {}],
  ["NODE_OPTIONS", [], { NODE_OPTIONS: "--max-old-space-size=64 --max-semi-space-size=16" }],
])("keeps the size of the young generation: %s", (_, execArgv, env) => {
  expect(memorySettings({ execArgv, env })).toEqual({ execArgv, env: { ...ALLOCATOR, ...env } });
});

test("keeps the number of arenas", () => {
  const env = { MALLOC_ARENA_MAX: "8" };
  expect(memorySettings({ execArgv: [], env })).toEqual({ execArgv: [FLAG], env });
});
