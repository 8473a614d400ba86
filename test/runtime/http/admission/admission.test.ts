import { describe, expect, test } from "vitest";

import {
  BEGUN_AT_ONCE,
  BEGUN_IN_A_TURN,
  createAdmission,
  MAX_TURN_MS,
  MAX_WAITING,
  SHED_IN_A_TURN,
} from "../../../../runtime/http/admission/admission.ts";
import { STANDING_MS } from "../../../../runtime/http/admission/overload.ts";

/** A process whose time and event loop are the test's. `costMs`: of each request that is begun. */
function startProcess({ queueTimeoutMs = 30_000, costMs = 0 } = {}) {
  let now = 0;
  let isMemoryShort = false;
  let isBroken = false;
  let turns: (() => void)[] = [];
  const begun: string[] = [];
  const shed: string[] = [];
  const admission = createAdmission({
    queueTimeoutMs,
    begin: (exchange) => {
      begun.push(exchange.id);
      now += costMs;
    },
    shed: (exchange, reason) => void shed.push(`${exchange.id} ${reason}`),
    isMemoryShort: () => {
      if (isBroken) throw new Error("a mistake");
      return isMemoryShort;
    },
    now: () => now,
    afterArrivals: (listener) => void turns.push(listener),
  });
  return {
    admission,
    begun,
    shed,
    /** @returns makes its client go away */
    arrive(remoteAddress: string, id = remoteAddress): () => void {
      let leave = (): void => {};
      admission.take({ id, remoteAddress, onClose: (listener: () => void) => (leave = listener) } as never);
      return () => leave();
    },
    /** Comes over a connection of our own. @returns makes its client go away */
    arriveUnread(remoteAddress: string, id = remoteAddress): () => void {
      if (!admission.isCrowded()) return this.arrive(remoteAddress, id);
      const queued = admission.hold({ remoteAddress, read: () => void this.arrive(remoteAddress, id) });
      return () => admission.drop(queued);
    },
    /** The end of this turn of the event loop; what arrives then is the next one's. */
    turn(): void {
      const due = turns;
      turns = [];
      for (const each of due) each();
    },
    isTurning: () => turns.length > 0,
    now: () => now,
    pass: (ms: number) => void (now += ms),
    shortOfMemory: (isShort: boolean) => void (isMemoryShort = isShort),
    break: (broken: boolean) => void (isBroken = broken),
  };
}

const ALICE = "192.0.2.1";
const BOB = "192.0.2.2";

function arriveMany(server: ReturnType<typeof startProcess>, address: string, count: number): void {
  for (let index = 0; index < count; index += 1) server.arrive(address);
}

