/** What every store promises (runtime/store/store.ts), held by all three. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { epochSeconds } from "../../runtime/shared/clock.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { compileHistoryRules } from "../../runtime/features/mcp/compile-history.ts";
import { checkEarlier, countCall, markCall, markOutcomes } from "../../runtime/limits/history/decide.ts";
import { planCall } from "../../runtime/limits/history/plan.ts";
import { StoreHistory } from "../../runtime/limits/history/store-history.ts";
import { createSharedCounts } from "../../runtime/limits/shared-counts.ts";
import { argumentsOf } from "../../runtime/policy/mcp/argument-values.ts";
import { allot, type CountEntry } from "../../runtime/store/allotments.ts";
import { advanceOf } from "../../runtime/limits/gate.ts";
import { createRecords } from "../../runtime/identity/identity-records.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { openPostgresStore } from "../../runtime/store/postgres/postgres.ts";
import { openSqliteStore } from "../../runtime/store/sqlite/sqlite.ts";
import type { PageQuery, Store } from "../../runtime/store/store.ts";
import type { RecordPlace } from "../../runtime/record-store/back-end.ts";
import { alice, limitWorld } from "../runtime/limits/limit-world.ts";
import { POLL_MS } from "../support/limits.ts";
import { createTestClock } from "../support/clock.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import { approvalContract } from "./approval-contract.ts";
import { recordStoreContract } from "./record-store-contract.ts";

interface Backend {
  /** A handle on no data, and another on the same data, as another process has it. Valid until the next call. */
  fresh(): Promise<readonly [Store, Store]>;
  /** One more handle; the caller closes it. */
  open(): Promise<Store>;
  /** Epoch seconds by the clock that checks expiry. */
  now(): number;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

