import { expect, test } from "vitest";

import { createLog, silentLog } from "../../../runtime/shared/log.ts";
import { epochSeconds } from "../../../runtime/shared/clock.ts";
import { startSweeper } from "../../../runtime/store/sweeper.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

test("startSweeper() removes expired records now and then", async () => {
  const clock = createTestClock();
  const { store, calls } = createBreakableStore(clock);
  await store.put("k", 1, { expiresAt: epochSeconds(clock) + 1 });
  const sweeper = startSweeper({ store, log: silentLog(), everyMs: 1 });
  clock.advance(1000);
  const sweeps = (): number => calls.filter((call) => call === "sweep").length;
  const before = sweeps();
  await expect.poll(sweeps).toBeGreaterThan(before + 1);
  await sweeper.close();
  const after = sweeps();
  expect(await store.sweep()).toBe(0);
  expect(sweeps()).toBe(after + 1);
});

test("startSweeper() continues after a failure, and logs it", async () => {
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const breakable = createBreakableStore(createTestClock());
  breakable.broken = true;
  const sweeper = startSweeper({ store: breakable.store, log, everyMs: 1 });
  await expect.poll(() => lines.join()).toContain("cannot remove expired records");
  breakable.broken = false;
  const before = breakable.calls.length;
  await expect.poll(() => breakable.calls.length).toBeGreaterThan(before + 1);
  await sweeper.close();
});
