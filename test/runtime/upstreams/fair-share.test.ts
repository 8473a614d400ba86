/** How connections to upstreams are divided. */
import { expect, test } from "vitest";

import { FairShare, type CallParty } from "../../../runtime/upstreams/fair-share.ts";

const party = (): CallParty => ({ calls: 0, waiting: undefined });

function enterAll(share: FairShare, of: CallParty): number {
  let entered = 0;
  while (share.enter(of)) entered += 1;
  return entered;
}

function openAll(share: FairShare): number {
  let own = 0;
  while (share.open(own)) own += 1;
  return own;
}

test("FairShare gives an upstream as many connections as are free", () => {
  const share = new FairShare(120);
  expect([openAll(share), openAll(share), openAll(share)]).toEqual([60, 30, 15]);
  expect(share.isTight).toBe(true);
  for (let count = 0; count < 60; count += 1) share.closed();
  expect([share.isTight, openAll(share)]).toEqual([false, 38]);
});

test("FairShare gives a client half as many calls as are free, and always one", () => {
  const share = new FairShare(120);
  const first = party();
  expect([enterAll(share, first), enterAll(share, party())]).toEqual([40, 27]);
  for (let count = 0; count < 200; count += 1) expect(share.enter(party())).toBe(true);
});

test("FairShare lets a client's next call begin when one of its own is over, first come, first served", async () => {
  const share = new FairShare(6);
  const client = party();
  expect(enterAll(share, client)).toBe(2);
  const begun: number[] = [];
  const calls = [0, 1, 2].map((index) => ({
    waitsUntil: index === 1 ? 10 : Number.POSITIVE_INFINITY,
    admitted: () => void begun.push(index),
    fail: () => void begun.push(-index),
    broke: () => {},
  }));
  for (const call of calls) share.wait(client, call);
  share.sweep(10);
  expect(begun).toEqual([-1]);
  share.leave(client);
  await new Promise(setImmediate);
  expect(begun).toEqual([-1, 0]);
  expect(client.calls).toBe(2);
  share.forget(client, calls[2] as (typeof calls)[number]);
  share.leave(client);
  share.leave(client);
  await new Promise(setImmediate);
  expect([begun, client.calls]).toEqual([[-1, 0], 0]);
});

test("FairShare admits calls of a client with one endless call when other clients' calls are over", async () => {
  const share = new FairShare(12);
  const slow = party();
  const other = party();
  const others = enterAll(share, other);
  for (let count = 0; count < 12 - others; count += 1) share.enter(party());
  // An event stream.
  share.enter(slow);
  const begun: number[] = [];
  for (const index of [0, 1, 2]) {
    share.wait(slow, {
      waitsUntil: Number.POSITIVE_INFINITY,
      admitted: () => void begun.push(index),
      fail: () => {},
      broke: () => {},
    });
  }
  for (let count = 0; count < others; count += 1) share.leave(other);
  await new Promise(setImmediate);
  expect(begun).toEqual([0]);
  expect(slow.calls).toBe(2);
});

test("FairShare admits calls for freed connections in its sweep", () => {
  const share = new FairShare(12);
  const slow = party();
  share.enter(slow);
  let begun = 0;
  for (let count = 0; count < 9; count += 1)
    share.wait(slow, { waitsUntil: 10, admitted: () => void (begun += 1), fail: () => {}, broke: () => {} });
  share.sweep(0);
  expect([begun, slow.calls]).toEqual([3, 4]);
});

test("FairShare ends a call that cannot begin because of an error, and admits the next one", () => {
  const share = new FairShare(12);
  const client = party();
  share.enter(client);
  const seen: string[] = [];
  const call = (name: string, error?: Error): Parameters<FairShare["wait"]>[1] => ({
    waitsUntil: Number.POSITIVE_INFINITY,
    admitted() {
      if (error) throw error;
      seen.push(`${name} begun`);
    },
    fail: () => {},
    broke: () => void seen.push(`${name} ended`),
  });
  share.wait(client, call("first", new Error("a mistake")));
  share.wait(client, call("second"));
  share.sweep(0);
  expect(seen).toEqual(["first ended", "second begun"]);
});

test("FairShare without a limit bounds nothing", () => {
  const share = new FairShare();
  const client = party();
  for (let count = 0; count < 1_000; count += 1) expect(share.enter(client) && share.open(count)).toBe(true);
  expect(share.isTight).toBe(false);
});
