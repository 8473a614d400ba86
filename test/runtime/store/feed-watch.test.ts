import { expect, test } from "vitest";

import { createFeedWatch } from "../../../runtime/store/feed-watch.ts";

test("createFeedWatch() polls only feeds with listeners, and calls back when one grew", async () => {
  const asked: (readonly string[])[] = [];
  let sequence = 5;
  const watch = createFeedWatch({
    everyMs: 1,
    async latest(feeds) {
      asked.push(feeds);
      return new Map([["a", sequence]]);
    },
  });
  let calls = 0;
  watch.onAppend("a", () => calls++);
  await expect.poll(() => calls).toBe(1);
  const rounds = asked.length;
  await expect.poll(() => asked.length).toBeGreaterThan(rounds + 3);
  expect(calls).toBe(1);
  sequence = 6;
  await expect.poll(() => calls).toBe(2);
  expect(new Set(asked.flat())).toEqual(new Set(["a"]));
  watch.close();
});

test("createFeedWatch() continues after failed polls", async () => {
  let attempts = 0;
  const watch = createFeedWatch({
    everyMs: 1,
    async latest() {
      if (++attempts < 4) throw new Error("away");
      return new Map([["a", 1]]);
    },
  });
  let calls = 0;
  watch.onAppend("a", () => calls++);
  await expect.poll(() => calls).toBe(1);
  watch.close();
});

test("look() queries at once, and once more for what was appended during a query", async () => {
  const rounds: PromiseWithResolvers<ReadonlyMap<string, number>>[] = [];
  const watch = createFeedWatch({
    latest() {
      const round = Promise.withResolvers<ReadonlyMap<string, number>>();
      rounds.push(round);
      return round.promise;
    },
  });
  watch.look();
  expect(rounds).toHaveLength(0);
  let calls = 0;
  watch.onAppend("a", () => calls++);
  watch.look();
  watch.look();
  watch.look();
  expect(rounds).toHaveLength(1);
  rounds[0]?.resolve(new Map([["a", 1]]));
  await expect.poll(() => rounds.length).toBe(2);
  rounds[1]?.resolve(new Map([["a", 2]]));
  await expect.poll(() => calls).toBe(2);
  expect(rounds).toHaveLength(2);
  watch.close();
});

test("hint() calls the feed's listeners later, each once, and none that unsubscribed meanwhile", async () => {
  const watch = createFeedWatch();
  const calls: string[] = [];
  const listener = (): void => void calls.push("a");
  watch.onAppend("a", listener);
  const second = watch.onAppend("a", listener);
  watch.onAppend("b", () => calls.push("b"));
  watch.hint("a");
  second();
  expect(calls).toEqual([]);
  await Promise.resolve();
  expect(calls).toEqual(["a"]);
  watch.hint();
  await Promise.resolve();
  expect(calls).toEqual(["a", "a", "b"]);
  watch.close();
});
