/** `rate_limits` over several processes: what passes, what it costs, and what becomes of what somebody held. */
import * as fc from "fast-check";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { advanceOf, MAX_KEYS, MAX_TENDED } from "../../../runtime/limits/gate.ts";
import { limitHeaders } from "../../../runtime/limits/limit-headers.ts";
import type { Admission, LimitFacts, RateLimits } from "../../../runtime/limits/rate-limits.ts";
import { onFault } from "../../../runtime/shared/faults/faults.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";
import { alice, bob, type LimitDoc, limitWorld, type LimitWorld, settle } from "./limit-world.ts";

const open: LimitWorld[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

function world(limits: readonly LimitDoc[], options: Parameters<typeof limitWorld>[1] = {}): LimitWorld {
  const made = limitWorld(limits, options);
  open.push(made);
  return made;
}

const minute = (requests: number, more: Partial<LimitDoc> = {}): LimitDoc => ({
  name: "minute",
  per: ["user"],
  requests,
  window: "1m",
  ...more,
});
const atOnce = (concurrency: number): LimitDoc => ({ name: "at-once", per: ["user"], concurrency });

/** Requests at the same instant, one after the other through all processes. */
async function ask({ processes, route }: LimitWorld, times: number, facts = alice): Promise<readonly Admission[]> {
  const asked = Array.from({ length: times }, (_, index) =>
    (processes[index % processes.length] as RateLimits).take(route, facts),
  );
  return Promise.all(asked.map(async (each) => each));
}

async function passed(limited: LimitWorld, times: number, facts: LimitFacts = alice): Promise<number> {
  return (await ask(limited, times, facts)).filter(({ ok }) => ok).length;
}

/** Counts what the store is asked, and holds its answers back. */
function heldStore(inner: Store): { readonly store: Store; asked: number; hold(): () => void } {
  let gate: Promise<void> | undefined;
  const handle = {
    asked: 0,
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
    store: {
      ...inner,
      async allot(...of: Parameters<Store["allot"]>) {
        handle.asked += 1;
        await gate;
        return inner.allot(...of);
      },
    },
  };
  return handle;
}

describe("requests in a window", () => {
  test.each([1, 2, 10, 19])("a limit of %i is exact, whichever of four processes gets the request", async (most) => {
    const limited = world([minute(most)], { processes: 4 });
    expect(await passed(limited, 60)).toBe(most);
    expect(await passed(limited, 4, bob)).toBe(Math.min(4, most));
    limited.clock.advance(59_000);
    expect(await passed(limited, 8)).toBe(0);
    limited.clock.advance(1_100);
    expect(await passed(limited, 60)).toBe(most);
  });

  test("the span of an exact limit slides: at the border of two minutes there are not twice as many", async () => {
    const limited = world([minute(10)]);
    limited.clock.advance(50_000);
    expect(await passed(limited, 6)).toBe(6);
    limited.clock.advance(15_000);
    expect(await passed(limited, 10)).toBe(4);
    const [refused] = await ask(limited, 1);
    // The six of 15 s ago are over in 45.
    expect(refused).toMatchObject({ ok: false, limit: { name: "minute" } });
    expect(refused?.ok === false && refused.retryAfterMs).toBeGreaterThan(44_000);
    expect(refused?.ok === false && refused.retryAfterMs).toBeLessThanOrEqual(45_001);
  });

  test("never more than the limit and one in a hundred for each process, in any span of the window", async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ by: fc.integer({ min: 1, max: 15 }), times: fc.integer({ min: 1, max: 60 }) }),
      },
      { weight: 3, arbitrary: fc.record({ advance: fc.integer({ min: 1, max: 4_000 }) }) },
      { weight: 1, arbitrary: fc.record({ back: fc.integer({ min: 1, max: 90_000 }) }) },
      { weight: 1, arbitrary: fc.constant({ tend: true as const }) },
    );
    const run = async (
      most: number,
      many: number,
      steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
    ) => {
      const limited = limitWorld([minute(most, { window: "10s" })], { processes: many });
      let trueMs = 0;
      const passes: number[] = [];
      for (const each of steps) {
        if ("advance" in each) {
          trueMs += each.advance;
          limited.clock.advance(each.advance);
        } else if ("back" in each) limited.clock.advance(-each.back);
        else if ("tend" in each) for (const process of limited.processes) process.tend();
        else {
          const asking = limited.processes.filter((_, index) => (each.by >> index) % 2 === 1);
          const asked = Array.from({ length: each.times }, () => asking.map((one) => one.take(limited.route, alice)));
          for (const { ok } of await Promise.all(asked.flat().map(async (admission) => admission)))
            if (ok) passes.push(trueMs);
        }
        await settle();
      }
      await limited.close();
      const bound = most + many * advanceOf(most);
      for (const [index, at] of passes.entries()) {
        // The span that begins with this one.
        const within = passes.slice(index).filter((other) => other < at + 10_000).length;
        if (within > bound) return false;
      }
      return true;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 7, 19, 20, 60, 250),
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        run,
      ),
      { numRuns: 150 },
    );
  });

  test("each process lets one in a hundred pass ahead of the store's word, and no more", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([minute(1_000)], { processes: 4, store: held.store, clock });
    // All of it is used up by processes that are gone.
    const before = limitWorld([minute(1_000)], { store: held.store, clock });
    expect(await passed(before, 2_000)).toBe(1_000);
    const goOn = held.hold();
    const asked = Array.from({ length: 4 * 30 }, (_, index) =>
      (limited.processes[index % 4] as RateLimits).take(limited.route, alice),
    );
    const atOnceGiven = asked.filter((each) => !(each instanceof Promise));
    expect(atOnceGiven).toHaveLength(4 * advanceOf(1_000));
    expect(advanceOf(1_000)).toBe(10);
    goOn();
    const settled = await Promise.all(asked.map(async (each) => each));
    expect(settled.filter(({ ok }) => ok)).toHaveLength(40);
    // Who knows that it is used up lets none pass ahead.
    clock.advance(1_500);
    expect(await passed(limited, 400)).toBe(0);
    await before.close();
  });

  test("a usual limit makes no request wait for the store, and queries it from time to time", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([minute(6_000)], { processes: 2, store: held.store, clock });
    for (let round = 0; round < 600; round += 1) {
      for (const process of limited.processes) {
        for (let times = 0; times < 4; times += 1) {
          const admission = process.take(limited.route, alice);
          expect(admission instanceof Promise ? "waits" : admission.ok).toBe(true);
        }
      }
      await settle();
      clock.advance(100);
    }
    expect(held.asked).toBeLessThan(200);
  });

  test("an unused allotment is returned, so that other processes have it", async () => {
    const limited = world([minute(200)], { processes: 2 });
    const [idle, busy] = limited.processes as [RateLimits, RateLimits];
    for (let times = 0; times < 20; times += 1) expect((await idle.take(limited.route, alice)).ok).toBe(true);
    await settle();
    limited.clock.advance(10_000);
    for (let ticks = 0; ticks < 3; ticks += 1) {
      idle.tend();
      await settle();
      limited.clock.advance(2_000);
    }
    let given = 0;
    for (let times = 0; times < 300; times += 1) if ((await busy.take(limited.route, alice)).ok) given += 1;
    expect(given).toBeGreaterThanOrEqual(180);
    expect(given).toBeLessThanOrEqual(180 + advanceOf(200));
  });

  test("a clock that is set back makes no allotment last longer, and forgets nothing", async () => {
    const limited = world([minute(10), minute(400, { name: "more" })]);
    expect(await passed(limited, 10)).toBe(10);
    limited.clock.advance(-3_600_000);
    expect(await passed(limited, 10)).toBe(0);
    // As of now: not for the hour that the clock was wrong by.
    limited.clock.advance(60_100);
    expect(await passed(limited, 20)).toBe(10);
  });
});

