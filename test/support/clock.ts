/** Time that moves only when a test says so. */
import type { Clock } from "../../runtime/shared/clock.ts";

export interface TestClock extends Clock {
  advance(ms: number): void;
  set(epochMs: number): void;
}

/** @param startMs epoch milliseconds; a whole second by default, so that second and millisecond limits are easy to hit */
export function createTestClock(startMs = 1_800_000_000_000): TestClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms) => void (nowMs += ms),
    set: (epochMs) => void (nowMs = epochMs),
  };
}
