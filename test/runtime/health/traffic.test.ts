/** What is counted of requests, by one process and by several. */
import { describe, expect, test, vi } from "vitest";

import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import { countedMetrics } from "../../../runtime/health/counted-metrics.ts";
import { addDurations, BUCKETS, boundMs, bucketOf, quantileMs } from "../../../runtime/health/histogram.ts";
import { keepTraffic } from "../../../runtime/health/keep-traffic.ts";
import { ownSteps, readTraffic, type TrafficStep } from "../../../runtime/health/read-traffic.ts";
import { addRollups, BUSIEST, numberOf, type Rollup } from "../../../runtime/health/rollup.ts";
import { TIERS, type Tier } from "../../../runtime/health/tiers.ts";
import { createTraffic } from "../../../runtime/health/traffic.ts";
import { createLog } from "../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { GatewayError } from "../../../runtime/shared/errors.ts";
import { createTestClock } from "../../support/clock.ts";

const [hour, sixHours, twoDays] = TIERS as readonly [Tier, Tier, Tier];
const log = createLog({ level: "silent" });
const route = (key: string) => ({ key, owner: key.split("/")[0] ?? "" });
const db = route("team-a/db");
const wiki = route("team-b/wiki");

describe("durations", () => {
  test.each([0, -1, Number.NaN, 0.05, 0.1])("%s ms is in the first bucket", (ms) => expect(bucketOf(ms)).toBe(0));

  test("each bound belongs to its own bucket, and durations above all of them to the last one", () => {
    for (let bucket = 1; bucket < BUCKETS - 1; bucket++) {
      expect(bucketOf(boundMs(bucket) * 0.999)).toBe(bucket);
      expect(bucketOf(boundMs(bucket) * 1.001)).toBe(bucket + 1);
    }
    expect(bucketOf(3_600_000)).toBe(BUCKETS - 1);
    expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(BUCKETS - 1);
  });

  test("quantiles of the sum of two processes are those of all their responses", () => {
    const fast = Array.from({ length: 900 }, (_, index) => 2 + index / 300);
    const slow = Array.from({ length: 100 }, (_, index) => 100 + index * 9);
    const both = [...fast, ...slow].toSorted((a, b) => a - b);
    const sum = addDurations(durationsOf(fast), durationsOf(slow));
    for (const share of [0.1, 0.5, 0.89, 0.95, 0.99]) {
      const exact = both[Math.ceil(share * both.length) - 1] as number;
      const found = quantileMs(sum, share) as number;
      // Bounds are a third apart.
      expect(Math.abs(Math.log(found / exact)), `share ${share}: ${found} for ${exact}`).toBeLessThan(Math.log(1.34));
    }
    expect(quantileMs([], 0.5)).toBeUndefined();
  });
});