describe("requests at a time", () => {
  const release = (admission: Admission | undefined): void => {
    if (admission?.ok) admission.release?.();
  };

  test.each([3, 60])(
    "a limit of %i is exact over two processes, and a slot is free again when its request ends",
    async (most) => {
      const limited = world([atOnce(most)], { processes: 2 });
      const first = await ask(limited, most * 2);
      const under = first.filter(({ ok }) => ok);
      expect(under).toHaveLength(most);
      expect(await passed(limited, 1, bob)).toBe(1);
      for (const each of under) release(each);
      // Twice is once.
      for (const each of under) release(each);
      await settle();
      limited.clock.advance(200);
      expect(await passed(limited, most * 2)).toBe(most);
    },
  );

  test("the slots of a killed process are free after half a minute, those of a live one are not", async () => {
    const limited = world([atOnce(4)], { processes: 2 });
    const [lives, killed] = limited.processes as [RateLimits, RateLimits];
    for (let times = 0; times < 2; times += 1)
      for (const process of [lives, killed]) expect((await process.take(limited.route, alice)).ok).toBe(true);
    for (let seconds = 0; seconds < 29; seconds += 1) {
      limited.clock.advance(1_000);
      lives.tend();
      await settle();
    }
    expect((await lives.take(limited.route, alice)).ok).toBe(false);
    limited.clock.advance(2_000);
    lives.tend();
    await settle();
    const then = await Promise.all(Array.from({ length: 4 }, async () => lives.take(limited.route, alice)));
    expect(then.map(({ ok }) => ok)).toEqual([true, true, false, false]);
  });

  test("slots of very many are renewed in turn, a bounded number in each second", async () => {
    // Otherwise the timer of the limits renews slots in addition to the calls here, if the test takes more than a second.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([atOnce(2)], { store: held.store, clock });
    const [one] = limited.processes as [RateLimits];
    const many = Array.from({ length: 3 * MAX_TENDED }, (_, index) => ({ ...alice, user: `user-${index}` }));
    for (const facts of many) expect((await one.take(limited.route, facts)).ok).toBe(true);
    clock.advance(10_000);
    for (let seconds = 0; seconds < 25; seconds += 1) {
      held.asked = 0;
      one.tend();
      await settle();
      expect(held.asked).toBeLessThanOrEqual(MAX_TENDED);
      clock.advance(1_000);
    }
    // 35 s after they were taken all of them are still held: another process gets one of two.
    const other = world([atOnce(2)], { store: held.store, clock });
    for (const facts of many) expect(await passed(other, 2, facts)).toBe(1);
  });

  test("a slot that is returned during a store query is not used twice", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([atOnce(2)], { processes: 2, store: held.store, clock });
    const [one, other] = limited.processes as [RateLimits, RateLimits];
    const first = await one.take(limited.route, alice);
    await one.take(limited.route, alice);
    const goOn = held.hold();
    release(first);
    const again = one.take(limited.route, alice);
    const elsewhere = other.take(limited.route, alice);
    goOn();
    const results = await Promise.all([again, elsewhere]);
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  });
});

