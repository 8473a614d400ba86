import { describe, expect, test } from "vitest";

import type { Upstream } from "../../../runtime/config/compiled.ts";
import { createBalancer } from "../../../runtime/proxy/balance.ts";
import { createTestClock } from "../../support/clock.ts";

const upstream = (host: string, weight = 1): Upstream => ({ origin: `http://${host}`, host, basePath: "", weight });

describe("createBalancer()", () => {
  const [a, b, c] = [upstream("a", 5), upstream("b"), upstream("c")];

  test("spreads by weight and evenly in time", () => {
    const clock = createTestClock();
    const balancer = createBalancer([a, b, c]);
    const picked = Array.from({ length: 7 }, () => balancer.pick(clock).host).join("");
    expect(picked).toBe("aabacaa");
  });

  test("leaves out one that failed, longer each time, until it was reached", () => {
    const clock = createTestClock();
    const balancer = createBalancer([a, b]);
    const hosts = (): Set<string> => new Set(Array.from({ length: 6 }, () => balancer.pick(clock).host));
    balancer.failed(a, clock.now());
    expect(hosts()).toEqual(new Set(["b"]));
    clock.advance(1_000);
    expect(hosts()).toEqual(new Set(["a", "b"]));
    balancer.failed(a, clock.now());
    clock.advance(1_000);
    expect(hosts()).toEqual(new Set(["b"]));
    clock.advance(1_000);
    balancer.reached(a);
    balancer.failed(a, clock.now());
    clock.advance(1_000);
    expect(hosts()).toEqual(new Set(["a", "b"]));
  });

  test("goes on with all of them when all fail", () => {
    const clock = createTestClock();
    const balancer = createBalancer([a, b]);
    balancer.failed(a, clock.now());
    balancer.failed(b, clock.now());
    expect(new Set(Array.from({ length: 6 }, () => balancer.pick(clock).host))).toEqual(new Set(["a", "b"]));
  });

  test("does not give the one that just failed again while there is another", () => {
    const clock = createTestClock();
    const balancer = createBalancer([a, b]);
    for (let count = 0; count < 6; count += 1) expect(balancer.pick(clock, a).host).toBe("b");
    expect(createBalancer([a]).pick(clock, a)).toBe(a);
  });
});
