/** Memory settings of a service: what the operator chose stays. */
import { expect, test } from "vitest";

import { memorySettings } from "../../runtime/process-memory.ts";

const FLAG = "--max-semi-space-size=8";
const ALLOCATOR = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };

test("adds what is not set, and keeps all flags and variables", () => {
  const start = { execArgv: ["--max-old-space-size=256"], env: { PATH: "/bin" } };
  const settings = { execArgv: ["--max-old-space-size=256", FLAG], env: { PATH: "/bin", ...ALLOCATOR } };
  expect(memorySettings(start, 0)).toEqual(settings);
  expect(memorySettings(settings, 0)).toBeUndefined();
});

test.each([
  ["a flag", ["--max-semi-space-size=16"], {}],
  ["a flag with underscores", ["--max_semi_space_size=16"], {}],
  ["NODE_OPTIONS", [], { NODE_OPTIONS: "--max-old-space-size=64 --max-semi-space-size=16" }],
])("keeps the size of the young generation: %s", (_, execArgv, env) => {
  expect(memorySettings({ execArgv, env }, 0)).toEqual({ execArgv, env: { ...ALLOCATOR, ...env } });
});

test("keeps the number of arenas", () => {
  const env = { MALLOC_ARENA_MAX: "8" };
  expect(memorySettings({ execArgv: [], env }, 0)).toEqual({ execArgv: [FLAG], env });
});

const MIB = 1024 * 1024;

test.each([
  ["no limit", 0, [], [FLAG]],
  ["no limit, as version 1 says it", 2 ** 63, [], [FLAG]],
  ["512 MiB", 512 * MIB, [], [FLAG]],
  ["256 MiB", 256 * MIB, [], [FLAG, "--max-old-space-size=128"]],
  ["128 MiB", 128 * MIB, [], ["--max-semi-space-size=2", "--max-old-space-size=64"]],
  ["128 MiB, flag of the image", 128 * MIB, [FLAG], [FLAG, "--max-semi-space-size=2", "--max-old-space-size=64"]],
  [
    "128 MiB, other flag",
    128 * MIB,
    ["--max-semi-space-size=80"],
    ["--max-semi-space-size=80", "--max-old-space-size=64"],
  ],
  [
    "128 MiB, heap chosen",
    128 * MIB,
    ["--max_old_space_size=90"],
    ["--max_old_space_size=90", "--max-semi-space-size=2"],
  ],
])("a small container has a small heap: %s", (_, limit, given, execArgv) => {
  const settings = memorySettings({ execArgv: given, env: {} }, limit);
  expect(settings).toEqual({ execArgv, env: ALLOCATOR });
  if (settings) expect(memorySettings(settings, limit)).toBeUndefined();
});
