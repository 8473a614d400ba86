import { describe, expect, test } from "vitest";

import type { Balancing } from "../../../../runtime/features/balancing/compiled.ts";
import type { Upstream } from "../../../../runtime/features/connection/compiled.ts";
import { createBalancer, type Balancer } from "../../../../runtime/features/balancing/apply-balance.ts";
import { statesOf, statusOf } from "../../../../runtime/features/balancing/apply-state.ts";
import { createTestClock, type TestClock } from "../../../support/clock.ts";

const upstream = (host: string, weight = 1): Upstream => ({ origin: `http://${host}`, host, basePath: "", weight });
const HOURS = 3 * 3600_000;
const SETTINGS = {
  consecutive5xx: 3,
  consecutiveGatewayFailure: 2,
  baseEjectionMs: 1_000,
  maxEjectionMs: 2_500,
  maxEjectionPercent: 100,
};
const caller = (id: string) => ({ principal: { user: { id } }, exchange: { remoteAddress: "192.0.2.1" } });
const anybody = caller("somebody");

const routeOf = (to: readonly Upstream[], balancing?: Partial<Balancing>) => ({
  key: "test/route",
  to,
  balancing: balancing && {
    policy: "round_robin" as const,
    healthChecks: [],
    outliers: undefined,
    panicPercent: undefined,
    ...balancing,
  },
});

describe("createBalancer()", () => {
  const [a, b, c] = [upstream("a", 5), upstream("b"), upstream("c")];
  const hostsOf = (balancer: Balancer, clock: TestClock, times = 6): string =>
    [...new Set(Array.from({ length: times }, () => balancer.pick(clock, anybody)?.host ?? "none"))].sort().join("");

  test("spreads by weight and evenly in time", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([a, b, c]));
    expect(Array.from({ length: 7 }, () => balancer.pick(clock, anybody)?.host).join("")).toBe("aabacaa");
  });

  test("skips one that failed, longer each time, until it was reached", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([a, b]));
    balancer.failed(a, clock.now());
    expect(hostsOf(balancer, clock)).toBe("b");
    clock.advance(1_000);
    expect(hostsOf(balancer, clock)).toBe("ab");
    balancer.failed(a, clock.now());
    clock.advance(1_000);
    expect(hostsOf(balancer, clock)).toBe("b");
    clock.advance(1_000);
    balancer.reached(a);
    balancer.failed(a, clock.now());
    clock.advance(1_000);
    expect(hostsOf(balancer, clock)).toBe("ab");
  });

  test("skips one that failed no longer than that if the clock is set back", () => {
    const clock = createTestClock();
    const route = routeOf([a, b], { outliers: SETTINGS });
    const balancer = createBalancer(route);
    balancer.failed(a, clock.now());
    clock.advance(-HOURS);
    expect(hostsOf(balancer, clock)).toBe("ab");
    expect(balancer.tracker?.failed(b, "unreachable", clock.now())).toBe(false);
    expect(balancer.tracker?.failed(b, "unreachable", clock.now())).toBe(true);
    expect(hostsOf(balancer, clock)).toBe("a");
    clock.advance(-HOURS);
    expect(hostsOf(balancer, clock)).toBe("ab");
    expect(statesOf(route).map((state) => statusOf(state, clock.now()).left_out_until)).toEqual([null, null]);
  });

  test("uses all of them if all fail", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([a, b]));
    balancer.failed(a, clock.now());
    balancer.failed(b, clock.now());
    expect(hostsOf(balancer, clock)).toBe("ab");
  });

  test("avoids the one that just failed while there is another", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([a, b]));
    for (let count = 0; count < 6; count += 1) expect(balancer.pick(clock, anybody, a)?.host).toBe("b");
    expect(createBalancer(routeOf([a])).pick(clock, anybody, a)).toBe(a);
  });

  test("needs nothing of requests if nothing is configured", () => {
    expect(createBalancer(routeOf([a])).tracker).toBeUndefined();
    expect(createBalancer(routeOf([a, b, c])).tracker).toBeUndefined();
    expect(createBalancer(routeOf([a, b], { policy: "ring_hash" })).tracker).toBeUndefined();
  });

  test("random spreads by weight", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([a, b], { policy: "random" }));
    const picked = Array.from({ length: 600 }, () => balancer.pick(clock, anybody)?.host);
    const share = picked.filter((host) => host === "a").length;
    // Five of six: 500 on average, 9 is the standard deviation.
    expect(share).toBeGreaterThan(440);
    expect(share).toBeLessThan(560);
  });

  test("least_request selects the one with the fewest requests in flight, by weight", () => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([upstream("x", 2), upstream("y")], { policy: "least_request" }));
    const begun: Upstream[] = [];
    for (let count = 0; count < 9; count += 1) {
      const picked = balancer.pick(clock, anybody) as Upstream;
      balancer.tracker?.begun(picked);
      begun.push(picked);
    }
    expect(begun.filter(({ host }) => host === "x")).toHaveLength(6);
    for (const each of begun) if (each.host === "y") balancer.tracker?.ended(each);
    expect(hostsOf(balancer, clock)).toBe("y");
  });

  test.each(["ring_hash", "maglev"] as const)(
    "%s gives a user the same upstream, and another only while that one is unavailable",
    (policy) => {
      const clock = createTestClock();
      const hosts = ["k", "l", "m", "n"].map((host) => upstream(host));
      const route = routeOf(hosts, { policy });
      const balancer = createBalancer(route);
      const users = Array.from({ length: 400 }, (_, index) => `user-${index}`);
      const placeOf = (user: string): string | undefined => balancer.pick(clock, caller(user))?.host;
      const before = new Map(users.map((user) => [user, placeOf(user)]));
      for (const host of hosts) {
        expect([...before.values()].filter((each) => each === host.host).length).toBeGreaterThan(60);
      }
      const [first] = statesOf(route);
      if (first) first.ejectedUntilMs = clock.now() + 1_000;
      for (const user of users) {
        if (before.get(user) === "k") expect(placeOf(user)).not.toBe("k");
        else expect(placeOf(user)).toBe(before.get(user));
      }
      clock.advance(1_000);
      for (const user of users) expect(placeOf(user)).toBe(before.get(user));
    },
  );

  test.each(["ring_hash", "maglev"] as const)("%s knows callers without a user by their address", (policy) => {
    const clock = createTestClock();
    const balancer = createBalancer(routeOf([upstream("k"), upstream("l")], { policy }));
    const placeOf = (remoteAddress: string): string | undefined =>
      balancer.pick(clock, { principal: undefined, exchange: { remoteAddress } })?.host;
    const addresses = Array.from({ length: 40 }, (_, index) => `192.0.2.${index}`);
    expect(new Set(addresses.map(placeOf)).size).toBe(2);
    for (const address of addresses) expect(placeOf(address)).toBe(placeOf(address));
  });
});