describe("what is counted", () => {
  const called = (tool: string | undefined, user = "alice"): LimitFacts => ({ user, client: "editor", tool });

  test("calls of the tools that a limit names, separately if configured; other names leave nothing behind", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limits: LimitDoc[] = [{ name: "tools", per: ["tool"], requests: 2, tools: ["search", "write"] }];
    const limited = world(limits, { store: held.store, clock });
    expect(await passed(limited, 5, called("search"))).toBe(2);
    expect(await passed(limited, 5, called("write"))).toBe(2);
    expect(await passed(limited, 5, called(undefined))).toBe(5);
    held.asked = 0;
    for (let index = 0; index < 100; index += 1) expect(await passed(limited, 1, called(`x${index}`))).toBe(1);
    expect(held.asked).toBe(0);
  });

  test("users, clients and both together, and callers without either as one", async () => {
    const limited = world([
      { name: "pairs", per: ["user", "client"], requests: 2, window: "1m" },
      { name: "clients", per: ["client"], requests: 5, window: "1m" },
    ]);
    expect(await passed(limited, 3, called(undefined, "alice"))).toBe(2);
    expect(await passed(limited, 3, called(undefined, "bob"))).toBe(2);
    // The client has one left, whoever uses it.
    expect(await passed(limited, 3, called(undefined, "carol"))).toBe(1);
    expect(await passed(limited, 3, { user: undefined, client: undefined, tool: undefined })).toBe(2);
  });

  test("a request that one limit refuses counts for none", async () => {
    const limited = world([
      minute(5),
      minute(300, { name: "many" }),
      atOnce(3),
      { name: "all", requests: 1, window: "1m" },
    ]);
    expect(await passed(limited, 12)).toBe(1);
    await settle();
    limited.clock.advance(1_100);
    limited.change([minute(5), minute(300, { name: "many" }), atOnce(3)]);
    // Of five one is used, and of three slots one: two more are under way at a time.
    expect(await passed(limited, 12)).toBe(2);
  });

  test("a denied request counts for none, also after requests allowed ahead of the store or denied before the query", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([minute(100), { name: "one", requests: 1, window: "1m" }], { store: held.store, clock });
    expect(await passed(limited, 1)).toBe(1);
    // Two limits: the store is asked for the one that is small, and both are given back.
    expect(await passed(limited, 30)).toBe(0);
    await settle();
    held.asked = 0;
    expect(await passed(limited, 100)).toBe(0);
    expect(held.asked).toBe(0);
    limited.change([minute(100)]);
    limited.clock.advance(1_100);
    expect(await passed(limited, 200)).toBe(99);
  });

  test("the number of remembered callers is bounded, and a removed one gets nothing ahead", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([minute(100)], { store: held.store, clock });
    const [one] = limited.processes as [RateLimits];
    for (let index = 0; index < MAX_KEYS; index += 1) void one.take(limited.route, { ...alice, user: `user-${index}` });
    await settle();
    expect(await one.take(limited.route, alice)).toMatchObject({ ok: true });
    clock.advance(12_000);
    one.tend();
    await settle();
    const next = one.take(limited.route, bob);
    expect(next).toBeInstanceOf(Promise);
    expect((await next).ok).toBe(true);
    // After the window all are forgotten.
    clock.advance(90_000);
    one.tend();
    await settle();
    expect(one.take(limited.route, { ...alice, user: "user-0" })).toMatchObject({ ok: true });
  });

  test("nor when there is room again, within the window", async () => {
    const limited = world([minute(100)]);
    const [one] = limited.processes as [RateLimits];
    const { route, clock } = limited;
    await one.take(route, alice);
    for (let index = 1; index < MAX_KEYS; index += 1) void one.take(route, { ...alice, user: `user-${index}` });
    await settle();
    clock.advance(71_000);
    one.tend();
    await settle();
    expect(await passed(limited, 200)).toBe(100);
    await settle();
    // Alice, who was there first, is forgotten for Bob, and a little later all who were quiet.
    await one.take(route, bob);
    await settle();
    clock.advance(2_000);
    one.tend();
    await settle();
    expect(await passed(limited, 1)).toBe(0);
  });

  test("a process that ends returns its allotment", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const ends = limitWorld([minute(200), atOnce(100)], { store, clock });
    const [one] = ends.processes as [RateLimits];
    for (let times = 0; times < 30; times += 1) await one.take(ends.route, alice);
    await ends.close();
    const goesOn = world([minute(200)], { store, clock });
    expect(await passed(goesOn, 400)).toBe(170);
  });

  test("a configuration change neither restarts a count nor counts requests in flight twice", async () => {
    const limited = world([minute(10), atOnce(8)], { processes: 2 });
    const first = await ask(limited, 6);
    limited.change([minute(15), atOnce(7)]);
    expect(await passed(limited, 20)).toBe(1);
    for (const each of first) if (each.ok) each.release?.();
    await settle();
    limited.clock.advance(1_100);
    expect(await passed(limited, 20)).toBe(6);
    limited.clock.advance(1_100);
    expect((await ask(limited, 1))[0]).toMatchObject({ ok: false });
  });
});

