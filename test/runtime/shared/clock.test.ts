import { setImmediate as turn } from "node:timers/promises";

import { expect, test } from "vitest";

import { steadyClock, within, withinAwake } from "../../../runtime/shared/clock.ts";
import { createTestClock } from "../../support/clock.ts";

const HOUR = 3600_000;
const WAIT_MS = 40;

/** As a process that is stopped, or has no processor, for five times as long as is waited for. */
function stall(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * WAIT_MS);
}

async function answerAfterStall(wait: typeof within): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const waited = wait(WAIT_MS, promise, () => "late");
  stall();
  await turn();
  await turn();
  resolve("answer");
  return waited;
}

test("withinAwake() counts no time in which the process did not run", async () => {
  expect(await answerAfterStall(within)).toBe("late");
  expect(await answerAfterStall(withinAwake)).toBe("answer");
});

test("withinAwake() times out without a result, and otherwise returns that of the work", async () => {
  expect(await withinAwake(WAIT_MS, new Promise<string>(() => {}), () => "late")).toBe("late");
  const refused = Promise.reject<string>(new Error("refused"));
  await expect(withinAwake(WAIT_MS, refused, () => "late")).rejects.toThrow("refused");
  const never = withinAwake(WAIT_MS, new Promise<string>(() => {}), () => {
    throw new Error("too late");
  });
  await expect(never).rejects.toThrow("too late");
});

test("steadyClock() follows a clock, and where that is set back, stops for a moment and continues", () => {
  const clock = createTestClock(10 * HOUR);
  const steady = steadyClock(clock);
  clock.advance(5);
  expect(steady.now()).toBe(10 * HOUR + 5);
  clock.advance(-3 * HOUR);
  expect(steady.now()).toBe(10 * HOUR + 5);
  clock.advance(7);
  expect(steady.now()).toBe(10 * HOUR + 12);
  clock.advance(3 * HOUR);
  expect(steady.now()).toBe(13 * HOUR + 12);
});