describe("the same upstream for a caller", () => {
  const users = Array.from({ length: 4_000 }, (_, index) => `user-${index}`);
  const clock = createTestClock();
  const placesOf = (route: ReturnType<typeof routeOf>, except?: Upstream): readonly string[] => {
    const balancer = createBalancer(route);
    return users.map((user) => balancer.pick(clock, caller(user), except)?.host ?? "none");
  };
  const hosts = Array.from({ length: 20 }, (_, index) => upstream(`u${index}`));

  test("does not depend on the order of upstreams", () => {
    const turned = routeOf(hosts.toReversed(), { policy: "ring_hash" });
    expect(placesOf(turned)).toEqual(placesOf(routeOf(hosts, { policy: "ring_hash" })));
  });

  test("moves few other callers if an upstream comes or goes", () => {
    const before = placesOf(routeOf(hosts, { policy: "ring_hash" }));
    const after = placesOf(routeOf(hosts.slice(1), { policy: "ring_hash" }));
    const moved = before.filter((host, index) => host !== "u0" && host !== after[index]);
    expect(moved.length).toBeLessThan(users.length * 0.01);
    expect(after).not.toContain("u0");
  });

  test("spreads callers by weight, also those of an unavailable upstream", () => {
    const weighted = [upstream("a", 6), upstream("b", 3), upstream("c", 1)];
    const route = routeOf(weighted, { policy: "ring_hash" });
    const share = (places: readonly string[], host: string): number =>
      places.filter((each) => each === host).length / users.length;
    const before = placesOf(route);
    expect(share(before, "a")).toBeCloseTo(0.6, 1);
    expect(share(before, "c")).toBeCloseTo(0.1, 1);
    for (const state of statesOf(route)) if (state.upstream.host === "a") state.ejectedUntilMs = clock.now() + 1;
    const without = placesOf(route);
    expect(share(without, "b")).toBeCloseTo(0.75, 1);
    expect(share(without, "c")).toBeCloseTo(0.25, 1);
  });

  test("finds the only usable one of many, always the same of two, and none if none is usable", () => {
    const many = Array.from({ length: 200 }, (_, index) => upstream(`m${index}`));
    const route = routeOf(many, { policy: "ring_hash" });
    for (const state of statesOf(route)) {
      if (!["m3", "m5"].includes(state.upstream.host)) state.ejectedUntilMs = clock.now() + 1;
    }
    const two = placesOf(route);
    expect(new Set(two)).toEqual(new Set(["m3", "m5"]));
    expect(placesOf(route)).toEqual(two);
    expect(new Set(placesOf(route, many[3]))).toEqual(new Set(["m5"]));
  });
});

