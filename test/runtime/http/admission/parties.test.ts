/** How the memory that is held for clients is divided among them. */
import { expect, test } from "vitest";

import { Parties, requestCost } from "../../../../runtime/http/admission/parties.ts";

/** @returns how many pieces of 10 bytes a client gets */
function takeAll(parties: Parties, address: string): number {
  const party = parties.connect(address);
  let pieces = 0;
  while (party.take(10)) pieces += 1;
  return pieces;
}

test("Parties gives a client as much as is still free, over all its connections, and there is room for others", () => {
  const parties = new Parties(1_200);
  expect(takeAll(parties, "192.0.2.1")).toBe(60);
  expect(takeAll(parties, "192.0.2.1")).toBe(0);
  expect(takeAll(parties, "192.0.2.2")).toBe(30);
  expect(takeAll(parties, "192.0.2.3")).toBe(15);
  expect(takeAll(parties, "192.0.2.4")).toBeGreaterThan(0);
  expect(parties.bytes).toBeLessThanOrEqual(1_200);
});

test("Parties takes a network of IPv6 for one client", () => {
  const parties = new Parties(1_200);
  expect(parties.connect("2001:db8:1:2::1")).toBe(parties.connect("2001:db8:1:2::2"));
});

test("Parties gives back finished requests, and drops parties without any", () => {
  const parties = new Parties(1_200);
  const party = parties.connect("192.0.2.1");
  expect(party.take(600)).toBe(true);
  expect(party.take(1)).toBe(false);
  party.give(600);
  expect(party.take(600)).toBe(true);
  party.leave();
  // A request that outlives its connection still counts.
  expect(parties.of("192.0.2.1")).toBe(party);
  party.give(600);
  expect([parties.size, parties.bytes]).toEqual([0, 0]);
});

test("requestCost() counts each field, even short ones, and the body", () => {
  const plain = { rawHeaders: [], path: "/", query: "" };
  const fields = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? "a" : "b"));
  expect(requestCost({ ...plain, rawHeaders: fields }) - requestCost(plain)).toBeGreaterThan(100 * 100);
  expect(requestCost({ ...plain, wholeBody: Buffer.alloc(5_000) }) - requestCost(plain)).toBe(5_000);
});