describe("traffic", () => {
  test("is counted in total, for owners with viewers, and for each route", () => {
    const traffic = createTraffic((owner) => owner === "team-a");
    traffic.count(db, "allowed");
    traffic.count(wiki, "denied");
    traffic.count(wiki, "waiting");
    traffic.answered(db, 200, 12);
    traffic.answered(db, 502, 3);
    traffic.answered(wiki, 0, undefined);
    traffic.failed(db, "refused", "http://db:1");
    traffic.failed(db, "refused", "http://db:1");
    const { scopes, failures } = traffic.take();
    const shown = (scope: string) => {
      const of = scopes[scope] ?? { counts: [], durations: [] };
      return [
        numberOf(of, "allowed"),
        numberOf(of, "denied"),
        numberOf(of, "2xx"),
        numberOf(of, "5xx"),
        numberOf(of, "cut"),
      ];
    };
    expect(Object.keys(scopes).toSorted()).toEqual(["all", "owner:team-a", "route:team-a/db", "route:team-b/wiki"]);
    expect(shown("all")).toEqual([1, 1, 1, 1, 1]);
    expect(shown("owner:team-a")).toEqual([1, 0, 1, 1, 0]);
    expect(shown("route:team-b/wiki")).toEqual([0, 1, 0, 0, 1]);
    expect(scopes["all"]?.durations).toEqual([bucketOf(3), 1, bucketOf(12), 1]);
    expect(failures).toEqual([{ route: "team-a/db", upstream: "http://db:1", failure: "refused", count: 2 }]);
    expect(traffic.take()).toEqual({ scopes: { all: { counts: [], durations: [] } }, failures: [] });
  });

  test("a caller who was asked to sign in was not denied, unlike one with a bad credential or under a deny rule", () => {
    const traffic = createTraffic();
    const metrics = countedMetrics({ answered() {}, upstreamFailed() {}, decided() {} }, traffic);
    const reasons = { allowWhyTrue: [], denyWhyTrue: [], denyWhyFalse: [] };
    const decided = (denied: boolean, allowWhyFalse: readonly string[]): void =>
      metrics.decided({ ...reasons, allowed: false, denied, allowWhyFalse }, db as CompiledRoute, false);
    decided(false, ["user-unauthenticated"]);
    decided(false, ["credential-missing"]);
    decided(false, ["credential-invalid"]);
    decided(true, ["user-unauthenticated"]);
    const { scopes } = traffic.take();
    const all = scopes["all"] ?? { counts: [], durations: [] };
    expect([numberOf(all, "sign-in"), numberOf(all, "denied")]).toEqual([2, 2]);
  });

  test("names the busiest of ten thousand routes, and counts all of them", () => {
    const traffic = createTraffic();
    const busy = Array.from({ length: BUSIEST }, (_, index) => route(`busy/${index}`));
    for (let index = 0; index < 10_000; index++) {
      traffic.count(route(`quiet/${index}`), "allowed");
      traffic.count(busy[index % BUSIEST] as (typeof busy)[number], "denied");
    }
    const { all, ...routes } = traffic.take().scopes;
    expect(Object.keys(routes).toSorted()).toEqual(busy.map(({ key }) => `route:${key}`).toSorted());
    expect(all && [numberOf(all, "allowed"), numberOf(all, "denied")]).toEqual([10_000, 10_000]);
  });

  test("bounds the kinds of failures it keeps apart", () => {
    const traffic = createTraffic();
    for (let index = 0; index < 1000; index++) traffic.failed(db, "refused", `http://db:${index}`);
    const { scopes, failures } = traffic.take();
    expect(failures.length).toBeLessThanOrEqual(64);
    expect(scopes["all"] && numberOf(scopes["all"], "failed")).toBe(1000);
  });
});

describe("rollups", () => {
  test("of several processes have the sums, and the delay of each one's event loop", () => {
    const one: Rollup = rollup({ all: { counts: [3, 1], durations: [4, 4] } }, { a: 2 });
    const other: Rollup = rollup(
      { all: { counts: [2], durations: [4, 1, 9, 1] }, "route:x": { counts: [2], durations: [] } },
      { b: 5 },
    );
    expect(addRollups(60, [one, other])).toEqual({
      start: 60,
      until: 120,
      scopes: { all: { counts: [5, 1], durations: [4, 5, 9, 1] }, "route:x": { counts: [2], durations: [] } },
      failures: [],
      loopMs: { a: 2, b: 5 },
    });
  });

  test("of many processes with routes of their own stay bounded", () => {
    const all = Array.from({ length: 40 }, (_, at) =>
      rollup(
        Object.fromEntries(
          Array.from({ length: BUSIEST }, (__, index) => [`route:${at}/${index}`, { counts: [at], durations: [] }]),
        ),
        { [`p${at}`]: at },
      ),
    );
    const sum = addRollups(60, all);
    expect(Object.keys(sum.scopes)).toHaveLength(48);
    expect(sum.scopes["route:39/0"]).toBeDefined();
    expect(sum.scopes["route:0/0"]).toBeUndefined();
  });
});