function contract(start: () => Promise<Backend>): void {
  let backend: Backend;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    backend = await start();
  });
  beforeEach(async () => {
    [store, other] = await backend.fresh();
  });
  afterAll(() => backend?.close());

  describe("records", () => {
    test("get() finds nothing where nothing was put", async () => {
      expect(await store.get("session:none")).toBeUndefined();
    });

    test.each([
      ["null", null],
      ["false", false],
      ["a number", -1.5e300],
      ["text of every plane, NUL and a lone surrogate", "ä€😀\0\ud800"],
      ["an empty list", []],
      ["an object with odd names", { __proto__: null, "": 1, "a\0b": [{}], constructor: "x" }],
    ])("get() gives back %s as it was put", async (_, value) => {
      await store.put("k", value);
      expect(JSON.stringify((await other.get("k"))?.value)).toBe(JSON.stringify(value));
    });

    test("get() gives each caller a copy of its own", async () => {
      const value = { list: [1] };
      await store.put("k", value);
      value.list.push(2);
      const first = await store.get<{ list: number[] }>("k");
      first?.value.list.push(3);
      expect((await store.get("k"))?.value).toEqual({ list: [1] });
    });

    test("put() counts versions from 1 and replaces the whole record", async () => {
      const expiresAt = backend.now() + 60;
      expect(await store.put("k", "a", { expiresAt, tags: ["user:b", "user:a", "user:b"] })).toEqual({
        ok: true,
        version: 1,
      });
      expect(await store.get("k")).toEqual({ key: "k", value: "a", version: 1, expiresAt, tags: ["user:a", "user:b"] });
      expect(await other.put("k", "b")).toEqual({ ok: true, version: 2 });
      expect(await store.get("k")).toEqual({ key: "k", value: "b", version: 2, tags: [] });
      expect(await store.list("user:a")).toEqual([]);
    });

    test("keys differ by case and by every byte", async () => {
      await store.put("a", 1);
      await store.put("A", 2);
      await store.put("a ", 3);
      await store.put("ä", 4);
      await store.put("a\u0308", 5);
      expect(
        await Promise.all(["a", "A", "a ", "ä", "a\u0308"].map(async (key) => (await store.get(key))?.value)),
      ).toEqual([1, 2, 3, 4, 5]);
    });

    test("a value of several megabytes is kept whole", async () => {
      const text = "0123456789abcdef".repeat(200_000);
      await store.put("slice:large", { text });
      expect((await other.get<{ text: string }>("slice:large"))?.value.text).toBe(text);
    });

    test("put() with ifVersion writes over that version only", async () => {
      expect(await store.put("k", 1, { ifVersion: 1 })).toEqual({ ok: false, reason: "conflict" });
      expect(await store.put("k", 1, { ifVersion: 0 })).toEqual({ ok: true, version: 1 });
      expect(await store.put("k", 2, { ifVersion: 0 })).toEqual({ ok: false, reason: "conflict" });
      expect(await store.put("k", 2, { ifVersion: 2 })).toEqual({ ok: false, reason: "conflict" });
      expect(await store.put("k", 2, { ifVersion: 1, tags: ["t"] })).toEqual({ ok: true, version: 2 });
      expect(await store.get("k")).toEqual({ key: "k", value: 2, version: 2, tags: ["t"] });
    });

    test("delete() tells whether a record went, and heeds ifVersion", async () => {
      await store.put("k", 1);
      await store.put("k", 2);
      expect(await store.delete("k", { ifVersion: 1 })).toBe(false);
      expect(await store.delete("k", { ifVersion: 2 })).toBe(true);
      expect(await store.delete("k")).toBe(false);
      expect(await store.get("k")).toBeUndefined();
      expect(await store.put("k", 3)).toEqual({ ok: true, version: 1 });
    });

    test("delete() with ifVersion leaves what another process wrote since, and takes an expired record for none", async () => {
      const { devices } = createRecords(store);
      const expiresAt = backend.now() + 2;
      await devices.put("d", {} as never, { ifVersion: 0 });
      await other.put("device:d", { approved: true }, { ifVersion: 1, expiresAt });
      expect(await devices.delete("d", { ifVersion: 1 })).toBe(false);
      expect((await other.get("device:d"))?.value).toEqual({ approved: true });
      await backend.pass(2000);
      expect(await devices.delete("d", { ifVersion: 2 })).toBe(false);
      await other.put("device:d", {}, { ifVersion: 0 });
      const answers = await Promise.all(
        [store, other, store, other].map((each) => createRecords(each).devices.delete("d", { ifVersion: 1 })),
      );
      expect(answers.filter(Boolean)).toHaveLength(1);
    });

    test("take() gives the record once", async () => {
      await store.put("code:x", { user: "alice" }, { tags: ["user:alice"] });
      expect(await store.take("code:x")).toEqual({
        key: "code:x",
        value: { user: "alice" },
        version: 1,
        tags: ["user:alice"],
      });
      expect(await other.take("code:x")).toBeUndefined();
      expect(await store.list("user:alice")).toEqual([]);
    });

    test("list() answers live records with the tag, ordered by the bytes of their keys", async () => {
      for (const key of ["b", "a", "B", "😀", "\uffee", "aa"]) await store.put(key, key, { tags: ["t"] });
      await store.put("untagged", 1);
      await store.put("elsewhere", 1, { tags: ["T", "t2"] });
      await store.put("gone", 1, { tags: ["t"], expiresAt: backend.now() + 1 });
      await backend.pass(1000);
      expect((await other.list("t")).map((record) => record.key)).toEqual(["B", "a", "aa", "b", "\uffee", "😀"]);
    });

    test("page() answers live records by the beginning of their keys, page by page, in the order of their bytes", async () => {
      const keys = ["a:", "a:B", "a:a", "a:aa", "a:b", "a:\uffee", "a:😀", "a;", "A:a", "a", "b:a"];
      for (const key of keys) await store.put(key, key, { tags: key.includes("a:a") ? ["t", "u"] : ["u"] });
      await store.put("a:gone", 1, { tags: ["t"], expiresAt: backend.now() + 1 });
      await backend.pass(1000);
      const page = async (query: Omit<PageQuery, "prefix">): Promise<readonly string[]> => {
        const found = (await other.page({ prefix: "a:", ...query })).map((record) => record.key);
        if (query.tag === undefined) expect(await other.keys({ prefix: "a:", ...query })).toEqual(found);
        return found;
      };
      expect(await page({ limit: 1000 })).toEqual(keys.slice(0, 7));
      expect(await page({ limit: 3 })).toEqual(["a:", "a:B", "a:a"]);
      expect(await page({ limit: 3, after: "a:a" })).toEqual(["a:aa", "a:b", "a:\uffee"]);
      expect(await page({ limit: 3, after: "a:\uffee" })).toEqual(["a:😀"]);
      expect(await page({ limit: 3, after: "a:😀" })).toEqual([]);
      // A record that is not there is a place between others all the same, and what is before the first is the beginning.
      expect(await page({ limit: 1, after: "a:ab" })).toEqual(["a:b"]);
      expect(await page({ limit: 1, after: "Z" })).toEqual(["a:"]);
      expect(await page({ limit: 1, after: "b" })).toEqual([]);
      expect(await page({ limit: 1, tag: "t" })).toEqual(["a:a"]);
      expect(await page({ limit: 9, tag: "t", after: "a:a" })).toEqual(["a:aa"]);
      expect(await page({ limit: 9, tag: "none" })).toEqual([]);
      const [whole] = await other.page({ prefix: "a:aa", limit: 1 });
      expect(whole).toEqual({ key: "a:aa", value: "a:aa", version: 1, tags: ["t", "u"] });
    });

    test("deleteByTag() removes what has the tag and nothing else", async () => {
      await store.put("a", 1, { tags: ["user:alice", "x"] });
      await store.put("b", 1, { tags: ["user:alice"] });
      await store.put("c", 1, { tags: ["user:bob"] });
      await store.put("d", 1, { tags: ["user:alice"] });
      await store.put("d", 2, { tags: ["user:bob"] });
      expect(await store.deleteByTag("user:alice")).toBe(2);
      expect(await store.deleteByTag("user:alice")).toBe(0);
      expect((await store.list("user:bob")).map((record) => record.key)).toEqual(["c", "d"]);
      expect(await store.list("x")).toEqual([]);
    });
  });

  describe("expiry", () => {
    test("an expired record is invisible, swept or not", async () => {
      const options = { expiresAt: backend.now() + 2, tags: ["t"] };
      for (const key of ["a", "b", "c", "d", "e", "f"]) await store.put(key, 1, options);
      await backend.pass(1000);
      expect(await store.get("a")).toBeDefined();
      await backend.pass(1000);
      expect(await store.get("a")).toBeUndefined();
      expect(await store.take("b")).toBeUndefined();
      expect(await store.delete("c")).toBe(false);
      expect(await store.list("t")).toEqual([]);
      expect(await store.deleteByTag("t")).toBe(0);
      expect(await store.put("d", 2, { ifVersion: 1 })).toEqual({ ok: false, reason: "conflict" });
      expect(await store.put("e", 2, { ifVersion: 0 })).toEqual({ ok: true, version: 1 });
      expect(await store.put("f", 2)).toEqual({ ok: true, version: 1 });
      expect((await store.get("f"))?.expiresAt).toBeUndefined();
    });

    test("now() tells the time that it goes by, to all the same", async () => {
      const before = backend.now();
      const told = [await store.now(), await other.now()];
      const after = backend.now();
      for (const now of told) expect(now >= before && now <= after).toBe(true);
    });

    test("sweep() removes what expired, in however many rows, and nothing else", async () => {
      const expiresAt = backend.now() + 1;
      const keys = Array.from({ length: 450 }, (_, index) => `gone:${index}`);
      await Promise.all(keys.map((key) => store.put(key, 1, { expiresAt, tags: ["t"] })));
      await store.put("kept", 1, { tags: ["t"] });
      await store.put("later", 1, { expiresAt: expiresAt + 60, tags: ["t"] });
      await store.lease("dead", 500);
      await store.append("feed", 1, expiresAt);
      const kept = await store.append("feed", 2, expiresAt + 60);
      await backend.pass(1000);
      expect(await store.sweep()).toBe(452);
      expect(await other.sweep()).toBe(0);
      expect((await store.list("t")).map((record) => record.key)).toEqual(["kept", "later"]);
      expect(await store.changesSince("feed", 0)).toEqual([{ sequence: kept, entry: 2 }]);
    });
  });

  describe("concurrency", () => {
    test("of 50 parallel take() exactly one gets the record", async () => {
      await store.put("code:x", 1);
      const taken = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? store : other).take("code:x")),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
    });

    test("of 50 parallel put() with one ifVersion exactly one writes", async () => {
      for (const ifVersion of [0, 1]) {
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, index) => (index % 2 ? store : other).put("k", index, { ifVersion })),
        );
        expect(results.filter((result) => result.ok)).toEqual([{ ok: true, version: ifVersion + 1 }]);
        const winner = results.findIndex((result) => result.ok);
        expect((await store.get("k"))?.value).toBe(winner);
      }
    });

    test("parallel read-modify-write with ifVersion loses no update", async () => {
      await store.put("counter", 0);
      const add = async (through: Store): Promise<void> => {
        for (;;) {
          const record = await through.get<number>("counter");
          const done = record && (await through.put("counter", record.value + 1, { ifVersion: record.version }));
          if (done?.ok) return;
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, index) => add(index % 2 ? store : other)));
      expect(await store.get("counter")).toMatchObject({ value: 20, version: 21 });
    });

    test("of 50 parallel lease() exactly one holds it", async () => {
      const leases = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? store : other).lease("l", 5000)),
      );
      expect(leases.filter(Boolean)).toHaveLength(1);
    });

    test("parallel append() gives every reader every entry once, in one order", async () => {
      const expiresAt = backend.now() + 60;
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? store : other).append("feed", index, expiresAt)),
      );
      const entries = await store.changesSince("feed", 0);
      expect(entries.map((entry) => entry.entry).sort((a, b) => Number(a) - Number(b))).toEqual(
        Array.from({ length: 50 }, (_, index) => index),
      );
      expect(await other.changesSince("feed", 0)).toEqual(entries);
    });

    test("a reader that follows the feed while others append misses nothing", async () => {
      const expiresAt = backend.now() + 60;
      let writing = true;
      const writers = Promise.all(
        [store, other, store].map(async (through, writer) => {
          for (let index = 0; index < 15; index++) await through.append("feed", `${writer}:${index}`, expiresAt);
        }),
      ).finally(() => (writing = false));
      const seen: unknown[] = [];
      for (let last = 0, more = true; more;) {
        more = writing;
        for (const { sequence, entry } of await store.changesSince("feed", last)) {
          last = sequence;
          seen.push(entry);
        }
      }
      await writers;
      expect(new Set(seen).size).toBe(45);
      expect(seen).toHaveLength(45);
    });
  });

  describe("lease", () => {
    test("blocks others until released", async () => {
      const lease = await store.lease("refresh:alice", 10_000);
      expect(await other.lease("refresh:alice", 10_000)).toBeUndefined();
      expect(await store.lease("refresh:alice", 10_000)).toBeUndefined();
      expect(await other.lease("refresh:bob", 10_000)).toBeDefined();
      await lease?.release();
      expect(await other.lease("refresh:alice", 10_000)).toBeDefined();
    });

    test("passes to another when its holder let it expire, and the first holder can neither renew nor release it", async () => {
      const first = await store.lease("l", 2000);
      await backend.pass(1000);
      expect(await other.lease("l", 2000)).toBeUndefined();
      await backend.pass(1000);
      const second = await other.lease("l", 2000);
      expect(second).toBeDefined();
      expect(await first?.renew(2000)).toBe(false);
      await first?.release();
      expect(await store.lease("l", 2000)).toBeUndefined();
      expect(await second?.renew(2000)).toBe(true);
    });

    test("renew() extends it, also late if it was still free", async () => {
      const lease = await store.lease("l", 2000);
      await backend.pass(1500);
      expect(await lease?.renew(2000)).toBe(true);
      await backend.pass(1500);
      expect(await other.lease("l", 2000)).toBeUndefined();
      await backend.pass(1500);
      expect(await lease?.renew(2000)).toBe(true);
      expect(await other.lease("l", 2000)).toBeUndefined();
    });
  });

  describe("allot", () => {
    const ask = { limit: 10, wanted: 1, spent: 0, share: 1, keepMs: 60_000, slotMs: 1 };

    test("of 50 parallel allot() for a limit of 10 exactly ten get one", async () => {
      const allotted = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? store : other).allot("user:alice", ask)),
      );
      expect(allotted.reduce((sum, { granted }) => sum + granted, 0)).toBe(10);
      expect(Math.max(...allotted.map(({ granted }) => granted))).toBe(1);
      const full = await other.allot("user:alice", ask);
      expect(full).toMatchObject({ granted: 0, used: 10 });
      expect(full.freeInMs).toBeGreaterThan(30_000);
      expect(full.freeInMs).toBeLessThanOrEqual(60_001);
      expect((await other.allot("user:bob", ask)).granted).toBe(1);
    });

    test("what was given counts until its time has passed", async () => {
      await store.allot("k", { ...ask, wanted: 10 });
      await backend.pass(30_000);
      expect((await other.allot("k", ask)).granted).toBe(0);
      await backend.pass(31_000);
      expect(await other.allot("k", ask)).toMatchObject({ granted: 1, used: 1, freeInMs: 0 });
    });

    test("a share of what is left is given, what was spent is counted above the limit, and what comes back is not", async () => {
      const slot = { ...ask, slotMs: 20_000, wanted: 10, share: 4 };
      expect(await store.allot("k", slot)).toMatchObject({ granted: 3, used: 3 });
      const { entry, granted, used, validMs } = await other.allot("k", { ...slot, spent: 9 });
      expect([granted, used]).toEqual([9, 12]);
      expect(validMs).toBeLessThanOrEqual(20_000);
      expect(await store.allot("k", slot)).toMatchObject({ granted: 0, used: 12 });
      const back = { entry, count: 9 };
      expect((await store.allot("k", { ...slot, wanted: 0, back })).used).toBe(3);
      // No more than the entry has, and nothing of entries that are gone.
      expect((await store.allot("k", { ...slot, wanted: 0, back: { entry, count: 99 } })).used).toBe(0);
      expect((await store.allot("k", { ...slot, back: { entry: "0", count: 5 } })).granted).toBe(3);
    });

    test("what a holder has ends after its time, and is kept by renewing it", async () => {
      const hold = { ...ask, limit: 3, wanted: 2, keepMs: 30_000, holder: "one" };
      await store.allot("k", hold);
      expect((await other.allot("k", { ...hold, holder: "two" })).granted).toBe(1);
      const renewal = { ...hold, spent: 2, back: { entry: "one", count: 2 } };
      await backend.pass(20_000);
      expect(await store.allot("k", renewal)).toMatchObject({ granted: 2, used: 3 });
      await backend.pass(20_000);
      // "two" is gone, "one" is not.
      expect((await other.allot("k", { ...hold, holder: "three" })).granted).toBe(1);
    });

    test.each([false, true])(
      "allot() reckons as allotments.ts does, whatever is asked; durable: %s",
      async (isDurable) => {
        // Above PostgreSQL's integers.
        const unit = isDurable ? 1_000_000_000 : 1;
        let seed = 16;
        const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
        const month = 31 * 86_400_000;
        const names = ["one", "two", "three"];
        let entries: readonly CountEntry[] = [];
        for (let round = 0; round < 60; round++) {
          const spent = random() < 0.2 ? Math.floor(random() * 9) * unit : 0;
          const back = { entry: names[Math.floor(random() * 3)] ?? "", count: Math.floor(random() * 12) * unit };
          const request = {
            isDurable,
            isWhole: random() < 0.3,
            limit: 1 + Math.floor(random() * 40) * unit,
            wanted: spent + Math.floor(random() * 15) * unit,
            spent,
            share: 1 + Math.floor(random() * 4),
            keepMs: month,
            slotMs: month,
            holder: names[Math.floor(random() * 3)],
            ...(random() < 0.6 ? { back } : {}),
          };
          const expected = allot(entries, 0, request);
          entries = expected.entries;
          const used = entries.reduce((sum, { count }) => sum + count, 0);
          const through = round % 2 ? store : other;
          expect(await through.allot("k", request)).toMatchObject({ granted: expected.granted, used });
        }
      },
    );

    test("rate limits of three processes: small ones are exact, others overshot by no more than is stated", async () => {
      const requests = [10, 300];
      const limits = requests.map((most) => ({ name: `l${most}`, requests: most, window: "10m" }));
      const passed = await Promise.all(
        limits.map(async (limit) => {
          const limited = limitWorld([limit], { processes: 3, store: [store, other] });
          const asked = Array.from({ length: 450 }, async (_, index) =>
            limited.processes[index % 3]?.take(limited.route, alice),
          );
          const admissions = await Promise.all(asked);
          await limited.close();
          return admissions.filter((admission) => admission?.ok).length;
        }),
      );
      expect(passed[0]).toBe(10);
      expect(passed[1]).toBeLessThanOrEqual(300 + 3 * advanceOf(300));
      // A few may lie in a process that nobody asks any more.
      expect(passed[1]).toBeGreaterThan(200);
    });

    test("history rules of two processes: totals are exact under parallel calls, and a mark is known to the other at once", async () => {
      const rules = compileHistoryRules([
        {
          name: "sum",
          calls: { or: [{ mcp_tool: "pay" }] },
          total: { argument: "/amount", limit: "10.3", within: "1d" },
        },
        {
          name: "order",
          calls: { or: [{ mcp_tool: "send" }] },
          not_after: { calls: { or: [{ mcp_tool: "browse" }] }, within: "1m" },
        },
        {
          name: "first",
          calls: { or: [{ mcp_tool: "publish" }] },
          after: { calls: { or: [{ mcp_tool: "review" }] }, within: "1m" },
        },
      ]);
      // Clocks of the processes do not matter: times are the store's.
      const shared = [store, other].map((each, index) => {
        const clock = { now: () => Date.now() + index * 90_000 };
        const counts = createSharedCounts({ store: each, clock, log: silentLog(), countProcesses: async () => 2 });
        return { counts, history: new StoreHistory({ counts, clock }) };
      });
      const decide = async (tool: string, process: number, given: object = {}): Promise<string | undefined> => {
        const facts = {
          http: { method: "POST", path: "/", host: "h", ip: "" },
          mcp: { method: "tools/call", tool, arguments: argumentsOf(given) },
        };
        const caller = { user: "u", grant: undefined, client: undefined, run: undefined };
        const plan = planCall({ key: "o/r", rules: rules ?? [] }, facts, caller);
        const state = shared[process]?.history;
        if (!plan || !state) return "no rule";
        const [early] = (await checkEarlier(plan, state, true)).denials;
        const denial = early ?? (await countCall(plan, state)).denial ?? (await markCall(plan, state));
        if (!denial) await markOutcomes(plan.outcomes, state);
        return denial?.reason;
      };
      const paid = await Promise.all(
        Array.from({ length: 50 }, (_, index) => decide("pay", index % 2, { amount: 0.3 })),
      );
      expect(paid.filter((each) => each === undefined)).toHaveLength(34);
      expect(await decide("pay", 0, { amount: 0.1 })).toBeUndefined();
      expect(await decide("pay", 1, { amount: 0.000001 })).toBe("history-total");
      expect(await decide("send", 1)).toBeUndefined();
      expect(await decide("browse", 0)).toBeUndefined();
      expect(await decide("send", 1)).toBe("history-not-after");
      expect(await decide("publish", 1)).toBe("history-after");
      expect(await decide("review", 0)).toBeUndefined();
      expect(await decide("publish", 1)).toBeUndefined();
      for (const { counts, history } of shared) {
        await history.close();
        await counts.close();
      }
    });

    test("sweep() removes counts that nothing is left of", async () => {
      await store.allot("k", ask);
      await backend.pass(62_000);
      await store.allot("kept", ask);
      expect(await store.sweep()).toBe(1);
      expect((await store.allot("kept", ask)).used).toBe(2);
    });
  });

  describe("feed", () => {
    test("changesSince() answers later entries of that feed, oldest first", async () => {
      const expiresAt = backend.now() + 60;
      const first = await store.append("revocations", { key: "session:1" }, expiresAt);
      await store.append("elsewhere", { key: "session:2" }, expiresAt);
      const third = await other.append("revocations", { key: "session:3" }, expiresAt);
      expect(third).toBeGreaterThan(first);
      expect(await store.changesSince("revocations", 0)).toEqual([
        { sequence: first, entry: { key: "session:1" } },
        { sequence: third, entry: { key: "session:3" } },
      ]);
      expect(await store.changesSince("revocations", first)).toEqual([
        { sequence: third, entry: { key: "session:3" } },
      ]);
      expect(await store.changesSince("revocations", third)).toEqual([]);
    });

    test("changesSince() returns at most 1000 entries, and the next call continues", async () => {
      const expiresAt = backend.now() + 60;
      // Not all at once: those that wait for a connection for too long would be refused on a busy machine.
      for (let begin = 0; begin < 1001; begin += 50)
        await Promise.all(
          Array.from({ length: Math.min(50, 1001 - begin) }, (_, index) =>
            store.append("feed", begin + index, expiresAt),
          ),
        );
      const page = await store.changesSince("feed", 0);
      expect(page).toHaveLength(1000);
      expect(await store.changesSince("feed", page.at(-1)?.sequence ?? 0)).toHaveLength(1);
    });

    test("sequences are not used again after the newest entry was swept", async () => {
      const before = await store.append("feed", 1, backend.now() + 1);
      await backend.pass(1000);
      await store.sweep();
      expect(await store.append("feed", 2, backend.now() + 60)).toBeGreaterThan(before);
    });

    test("onAppend() calls back after this and another process appended, until unsubscribed", async () => {
      const expiresAt = backend.now() + 60;
      let calls = 0;
      const unsubscribe = store.onAppend("feed", () => calls++);
      const before = calls;
      await other.append("feed", 1, expiresAt);
      await expect.poll(() => calls).toBeGreaterThan(before);
      const between = calls;
      await store.append("feed", 2, expiresAt);
      await expect.poll(() => calls).toBeGreaterThan(between);
      unsubscribe();
      const after = calls;
      await store.append("feed", 3, expiresAt);
      expect(calls).toBe(after);
    });
  });

  approvalContract(() => ({ stores: [store, other], now: () => backend.now() }));

  describe("refusals", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    test.each<[string, (s: Store) => Promise<unknown>]>([
      ["an empty key", (s) => s.put("", 1)],
      ["a key with NUL", (s) => s.get("a\0b")],
      ["a key that is not well-formed text", (s) => s.get("\ud800")],
      ["a key too long for an index", (s) => s.put("ä".repeat(600), 1)],
      ["a tag with NUL", (s) => s.put("k", 1, { tags: ["a\0"] })],
      ["an empty tag", (s) => s.list("")],
      ["a page of no keys in particular", (s) => s.page({ prefix: "", limit: 1 })],
      ["a page with an end that no order tells", (s) => s.page({ prefix: "ä", limit: 1 })],
      ["a page of nothing", (s) => s.page({ prefix: "k", limit: 0 })],
      ["a page too long", (s) => s.page({ prefix: "k", limit: 1001 })],
      ["too many keys", (s) => s.keys({ prefix: "k", limit: 1001 })],
      ["a page after a key with NUL", (s) => s.page({ prefix: "k", after: "k\0", limit: 1 })],
      ["too many tags", (s) => s.put("k", 1, { tags: Array.from({ length: 33 }, (_, i) => `t${i}`) })],
      ["undefined", (s) => s.put("k", undefined)],
      ["a function", (s) => s.put("k", () => 1)],
      ["a bigint", (s) => s.put("k", 1n)],
      ["a cycle", (s) => s.put("k", cyclic)],
      ["expiresAt in milliseconds", (s) => s.put("k", 1, { expiresAt: Date.now() })],
      ["a fractional expiresAt", (s) => s.put("k", 1, { expiresAt: 1.5 })],
      ["expiresAt NaN", (s) => s.append("feed", 1, Number.NaN)],
      ["a negative ifVersion", (s) => s.put("k", 1, { ifVersion: -1 })],
      ["a fractional ifVersion", (s) => s.delete("k", { ifVersion: 0.5 })],
      ["a lease of no time", (s) => s.lease("l", 0)],
      ["a lease of endless time", (s) => s.lease("l", Number.POSITIVE_INFINITY)],
    ])("%s is refused as store.invalid and changes nothing", async (_, attempt) => {
      await expect(attempt(store)).rejects.toMatchObject({ name: "GatewayError", code: "store.invalid" });
      expect(await store.get("k")).toBeUndefined();
    });

    test("after close() everything fails as store.unavailable, and close() may be repeated", async () => {
      const third = await backend.open();
      await third.close();
      await third.close();
      for (const attempt of [
        () => third.get("k"),
        () => third.put("k", 1),
        () => third.take("k"),
        () => third.sweep(),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ name: "GatewayError", code: "store.unavailable" });
      }
    });
  });
}