test("results of requests are one count per limit, whatever its changes", async () => {
  const limited = world([minute(2)]);
  const [one] = limited.processes as [RateLimits];
  expect(await passed(limited, 5)).toBe(2);
  limited.change([minute(3)]);
  expect(await passed(limited, 2)).toBe(1);
  // Two of a name would be two samples of one series, which no scraper takes.
  expect([...one.counts()]).toMatchObject([{ limit: "minute", limited: 4 }]);
  limited.change([]);
  limited.clock.advance(90_000);
  one.tend();
  await settle();
  expect([...one.counts()]).toEqual([]);
});

test("a request under an earlier configuration holds its slot like any other", async () => {
  const limited = world([atOnce(1)], { processes: 2 });
  const [one, other] = limited.processes as [RateLimits, RateLimits];
  const { route, clock } = limited;
  const first = await one.take(route, alice);
  if (first.ok) first.release?.();
  await settle();
  limited.change([]);
  clock.advance(1_100);
  one.tend();
  expect(await one.take(route, alice)).toMatchObject({ ok: true });
  for (let seconds = 0; seconds < 45; seconds += 5) {
    clock.advance(5_000);
    one.tend();
    await settle();
  }
  expect(await other.take(route, alice)).toMatchObject({ ok: false });
});

describe("while the store is unavailable", () => {
  test("each process counts its own share, or denies all; afterwards they count together again", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const limits = [minute(10), minute(100, { name: "strict", without_store: "refuse" })];
    const limited = world([limits[0] as LimitDoc], { processes: 2, store: breakable.store, clock });
    const strict = world([limits[1] as LimitDoc], { processes: 2, store: breakable.store, clock });
    await settle();
    breakable.broken = true;
    expect(await passed(limited, 40)).toBe(10);
    expect((await ask(limited, 1))[0]).toMatchObject({ ok: false, retryAfterMs: expect.any(Number) as number });
    // What had passed ahead of the store's word is all that ever does.
    expect(await passed(strict, 40)).toBe(2 * advanceOf(100));
    const [refused] = await ask(strict, 1);
    expect(refused).toMatchObject({ ok: false, retryAfterMs: undefined });
    expect([...limited.processes].flatMap((each) => [...each.counts()].map(({ alone }) => alone))).toEqual([5, 5]);
    breakable.calls.length = 0;
    await passed(limited, 10);
    expect(breakable.calls).toEqual([]);

    breakable.broken = false;
    clock.advance(5_001);
    expect(await passed(strict, 40)).toBe(40);
  });

  test("requests that a process allowed before are part of its share, and are reported to the store afterwards", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const limited = world([minute(5)], { processes: 2, store: breakable.store, clock });
    await settle();
    expect(await passed(limited, 3)).toBe(3);
    breakable.broken = true;
    // Two for each process: the first has used its share, the second has one left.
    expect(await passed(limited, 8)).toBe(1);
    breakable.broken = false;
    clock.advance(5_001);
    expect(await passed(limited, 8)).toBe(1);
    clock.advance(61_000);
    expect(await passed(limited, 8)).toBe(5);
  });

  test("a limit that was used up stays so until its time", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const limited = world([minute(5)], { processes: 2, store: breakable.store, clock });
    await settle();
    expect(await passed(limited, 1)).toBe(1);
    expect(await passed(limited, 8)).toBe(4);
    breakable.broken = true;
    clock.advance(2_000);
    expect(await passed(limited, 8)).toBe(0);
    clock.advance(61_000);
    expect(await passed(limited, 8)).toBe(4);
  });

  test("a late allotment is returned", async () => {
    const clock = createTestClock();
    const held = heldStore(createMemoryStore({ clock }));
    const limited = world([minute(4)], { processes: 2, store: held.store, clock, longestWaitMs: 20 });
    await settle();
    const release = held.hold();
    expect(await passed(limited, 8)).toBe(4);
    release();
    await settle();
    clock.advance(5_001);
    for (const process of limited.processes) process.tend();
    await settle();
    expect(await passed(limited, 8)).toBe(0);
    clock.advance(61_000);
    expect(await passed(limited, 8)).toBe(4);
  });

  test("slots are shared out the same way, and a limit that is smaller than the processes are many is closed", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const limited = world([atOnce(4)], { processes: 2, store: breakable.store, clock });
    const tiny = world([atOnce(1)], { processes: 2, store: breakable.store, clock });
    await settle();
    breakable.broken = true;
    expect(await passed(limited, 9)).toBe(4);
    expect((await ask(tiny, 1))[0]).toMatchObject({ ok: false, retryAfterMs: undefined });
  });
});