describe("outlier_detection", () => {
  const three = [upstream("a"), upstream("b"), upstream("c")] as const;
  const [a, b, c] = three;

  function balanced(outliers: Partial<typeof SETTINGS> = {}, panicPercent?: number) {
    const clock = createTestClock();
    const route = routeOf(three, { outliers: { ...SETTINGS, ...outliers }, panicPercent });
    const balancer = createBalancer(route);
    const answer = (of: Upstream, ...statuses: readonly number[]): boolean =>
      statuses.map((status) => balancer.tracker?.answered(of, status, clock.now()) === true).at(-1) ?? false;
    const hosts = (): string =>
      [...new Set(Array.from({ length: 9 }, () => balancer.pick(clock, anybody)?.host ?? "none"))].sort().join("");
    return { clock, balancer, answer, hosts, states: statesOf(route) };
  }

  test("ejects after a number of consecutive 5xx; a success resets the count", () => {
    const { answer, hosts } = balanced();
    expect(answer(a, 500, 500, 200, 500, 501)).toBe(false);
    expect(hosts()).toBe("abc");
    expect(answer(a, 500)).toBe(true);
    expect(hosts()).toBe("bc");
  });

  test("counts 502, 503, 504 and failures to answer as gateway failures, 500 not", () => {
    const { answer, hosts, balancer, clock } = balanced({ consecutive5xx: 0 });
    answer(a, 500, 500, 500, 500);
    answer(b, 502, 503);
    balancer.tracker?.failed(c, "reset", clock.now());
    expect(hosts()).toBe("ac");
    balancer.tracker?.failed(c, "timeout", clock.now());
    expect(hosts()).toBe("a");
  });

  test.each(["overloaded", "request-body", "closed", "loop"] as const)(
    "does not count %s against the upstream",
    (failure) => {
      const { hosts, balancer, clock } = balanced();
      for (let count = 0; count < 9; count += 1) balancer.tracker?.failed(a, failure, clock.now());
      expect(hosts()).toBe("abc");
    },
  );

  test("ejects for longer each time, up to a limit, and starts over after a long time without errors", () => {
    const { answer, hosts, clock, states } = balanced();
    const lasts: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      answer(a, 500, 500, 500);
      lasts.push((states[0]?.ejectedUntilMs ?? 0) - clock.now());
      clock.advance((lasts.at(-1) ?? 0) - 1);
      expect(hosts()).toBe("bc");
      clock.advance(1);
      expect(hosts()).toBe("abc");
    }
    clock.advance(SETTINGS.maxEjectionMs + 1);
    answer(a, 500, 500, 500);
    lasts.push((states[0]?.ejectedUntilMs ?? 0) - clock.now());
    expect(lasts).toEqual([1_000, 2_000, 2_500, 2_500, 1_000]);
    expect(states[0]?.ejections).toBe(5);
  });

  test("never ejects the last one, nor more than the permitted share", () => {
    const all = balanced();
    for (const each of three) all.answer(each, 500, 500, 500);
    expect(all.hosts()).toBe("c");
    const few = balanced({ maxEjectionPercent: 1 });
    for (const each of three) few.answer(each, 500, 500, 500);
    expect(few.hosts()).toBe("bc");
  });

  test("does not eject the last one with healthy checks", () => {
    const { answer, hosts, states } = balanced();
    for (const state of states.slice(1)) state.checks = [{ kind: "http", healthy: false, lastError: "" }];
    expect(answer(a, 500, 500, 500)).toBe(false);
    expect(hosts()).toBe("a");
  });

  test("healthy_panic_threshold: all are used below that share; 0: none if none is healthy", () => {
    const [half, never, usual] = [balanced({}, 50), balanced({}, 0), balanced()];
    half.answer(a, 500, 500, 500);
    expect(half.hosts()).toBe("bc");
    half.answer(b, 500, 500, 500);
    expect(half.hosts()).toBe("abc");
    for (const { states } of [never, usual])
      for (const state of states) state.checks = [{ kind: "tcp", healthy: false, lastError: "refused" }];
    expect(never.hosts()).toBe("none");
    expect(usual.hosts()).toBe("abc");
  });
});
