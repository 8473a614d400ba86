import { describe, expect, test } from "vitest";

import { createRateLimit, createUntrustedLimit, networkOf } from "../../../runtime/shared/rate-limit.ts";
import { createTestClock } from "../../support/clock.ts";

describe("createRateLimit()", () => {
  test("allows a burst, then one per interval, separately for each peer", () => {
    const clock = createTestClock();
    const limit = createRateLimit({ clock }, 2, 0.5);
    expect([limit.take("a"), limit.take("a"), limit.take("a")]).toEqual([0, 0, 2]);
    expect(limit.take("b")).toBe(0);
    clock.advance(2000);
    expect([limit.take("a"), limit.take("a")]).toEqual([0, 2]);
    clock.advance(3600_000);
    expect([limit.take("a"), limit.take("a"), limit.take("a")]).toEqual([0, 0, 2]);
  });

  test("forgets the peer that was unseen longest, and no other, once it knows ten thousand", () => {
    const limit = createRateLimit({ clock: createTestClock() }, 1, 1);
    for (let peer = 0; peer < 10_000; peer += 1) expect(limit.take(`${peer}`)).toBe(0);
    // Seen again, so no longer the oldest.
    expect(limit.take("0")).toBe(1);
    for (let peer = 10_000; peer < 10_010; peer += 1) expect(limit.take(`${peer}`)).toBe(0);
    expect([limit.take("0"), limit.take("11"), limit.take("10009")]).toEqual([1, 1, 1]);
    expect(limit.take("1")).toBe(0);
  });

  test("a returned attempt can be used again, and no more than that", () => {
    const limit = createRateLimit({ clock: createTestClock() }, 2, 1);
    limit.giveBack("a");
    expect([limit.take("a"), limit.take("a")]).toEqual([0, 0]);
    for (let count = 0; count < 5; count += 1) limit.giveBack("a");
    expect([limit.take("a"), limit.take("a"), limit.take("a")]).toEqual([0, 0, 1]);
  });
});

describe("createStrangerLimit()", () => {
  const rates = { peer: { burst: 2, perSecond: 1 }, all: { burst: 5, perSecond: 2 } };

  test("bounds one peer, and all of them together", () => {
    const clock = createTestClock();
    const limit = createUntrustedLimit({ clock }, rates);
    expect([limit.take("1.1.1.1"), limit.take("1.1.1.1"), limit.take("1.1.1.1")]).toEqual([0, 0, 1]);
    const others = Array.from({ length: 100 }, (_, index) => limit.take(`2.2.2.${index}`));
    expect(others.filter((seconds) => seconds === 0)).toHaveLength(3);
    clock.advance(1000);
    expect(limit.take("3.3.3.3")).toBe(0);
  });

  test("counts the addresses of one IPv6 network as one peer", () => {
    const limit = createUntrustedLimit({ clock: createTestClock() }, rates);
    const waits = ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3"].map((peer) => limit.take(peer));
    expect(waits).toEqual([0, 0, 1]);
    expect(limit.take("2001:db8:0:1::1")).toBe(0);
  });
});

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8::6", "2001:db8:0:0"],
  ["::1", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
])("networkOf(%j) is %j", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