describe("memory store", () => {
  contract(async () => {
    const clock = createTestClock();
    return {
      async fresh() {
        const store = createMemoryStore({ clock });
        return [store, store];
      },
      open: async () => createMemoryStore({ clock }),
      now: () => epochSeconds(clock),
      pass: async (ms) => clock.advance(ms),
      close: async () => {},
    };
  });
});

describe("SQLite store", () => {
  contract(async () => {
    const clock = createTestClock();
    const directory = mkdtempSync(join(tmpdir(), "gateform-store-"));
    const path = join(directory, "gateway.db");
    // Together: both find an empty file at first and must not both create the tables.
    const handles = await Promise.all([openSqliteStore({ path, clock }), openSqliteStore({ path, clock })]);
    const admin = new DatabaseSync(path, { timeout: POLL_MS });
    return {
      async fresh() {
        admin.exec(
          "DELETE FROM gateway_tags; DELETE FROM gateway_records; DELETE FROM gateway_leases; DELETE FROM gateway_feed; DELETE FROM gateway_allotments",
        );
        return handles;
      },
      open: () => openSqliteStore({ path, clock }),
      now: () => epochSeconds(clock),
      pass: async (ms) => clock.advance(ms),
      async close() {
        admin.close();
        await Promise.all(handles.map((handle) => handle.close()));
        rmSync(directory, { recursive: true });
      },
    };
  });
});

