import { expect, test } from "vitest";

import { createPauses } from "../../../runtime/shared/cooldown.ts";
import { createTestClock } from "../../support/clock.ts";

test("a pause lasts as long as it was given, of its key alone", () => {
  const clock = createTestClock();
  const pauses = createPauses(clock);
  pauses.begin("a", 1_000);
  expect([pauses.has("a"), pauses.has("b")]).toEqual([true, false]);
  clock.advance(999);
  expect(pauses.has("a")).toBe(true);
  clock.advance(1);
  expect(pauses.has("a")).toBe(false);
  pauses.begin("a", 1_000);
  pauses.end("a");
  expect(pauses.has("a")).toBe(false);
});

test("no more than the limit are remembered: first those that are over give way, then all", () => {
  const clock = createTestClock();
  const pauses = createPauses(clock, 2);
  pauses.begin("short", 10);
  pauses.begin("long", 1_000);
  clock.advance(10);
  pauses.begin("third", 1_000);
  expect(["short", "long", "third"].map((key) => pauses.has(key))).toEqual([false, true, true]);
  pauses.begin("fourth", 1_000);
  expect(["long", "third", "fourth"].map((key) => pauses.has(key))).toEqual([false, false, true]);
});
