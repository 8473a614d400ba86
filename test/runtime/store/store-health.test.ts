/** What is told of the store: from what operations come to, and from asking it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { GatewayError } from "../../../runtime/shared/errors.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { WITHOUT_STORE_MS } from "../../../runtime/store/watch/store-health.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { watchStore, type WatchedStore } from "../../../runtime/store/watch/watched-store.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";

const WRITES = ["put", "delete", "take", "deleteByTag", "lease", "allot", "append", "sweep"];
const LATER = 4_000_000_000;
const soon = { interval: 20 };

let clock: TestClock;
let watched: WatchedStore;
/** "full": what changes something fails; "suspicious": only what is written to find out does. */
let state: "ok" | "full" | "suspicious" | "away" | "hangs";
let asked: string[];

beforeEach(() => {
  clock = createTestClock();
  state = "ok";
  asked = [];
  const inner = createMemoryStore({ clock });
  const store = new Proxy(inner, {
    get(target, name: keyof Store) {
      if (name === "onAppend" || name === "close") return target[name].bind(target);
      return (...args: unknown[]): Promise<unknown> => {
        asked.push(name);
        const isWrite = WRITES.includes(name);
        const isOwn = args[0] === "status:health";
        if (state === "hangs") return new Promise(() => {});
        if (state === "away" || (isWrite && (state === "full" || (state === "suspicious" && isOwn))))
          return Promise.reject(new GatewayError("store.unavailable", `Cannot use the store: it is ${state}`));
        return (target[name] as (...args: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  watched = watchStore(store, { clock });
});
afterEach(() => watched.store.close());

const known = () => watched.health.known();
const fails = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: "store.unavailable" });

describe("watchStore()", () => {
  test("starts as unusable until the first query", () => {
    expect(known()).toEqual({ store: "down", serves: false });
  });

  test("knows a full disk by a write that fails and one of its own that fails too", async () => {
    await watched.store.put("k", 1);
    expect(known()).toEqual({ store: "ok", serves: true });
    state = "full";
    await fails(watched.store.put("k", 2));
    await expect.poll(known, soon).toEqual({ store: "read-only", failingMs: 0, serves: true });
    expect(asked.filter((name) => name === "put")).toHaveLength(3);
    // Reads go on, and say nothing about the disk.
    clock.advance(WITHOUT_STORE_MS - 1);
    expect((await watched.store.get("k"))?.value).toBe(1);
    expect(known()).toMatchObject({ store: "read-only", failingMs: WITHOUT_STORE_MS - 1, serves: true });
    clock.advance(1);
    expect(known()).toMatchObject({ store: "read-only", serves: false });
    state = "ok";
    await watched.store.put("k", 3);
    expect(known()).toEqual({ store: "ok", serves: true });
  });

  test("returns the known state while the store hangs, long before a probe times out", async () => {
    await watched.store.get("any");
    state = "hangs";
    const late = setTimeout(() => asked.push("late"), 900);
    expect(await watched.health.look()).toEqual({ store: "ok", serves: true });
    clearTimeout(late);
    expect(asked).not.toContain("late");
    await expect.poll(known, soon).toMatchObject({ store: "down", serves: true });
  });

  test("does not count an operation without changes as a write", async () => {
    await watched.store.put("k", 1);
    state = "full";
    await fails(watched.store.put("k", 2));
    await expect.poll(known, soon).toMatchObject({ store: "read-only" });
    // As a database does on a full disk, where nothing has to be written.
    const { store } = watched;
    state = "suspicious";
    await store.put("k", 0, { ifVersion: 9 });
    await store.delete("none");
    await store.take("none");
    await store.deleteByTag("none");
    await store.sweep();
    expect(known()).toMatchObject({ store: "read-only" });
    await store.append("feed", 1, LATER);
    expect(known()).toMatchObject({ store: "ok" });
  });

  test("a single failed write does not count as a full disk", async () => {
    await watched.store.put("k", 1);
    state = "full";
    const failing = fails(watched.store.append("feed", 1, LATER));
    state = "ok";
    await failing;
    // Its own write succeeds.
    await expect.poll(() => asked.filter((name) => name === "put").length, soon).toBe(2);
    expect(known()).toEqual({ store: "ok", serves: true });
  });

  test("detects automatically that the store is available again, and whether it accepts writes", async () => {
    await watched.store.put("k", 1);
    state = "away";
    await fails(watched.store.put("k", 2));
    await expect.poll(known, soon).toMatchObject({ store: "down", failingMs: 0 });
    clock.advance(7_000);
    state = "full";
    await expect.poll(known, soon).toEqual({ store: "read-only", failingMs: 7_000, serves: true });
    state = "ok";
    await expect.poll(known, soon).toEqual({ store: "ok", serves: true });
  });

  test("an error of the caller does not affect the state of the store", async () => {
    await watched.store.put("k", 1);
    await expect(watched.store.put("", 2)).rejects.toMatchObject({ code: "store.invalid" });
    expect(asked).toEqual(["put", "put"]);
    expect(known()).toEqual({ store: "ok", serves: true });
  });

  test("counts operations by result", async () => {
    const { store } = watched;
    await store.put("k", 1);
    await store.put("k", 2, { ifVersion: 9 });
    await store.get("k");
    await store.get("none");
    const lease = await store.lease("l", 60_000);
    await store.lease("l", 60_000);
    await lease?.release();
    await lease?.renew(1);
    state = "away";
    await fails(store.get("k"));
    await expect(store.put("", 2)).rejects.toMatchObject({ code: "store.unavailable" });
    state = "ok";
    await expect(store.put("", 2)).rejects.toMatchObject({ code: "store.invalid" });
    expect(Object.fromEntries(watched.counts.operations)).toEqual({
      put: { ok: 1, refused: 1, unavailable: 1 },
      get: { ok: 2, refused: 0, unavailable: 1 },
      lease: { ok: 1, refused: 1, unavailable: 0 },
      release: { ok: 1, refused: 0, unavailable: 0 },
      renew: { ok: 0, refused: 1, unavailable: 0 },
    });
    const { read, write } = watched.counts.durations;
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
    expect([sum(read.counts), sum(write.counts)]).toEqual([3, 7]);
  });

  test("passes on what the store answers, leases too", async () => {
    const { store } = watched;
    const lease = await store.lease("l", 60_000);
    expect(await store.lease("l", 60_000)).toBeUndefined();
    expect(await lease?.renew(60_000)).toBe(true);
    await lease?.release();
    expect(await lease?.renew(60_000)).toBe(false);
    expect(await store.put("k", [1], { tags: ["t"] })).toEqual({ ok: true, version: 1 });
    expect(await store.list("t")).toMatchObject([{ key: "k", value: [1] }]);
    expect(await store.page({ prefix: "k", limit: 1 })).toMatchObject([{ key: "k" }]);
    let hinted = 0;
    store.onAppend("feed", () => hinted++);
    expect(await store.append("feed", 1, LATER)).toBe(1);
    expect(await store.changesSince("feed", 0)).toEqual([{ sequence: 1, entry: 1 }]);
    await expect.poll(() => hinted, soon).toBe(1);
    expect(await store.take("k")).toMatchObject({ value: [1] });
  });
});
