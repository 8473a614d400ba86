import { expect, test } from "vitest";

import { createBackoff, createCooldowns } from "../../../runtime/shared/backoff.ts";
import { createTestClock } from "../../support/clock.ts";

test("a pause lasts for its duration, for its key only", () => {
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

test("remembers at most the limit: drops expired entries first, then all", () => {
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

test("a back-off doubles up to its limit, with jitter, and restarts", () => {
  const backoff = createBackoff({ firstMs: 100, mostMs: 1000, random: () => 1 });
  const low = createBackoff({ firstMs: 100, mostMs: 1000, random: () => 0 });
  expect(Array.from({ length: 6 }, () => backoff.next())).toEqual([100, 200, 400, 800, 1000, 1000]);
  for (let failures = 0; failures < 2_000; failures++) backoff.next();
  expect(backoff.next()).toBe(1000);
  expect([low.next(), low.next()]).toEqual([50, 100]);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});