describe("traffic kept in the store", () => {
  test("of two processes is merged, and a minute that one missed has only the other's counts", async () => {
    const { clock, store, start } = world();
    const [a, b] = [start("a"), start("b")];
    const reader = readTraffic({ store, clock });
    a.traffic.count(db, "allowed");
    b.traffic.count(db, "allowed");
    b.traffic.count(wiki, "denied");
    clock.advance(60_000);
    await Promise.all([a.kept.tick(), b.kept.tick()]);
    a.traffic.count(db, "allowed");
    clock.advance(60_000);
    await a.kept.tick();
    const steps = await reader.read(hour);
    expect(steps).toHaveLength(60);
    expect(countsOf(steps).slice(-4)).toEqual([undefined, [2, 1], [1, 0], undefined]);
    expect(steps.at(-3)?.rollup?.loopMs).toEqual({ a: 7, b: 7 });
    expect(steps.at(-2)?.rollup?.loopMs).toEqual({ a: 7 });
    // The same in longer steps, the last of which is under way.
    expect(countsOf(await reader.read(sixHours)).at(-1)).toEqual([3, 1]);
    expect(countsOf(await reader.read(twoDays)).at(-1)).toEqual([3, 1]);
    await Promise.all([a.kept.close(), b.kept.close()]);
  });

  test("counts that the store did not accept are written when it responds again, and own counts are available meanwhile", async () => {
    const { clock, store, start } = world();
    let isAway = true;
    const put: typeof store.put = async (...of) => {
      if (isAway) throw new GatewayError("store.unavailable", "away");
      return store.put(...of);
    };
    const { traffic, kept } = start("a", { put });
    traffic.count(db, "allowed");
    clock.advance(60_000);
    await kept.tick();
    traffic.count(db, "allowed");
    clock.advance(60_000);
    await kept.tick();
    expect(countsOf(await readTraffic({ store, clock }).read(hour)).filter(Boolean)).toEqual([]);
    expect(countsOf(ownSteps(hour, kept.own(hour), clock.now() / 1000)).filter(Boolean)).toEqual([
      [1, 0],
      [1, 0],
    ]);
    isAway = false;
    clock.advance(60_000);
    await kept.tick();
    expect(countsOf(await readTraffic({ store, clock }).read(hour)).filter(Boolean)).toEqual([
      [1, 0],
      [1, 0],
      [0, 0],
    ]);
    await kept.close();
  });

  test("a process that ends stores its counts since the last minute", async () => {
    const { clock, store, start } = world();
    const { traffic, kept } = start("a");
    clock.advance(10_000);
    traffic.count(db, "allowed");
    await kept.close();
    expect(countsOf(await readTraffic({ store, clock }).read(hour)).filter(Boolean)).toEqual([[1, 0]]);
  });

  test("the first part is stored after ten seconds, and the minute continues in the same step", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { clock, store, start } = world();
    const { traffic, kept } = start("a");
    const counts = async () => countsOf(await readTraffic({ store, clock }).read(hour)).filter(Boolean);
    const pass = async (ms: number) => {
      clock.advance(ms);
      await vi.advanceTimersByTimeAsync(ms);
    };
    try {
      traffic.count(db, "allowed");
      await pass(9_000);
      expect(await counts()).toEqual([]);
      await pass(1_000);
      expect(await counts()).toEqual([[1, 0]]);
      traffic.count(db, "denied");
      await pass(30_000);
      expect(await counts()).toEqual([[1, 0]]);
      await pass(20_050);
      expect(await counts()).toEqual([[1, 1]]);
    } finally {
      vi.useRealTimers();
      await kept.close();
    }
  });

  test("is read again only where it may still change", async () => {
    const { clock, store, start } = world();
    const { kept } = start("a");
    let lists = 0;
    const reader = readTraffic({ store: { list: (tag) => (lists++, store.list(tag)) }, clock });
    for (let minute = 0; minute < 70; minute++) {
      clock.advance(60_000);
      await kept.tick();
    }
    await Promise.all([reader.read(hour), reader.read(hour), reader.read(hour)]);
    const blocks = lists;
    expect(blocks).toBeLessThanOrEqual(5);
    clock.advance(10_000);
    await reader.read(hour);
    expect(lists - blocks).toBeLessThanOrEqual(2);
    await kept.close();
  });

  test("expires: after two days without requests nothing is left", async () => {
    const { clock, store, start } = world();
    const { kept } = start("a");
    clock.advance(60_000);
    await kept.tick();
    await kept.close();
    clock.advance(56 * 3_600_000);
    expect(await store.sweep()).toBe(4);
  });
});

function world() {
  const clock = createTestClock(1_800_000_000_000);
  const store = createMemoryStore({ clock });
  const start = (id: string, into: Pick<typeof store, "put"> = store) => {
    const traffic = createTraffic();
    return { traffic, kept: keepTraffic({ traffic, id, store: into, takeLoopMs: () => 7, clock, log }) };
  };
  return { clock, store, start };
}

function countsOf(steps: readonly TrafficStep[]) {
  return steps.map(
    ({ rollup: each }) =>
      each?.scopes["all"] && [numberOf(each.scopes["all"], "allowed"), numberOf(each.scopes["all"], "denied")],
  );
}

function rollup(scopes: Rollup["scopes"], loopMs: Rollup["loopMs"]): Rollup {
  return { start: 60, until: 120, scopes, failures: [], loopMs };
}

function durationsOf(all: readonly number[]): readonly number[] {
  return [...Map.groupBy(all, bucketOf)]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([bucket, { length }]) => [bucket, length]);
}