describe("createAdmission()", () => {
  test("begins requests on arrival, and polls nothing while idle", () => {
    const server = startProcess();
    for (let index = 0; index < 200; index += 1) {
      server.arrive(ALICE, String(index));
      server.turn();
    }
    expect(server.begun).toHaveLength(200);
    expect(server.isTurning()).toBe(false);
  });

  test("an error in a turn does not keep later requests, or those that wait, from their turns", () => {
    const server = startProcess();
    arriveMany(server, ALICE, BEGUN_AT_ONCE + 1);
    server.break(true);
    server.turn();
    server.break(false);
    server.turn();
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE + 1);
    server.turn();

    server.break(true);
    expect(() => server.arrive(ALICE)).toThrow("a mistake");
    server.break(false);
    arriveMany(server, ALICE, 2 * BEGUN_AT_ONCE);
    while (server.isTurning()) server.turn();
    expect(server.begun).toHaveLength(1 + 3 * BEGUN_AT_ONCE);
  });

  test("a client's requests wait behind their own client's only", () => {
    const server = startProcess({ costMs: 1 });
    arriveMany(server, ALICE, 1_000);
    server.arrive(BOB);
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE);
    server.turn();
    // One each in turn, behind what was begun before Bob came.
    expect(server.begun.indexOf(BOB)).toBe(BEGUN_AT_ONCE + 1);
    while (server.isTurning()) server.turn();
    expect(server.begun).toHaveLength(1_001);
    expect(server.shed).toEqual([]);
  });

  test("takes a network of IPv6 for one client", () => {
    const server = startProcess({ costMs: 1 });
    for (let index = 0; index < 200; index += 1) server.arrive(`2001:db8:1:2::${index.toString(16)}`);
    server.arrive("2001:db8:1:3::1");
    server.turn();
    expect(server.begun.indexOf("2001:db8:1:3::1")).toBe(BEGUN_AT_ONCE + 1);
  });

  test("begins at most BEGUN_AT_ONCE requests at the same time, however cheap they are", () => {
    const server = startProcess();
    arriveMany(server, ALICE, BEGUN_AT_ONCE + 1);
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE);
    server.turn();
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE + 1);
  });

  test("begins a few of those that wait in a turn, or one of each client", () => {
    const server = startProcess();
    arriveMany(server, ALICE, BEGUN_AT_ONCE + 500);
    server.turn();
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE + BEGUN_IN_A_TURN);
    const others = Array.from({ length: 3 * BEGUN_IN_A_TURN }, (_, index) => `198.51.100.${index}`);
    for (const other of others) server.arrive(other);
    server.turn();
    expect(server.begun.slice(BEGUN_AT_ONCE + BEGUN_IN_A_TURN).toSorted()).toEqual([ALICE, ...others].toSorted());
  });

  test("begins requests in a turn for a few milliseconds at most, however many clients wait", () => {
    const server = startProcess({ costMs: 1 });
    for (let index = 0; index < 100; index += 1) server.arrive(`198.51.100.${index}`);
    server.turn();
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE + MAX_TURN_MS);
  });

  test("serves a burst to its end, within the time that requests may wait", () => {
    const server = startProcess({ costMs: 10 });
    arriveMany(server, ALICE, 2_500);
    while (server.isTurning()) server.turn();
    expect(server.begun).toHaveLength(2_500);
    expect(server.shed).toEqual([]);
  });

  test("rejects requests that waited too long, a few in a turn, without beginning them", () => {
    const server = startProcess({ costMs: 10, queueTimeoutMs: 100 });
    for (let index = 0; index < 50; index += 1) server.arrive(ALICE, String(index));
    while (server.isTurning()) {
      const before = server.shed.length;
      server.turn();
      expect(server.shed.length - before).toBeLessThanOrEqual(SHED_IN_A_TURN);
    }
    // Those whose turn came in time, counted from when the first one waited.
    const served = BEGUN_AT_ONCE + 100 / 10;
    expect(server.begun).toEqual(Array.from({ length: served }, (_, index) => String(index)));
    expect(server.shed).toEqual(Array.from({ length: 50 - served }, (_, index) => `${index + served} queue-timeout`));
    expect(server.admission.waiting()).toBe(0);
  });

  test("keeps the wait short in an overload, and serves the next burst to its end again", () => {
    const server = startProcess({ costMs: 10 });
    const arrivals = new Map<string, number>();
    const waits: number[] = [];
    let asked = 0;
    const ask = (): void => {
      asked += 1;
      arrivals.set(String(asked), server.now());
      server.arrive(ALICE, String(asked));
    };
    // Three times what it can serve.
    while (server.now() < 20_000) {
      const before = server.begun.length;
      while (asked < (3 * server.now()) / 10 + BEGUN_AT_ONCE + 1) ask();
      server.turn();
      for (const id of server.begun.slice(before)) waits.push(server.now() - Number(arrivals.get(id)));
    }
    expect(server.shed.length).toBeGreaterThan(0);
    expect(Math.max(...waits.slice(-500))).toBeLessThanOrEqual(STANDING_MS + 100);
    // Capacity is used.
    expect(server.begun.length).toBeGreaterThan(1_900);
    while (server.isTurning()) server.turn();
    const shed = server.shed.length;
    arriveMany(server, BOB, 1_000);
    while (server.isTurning()) server.turn();
    expect(server.shed).toHaveLength(shed);
  });

  test("still rejects requests that an overload passed over after it is over, and serves the rest", () => {
    const server = startProcess({ costMs: 1 });
    const turn = (count: number): void => {
      for (let index = 0; index < count; index += 1) server.turn();
    };
    for (let index = 0; index < 100; index += 1) server.arrive(ALICE, "early");
    const leaving = Array.from({ length: 50 }, () => server.arrive(BOB));
    turn(10);
    server.pass(STANDING_MS);
    for (const leave of leaving) leave();
    for (let index = 0; index < 100; index += 1) server.arrive(ALICE, "late");
    server.pass(STANDING_MS - 100);
    server.turn();
    expect(server.shed).toEqual([]);
    // The queue has not shrunk, and clients have left it: an overload.
    server.pass(70);
    turn(5);
    expect(server.shed).toEqual(Array.from({ length: 5 * SHED_IN_A_TURN }, () => "early queue-timeout"));
    // No request arrives: it is over.
    server.pass(2 * STANDING_MS);
    while (server.isTurning()) server.turn();
    expect(server.begun.filter((id) => id === "late")).toHaveLength(100);
    expect(server.begun.length + server.shed.length).toBe(200 + server.begun.filter((id) => id === BOB).length);
    expect(new Set(server.shed)).toEqual(new Set(["early queue-timeout"]));
  });

  test("without a time limit it rejects no request", () => {
    const server = startProcess({ costMs: 1_000, queueTimeoutMs: Infinity });
    arriveMany(server, ALICE, 50);
    while (server.isTurning()) server.turn();
    expect(server.begun).toHaveLength(50);
  });

  test("does nothing for a client that has left", () => {
    const server = startProcess({ costMs: 1 });
    arriveMany(server, ALICE, BEGUN_AT_ONCE);
    const leave = server.arrive(BOB);
    leave();
    leave();
    expect(server.admission.waiting()).toBe(0);
    server.turn();
    expect(server.begun).not.toContain(BOB);
    expect(server.isTurning()).toBe(false);
  });

  test("leaves room for others where one client has all", () => {
    const server = startProcess({ costMs: 1 });
    arriveMany(server, ALICE, BEGUN_AT_ONCE + MAX_WAITING + 5);
    server.arrive(BOB);
    expect(server.shed).toEqual(Array.from({ length: 5 }, () => `${ALICE} queue-full`));
    expect(server.admission.waiting()).toBe(MAX_WAITING + 1);
    server.turn();
    expect(server.begun).toContain(BOB);
  });

  test("accepts nothing while memory is short, and rejects waiting requests", () => {
    const server = startProcess({ costMs: 1 });
    arriveMany(server, ALICE, BEGUN_AT_ONCE + 1);
    server.shortOfMemory(true);
    server.turn();
    server.arrive(BOB);
    while (server.isTurning()) server.turn();
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE);
    expect(server.shed).toEqual([`${ALICE} memory`, `${BOB} memory`]);
    server.shortOfMemory(false);
    server.arrive(ALICE);
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE + 1);
  });

  test("reads unread input in its turn, which is the same as that of parsed requests", () => {
    const server = startProcess();
    arriveMany(server, ALICE, BEGUN_AT_ONCE);
    for (const id of ["1", "2", "3", "4", "5"]) server.arriveUnread(ALICE, id);
    server.arrive(BOB);
    expect(server.begun).toHaveLength(BEGUN_AT_ONCE);
    expect(server.admission.waiting()).toBe(6);
    server.turn();
    expect(server.begun.slice(BEGUN_AT_ONCE)).toEqual(["1", BOB, "2", "3"]);
    server.turn();
    expect(server.begun.slice(BEGUN_AT_ONCE + 4)).toEqual(["4", "5"]);
    server.turn();
    expect(server.isTurning()).toBe(false);
  });

  test("rejects unread input that waited too long, ignores clients that left, and affects no other request", () => {
    const server = startProcess({ queueTimeoutMs: 100 });
    arriveMany(server, ALICE, BEGUN_AT_ONCE);
    server.arriveUnread(ALICE, "late");
    const leave = server.arriveUnread(BOB, "left");
    const queued = server.admission.hold({ remoteAddress: BOB, read: () => {} });
    server.pass(101);
    leave();
    server.turn();
    expect(server.shed).toEqual(["late queue-timeout"]);
    // Input that led to no request leaves nothing for the next one.
    server.admission.drop(queued);
    server.turn();
    server.arrive(BOB, "next");
    expect(server.begun.slice(BEGUN_AT_ONCE)).toEqual(["next"]);
    expect(server.admission.waiting()).toBe(0);
  });

  test("is not crowded while memory is short: new clients are rejected immediately", () => {
    const server = startProcess();
    arriveMany(server, ALICE, BEGUN_AT_ONCE + 1);
    expect(server.admission.isCrowded()).toBe(true);
    server.shortOfMemory(true);
    server.arriveUnread(BOB);
    server.turn();
    expect(server.admission.isCrowded()).toBe(false);
    expect(server.shed).toEqual([`${ALICE} memory`, `${BOB} memory`]);
  });
});