test("limitHeaders() are those of the draft, for all limits that applied to the request", async () => {
  const limited = world([minute(1), { name: "at-once", concurrency: 5 }, { name: "tools", requests: 9, tools: ["x"] }]);
  const [, refused] = await ask(limited, 2);
  expect(refused && "limits" in refused && limitHeaders(refused)).toEqual([
    "ratelimit-policy",
    '"minute";q=1;w=60, "at-once";q=5;qu="concurrency"',
    "ratelimit",
    '"minute";r=0;t=60',
    "retry-after",
    "60",
  ]);
});

test.each([
  ["of requests", minute(10)],
  ["of requests at a time", atOnce(10)],
])("a programming error in a query about a limit %s ends only that query", async (_, limit) => {
  const told: unknown[] = [];
  const stop = onFault(({ error }) => void told.push(error));
  const inner = createMemoryStore({ clock: createTestClock() });
  const mistake = new Error("a mistake");
  let isBroken = true;
  const store: Store = {
    ...inner,
    allot: (...asked) => {
      if (isBroken) throw mistake;
      return inner.allot(...asked);
    },
  };
  const limited = world([limit], { store });
  expect(await ask(limited, 2)).toMatchObject([
    { ok: false, retryAfterMs: undefined },
    { ok: false, retryAfterMs: undefined },
  ]);
  stop();
  expect(told).toEqual([mistake]);
  isBroken = false;
  expect(await passed(limited, 1)).toBe(1);
});
