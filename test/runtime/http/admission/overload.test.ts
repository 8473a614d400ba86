import { describe, expect, test } from "vitest";

import { createOverload, ONE_OF, PATIENCE_MS, STANDING_MS } from "../../../../runtime/http/admission/overload.ts";

/**
 * A first-in, first-out queue of a process that serves `perSecond` requests a second. Nothing is rejected here: the tests
 * read the rule's result.
 */
function startQueue(perSecond: number) {
  const overload = createOverload();
  /** When each one came; those before `head` have been served, or have left. */
  const came: number[] = [];
  let head = 0;
  const said: { atMs: number; isOn: boolean }[] = [];
  let now = 0;
  let credit = 0;
  return {
    arrive(count: number): void {
      for (let index = 0; index < count; index += 1) {
        overload.arrives(now, head === came.length);
        came.push(now);
      }
    },
    /** A hundredth of a second. @param givesUpMs clients leave after that @param onServed for each */
    pass(givesUpMs = Infinity, onServed = (): void => {}): void {
      now += 10;
      for (; head < came.length && now - Number(came[head]) > givesUpMs; head += 1)
        overload.leaves(now - Number(came[head]));
      credit += perSecond / 100;
      for (; credit >= 1; credit -= 1) {
        if (head === came.length) continue;
        head += 1;
        overload.begins();
        onServed();
      }
      if (head < came.length) overload.look(now, { size: came.length - head, oldestMs: () => Number(came[head]) });
      if (said.at(-1)?.isOn !== overload.isOn) said.push({ atMs: now, isOn: overload.isOn });
    },
    get size() {
      return came.length - head;
    },
    get now() {
      return now;
    },
    /** When it was first an overload; undefined: never. */
    get onAtMs() {
      return said.find(({ isOn }) => isOn)?.atMs;
    },
    isOn: () => overload.isOn,
  };
}

function passAll(queue: ReturnType<typeof startQueue>, onServed?: () => void): void {
  while (queue.size > 0) queue.pass(Infinity, onServed);
}

describe("createOverload()", () => {
  test.each([20, 400, 5_000])("a burst is none, however long it takes at %i a second", (perSecond) => {
    const queue = startQueue(perSecond);
    queue.arrive(25 * perSecond);
    passAll(queue);
    expect(queue.onAtMs).toBeUndefined();
    expect(queue.now).toBeGreaterThan(20_000);
  });

  test("clients that need some seconds to send a burst make none", () => {
    const queue = startQueue(400);
    while (queue.now < 4_000) {
      queue.arrive(12);
      queue.pass();
    }
    passAll(queue);
    expect(queue.onAtMs).toBeUndefined();
  });

  test("a second burst on top of the first one makes none", () => {
    const queue = startQueue(400);
    queue.arrive(6_000);
    while (queue.now < 7_000) queue.pass();
    queue.arrive(2_000);
    passAll(queue);
    expect(queue.onAtMs).toBeUndefined();
  });

  test.each([10, 100, 1_000])(
    "calls that wait for their place in a connection make none: as many again come in turn, at %i a second",
    (perSecond) => {
      const queue = startQueue(perSecond);
      let left = 240;
      queue.arrive(250);
      passAll(queue, () => {
        if (left > 0) queue.arrive(1);
        left -= 1;
      });
      expect(queue.onAtMs).toBeUndefined();
    },
  );

  test.each([1.2, 3])("%d times of what can be served is one before clients lose their patience for long", (load) => {
    const queue = startQueue(500);
    let asked = 0;
    while (queue.now < 60_000 && !queue.isOn()) {
      for (; asked < (load * 500 * queue.now) / 1_000; asked += 1) queue.arrive(1);
      queue.pass();
    }
    expect(queue.onAtMs).toBeGreaterThanOrEqual(PATIENCE_MS);
    // By then the oldest has waited for its patience, and two looks more.
    expect(queue.onAtMs).toBeLessThanOrEqual(PATIENCE_MS / (1 - 1 / load) + 2_000);
  });

  test("requests at capacity behind a constant queue are an overload", () => {
    const queue = startQueue(500);
    queue.arrive(3_500);
    while (queue.now < 20_000) {
      queue.arrive(5);
      queue.pass();
    }
    expect(queue.onAtMs).toBeLessThan(10_000);
  });

  test("clients that give up make an overload of a queue that does not shrink, at once", () => {
    const queue = startQueue(500);
    while (queue.now < 10_000) {
      queue.arrive(15);
      queue.pass(1_000);
    }
    expect(queue.onAtMs).toBeLessThanOrEqual(3_000);
    expect(queue.isOn()).toBe(true);
  });

  test("so do few that give up, once a whole queue has had its turn", () => {
    const queue = startQueue(2_000);
    let asked = 0;
    while (queue.now < 60_000 && !queue.isOn()) {
      for (; asked < (1.03 * 2_000 * queue.now) / 1_000; asked += 1) queue.arrive(1);
      queue.pass(1_000);
    }
    // After 33 s the oldest one has waited for a second.
    expect(queue.onAtMs).toBeGreaterThan(33_000);
    expect(queue.onAtMs).toBeLessThan(37_000);
  });

  test("clients that give up make none of a burst, and quick ones or a few none of anything", () => {
    const burst = startQueue(500);
    burst.arrive(5_000);
    while (burst.size > 0) burst.pass(3_000);
    expect(burst.onAtMs).toBeUndefined();
    const overload = createOverload();
    overload.arrives(0, true);
    for (let index = 0; index < 4 * ONE_OF; index += 1) {
      overload.arrives(0, false);
      overload.begins();
      overload.leaves(STANDING_MS - 1);
    }
    for (let index = 0; index < 3; index += 1) overload.leaves(STANDING_MS);
    overload.look(2_000, { size: 1, oldestMs: () => 0 });
    expect(overload.isOn).toBe(false);
  });

  test("it is over once the queue shrinks, or is empty", () => {
    const queue = startQueue(500);
    const flood = (): void => {
      for (let index = 0; index < 400; index += 1) {
        queue.arrive(15);
        queue.pass(1_000);
      }
    };
    flood();
    expect(queue.isOn()).toBe(true);
    queue.pass(0);
    queue.arrive(1);
    expect(queue.isOn()).toBe(false);
    flood();
    expect(queue.isOn()).toBe(true);
    for (let index = 0; index < 250; index += 1) queue.pass();
    expect(queue.isOn()).toBe(false);
  });
});
