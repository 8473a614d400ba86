import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { onFault } from "../../../../runtime/shared/faults/faults.ts";
import { recur } from "../../../../runtime/shared/timing/recurring.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** Counts the calls of a job. */
function job(everyMs: number) {
  const counted = { calls: 0 };
  const stop = recur("a test", everyMs, () => (counted.calls += 1));
  return Object.assign(counted, { stop });
}

test("all whole seconds share one timer, which ends with the last of them", () => {
  const before = vi.getTimerCount();
  const [one, five] = [job(1_000), job(5_000)];
  expect(vi.getTimerCount()).toBeLessThanOrEqual(before + 1);
  vi.advanceTimersByTime(10_000);
  expect([one.calls, five.calls]).toEqual([10, 2]);
  one.stop();
  vi.advanceTimersByTime(5_000);
  expect([one.calls, five.calls]).toEqual([10, 3]);
  five.stop();
  expect(vi.getTimerCount()).toBe(before);
});

test("other intervals have a timer of their own", () => {
  const often = job(200);
  vi.advanceTimersByTime(1_000);
  expect(often.calls).toBe(5);
  often.stop();
  vi.advanceTimersByTime(1_000);
  expect(often.calls).toBe(5);
});

test("a failure is reported, and keeps no other work from its turn", () => {
  const faults: string[] = [];
  const silence = onFault(({ what }) => void faults.push(what ?? ""));
  const stop = recur("the first", 1_000, () => {
    throw new Error("failed");
  });
  const second = job(1_000);
  vi.advanceTimersByTime(2_000);
  expect([faults, second.calls]).toEqual([["the first", "the first"], 2]);
  stop();
  second.stop();
  silence();
});
