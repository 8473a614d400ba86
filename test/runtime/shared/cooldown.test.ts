import { expect, test } from "vitest";

import { createCooldowns } from "../../../runtime/shared/cooldown.ts";
import { createTestClock } from "../../support/clock.ts";

test("a pause lasts as long as it was given, of its key alone", () => {
  const clock = createTestClock();
  const cooldowns = createCooldowns(clock);
  cooldowns.begin("a", 1_000);
  expect([cooldowns.has("a"), cooldowns.has("b")]).toEqual([true, false]);
  clock.advance(999);
  expect(cooldowns.has("a")).toBe(true);
  clock.advance(1);
  expect(cooldowns.has("a")).toBe(false);
  cooldowns.begin("a", 1_000);
  cooldowns.end("a");
  expect(cooldowns.has("a")).toBe(false);
});

test("no more than the limit are remembered: first those that are over give way, then all", () => {
  const clock = createTestClock();
  const cooldowns = createCooldowns(clock, 2);
  cooldowns.begin("short", 10);
  cooldowns.begin("long", 1_000);
  clock.advance(10);
  cooldowns.begin("third", 1_000);
  expect(["short", "long", "third"].map((key) => cooldowns.has(key))).toEqual([false, true, true]);
  cooldowns.begin("fourth", 1_000);
  expect(["long", "third", "fourth"].map((key) => cooldowns.has(key))).toEqual([false, false, true]);
});

test("a pause lasts no longer where the clock is set back", () => {
  const clock = createTestClock();
  const cooldowns = createCooldowns(clock);
  cooldowns.begin("a", 1_000);
  clock.advance(-3 * 3600_000);
  expect(cooldowns.has("a")).toBe(true);
  clock.advance(1_000);
  expect(cooldowns.has("a")).toBe(false);
});
