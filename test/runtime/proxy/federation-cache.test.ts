import { expect, test } from "vitest";

import { FairCache } from "../../../runtime/proxy/lists/fair-cache.ts";
import { createRandom } from "../../support/random.ts";

test("FairCache evicts the least recently used entry when all are too large together", () => {
  const cache = new FairCache<number>(100, 100);
  for (const name of ["a", "b", "c"]) cache.set(name, 1, 30, [name]);
  cache.get("a");
  cache.set("d", 1, 30, ["d"]);
  expect(["a", "b", "c", "d"].map((name) => cache.get(name))).toEqual([1, undefined, 1, 1]);
  expect([cache.bytes, cache.size]).toEqual([90, 3]);
});

test("a party evicts its own entries once its part is full, and those of no other", () => {
  const cache = new FairCache<number>(1_000, 250);
  for (let index = 0; index < 4; index += 1)
    cache.set(`other ${index}`, index, 100, [`user ${index}`, `member ${index}`]);
  for (let index = 0; index < 50; index += 1) cache.set(`flood ${index}`, index, 100, ["user x", `member x${index}`]);
  for (let index = 0; index < 50; index += 1) cache.set(`list ${index}`, index, 10, [`user y${index}`, "member y"]);
  for (let index = 0; index < 4; index += 1) expect(cache.get(`other ${index}`)).toBe(index);
  expect(["47", "48", "49"].map((index) => cache.get(`flood ${index}`))).toEqual([undefined, 48, 49]);
  expect([cache.get("list 49"), cache.get("list 25"), cache.get("list 24")]).toEqual([49, 25, undefined]);
});

test("an entry above the part of one party is not kept, and neither is the one before it", () => {
  const cache = new FairCache<number>(1_000, 250);
  cache.set("a", 1, 10, ["x"]);
  cache.set("a", 2, 251, ["x"]);
  expect([cache.get("a"), cache.bytes, cache.size]).toEqual([undefined, 0, 0]);
});

test("the bounds hold for any order of uses", () => {
  const random = createRandom("fair cache");
  const below = (most: number): number => Math.floor(random() * most);
  const cache = new FairCache<{ readonly bytes: number; readonly user: string }>(1_000, 300);
  const keys = Array.from({ length: 60 }, (_, index) => String(index));
  for (let round = 0; round < 5_000; round += 1) {
    const key = keys[below(keys.length)] ?? "";
    const user = `user ${below(5)}`;
    const bytes = below(320);
    if (below(4) === 0) cache.delete(key);
    else if (below(3) === 0) cache.get(key);
    else cache.set(key, { bytes, user }, bytes, [user, `member ${below(3)}`]);
    expect(cache.bytes).toBeLessThanOrEqual(1_000);
  }
  const kept = keys.map((key) => cache.get(key)).filter((value) => value !== undefined);
  expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(cache.bytes);
  for (const user of new Set(kept.map((each) => each.user)))
    expect(kept.filter((each) => each.user === user).reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(
      300,
    );
  for (const key of keys) cache.delete(key);
  expect([cache.bytes, cache.size]).toEqual([0, 0]);
});