/**
 * The server's clock checks expiry. A real one moves between a write and the read that follows, past the end of any second.
 * A search path that names pg_catalog last finds this function first.
 */
const CLOCK_OF_THE_TEST = `
  CREATE TABLE clock_of_the_test AS SELECT 0::bigint AS ms;
  CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
    AS 'SELECT to_timestamp(ms / 1000.0) FROM clock_of_the_test'`;

const found = findPostgres();
if ("missing" in found) console.warn(`PostgreSQL store: skipped, ${found.missing}`);
describe.skipIf("missing" in found)("PostgreSQL store", () => {
  let emptyRecords = (): Promise<RecordPlace> => Promise.reject(new Error("it is not started"));
  describe("of records", () => recordStoreContract(() => emptyRecords()));
  contract(async () => {
    if ("missing" in found) throw new Error(found.missing);
    const server = await startPostgres(found.bin);
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    const clock = createTestClock();
    await admin.query(CLOCK_OF_THE_TEST);
    const setClock = (): Promise<unknown> => admin.query("UPDATE clock_of_the_test SET ms = $1", [clock.now()]);
    await setClock();
    const url = new URL(server.url);
    url.searchParams.set("options", "-c search_path=public,pg_catalog");
    const deps = { url: url.href, log: silentLog() };
    emptyRecords = async () => {
      await admin.query("DROP SCHEMA IF EXISTS gateform_records CASCADE");
      return { kind: "postgres", url: server.url };
    };
    const handles = await Promise.all([openPostgresStore(deps), openPostgresStore(deps)]);
    return {
      async fresh() {
        await admin.query(
          "TRUNCATE gateway_records, gateway_leases, gateway_feed, gateway_allotments, gateway_history",
        );
        return handles;
      },
      open: () => openPostgresStore(deps),
      now: () => epochSeconds(clock),
      async pass(ms) {
        clock.advance(ms);
        await setClock();
      },
      async close() {
        await Promise.all(handles.map((handle) => handle.close()));
        await admin.end();
        await server.close();
      },
    };
  });
});
