/** The record store in a SQLite file; test/store/contract.test.ts has the same promises over PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";

import type { RecordConsumer } from "../../../runtime/audit/record-consumer.ts";
import { BackEndError, type RecordBackEnd, type RecordPlace } from "../../../runtime/record-store/back-end.ts";
import { forgetRecords } from "../../../runtime/record-store/forget.ts";
import { recordPlace } from "../../../runtime/record-store/options.ts";
import { createIds, firstIdAt, formatId, parseId, timeOf } from "../../../runtime/record-store/record-id.ts";
import { keepRecords } from "../../../runtime/record-store/record-keeper.ts";
import type { RecordQuery } from "../../../runtime/record-store/record-reader.ts";
import { openRecordReader, openRecordStore } from "../../../runtime/record-store/record-store.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { onFault } from "../../../runtime/shared/faults/faults.ts";
import { findAll, recordStoreContract } from "../../store/record-store-contract.ts";
import { copyOf, endOf } from "../../support/record-copies.ts";

const directory = mkdtempSync(join(tmpdir(), "record-store-"));
afterAll(() => rmSync(directory, { recursive: true }));
let files = 0;
const freshPath = (): string => join(directory, `${++files}.db`);
const sqlite = (path: string): RecordPlace => ({ kind: "sqlite", path, isTemporary: false });

const bounds = { maxAgeMs: 24 * 3600_000, maxRecords: 100_000 };
const open: { close(): Promise<void> }[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const each of open.splice(0)) await each.close();
});

function opened(path: string, told: string[] = []): RecordConsumer {
  const log = (_: string, fields: object, message: string): void =>
    void told.push(`${message} ${JSON.stringify(fields)}`);
  const store = openRecordStore({ place: sqlite(path), ...bounds }, { clock: systemClock, log, flushMs: 5 });
  open.push(store);
  return store;
}

function readerOf(path: string): ReturnType<typeof openRecordReader> {
  const reader = openRecordReader({ place: sqlite(path), maxAgeMs: bounds.maxAgeMs });
  open.push(reader);
  return reader;
}

describe("SQLite record store", () => {
  recordStoreContract(async () => sqlite(freshPath()));

  test("before anything was written a reader finds nothing", async () => {
    const reader = readerOf(freshPath());
    expect(await reader.find({ order: "newest", limit: 1 })).toEqual({ records: [], isPartial: false });
    expect(await reader.get("1")).toBeUndefined();
    expect(await reader.stats()).toEqual({ count: 0, bytes: 0 });
  });

  test("of a user who is forgotten nothing stays in the file, of what was dropped, moved or changed neither", async () => {
    const path = freshPath();
    const some = { place: sqlite(path), maxAgeMs: 3600_000, maxRecords: 400 };
    const store = openRecordStore(some, { clock: systemClock, log: () => {}, flushMs: 5 });
    open.push(store);
    for (let at = 0; at < 600; at += 20) {
      const now = Date.now();
      const given = Array.from({ length: 20 }, (_, n) =>
        copyOf(now, `${at + n}`, { user: n % 2 === 0 ? "user-alice" : "user-bob", path: `/${"p".repeat(n * 9)}` }),
      );
      store.take(given);
      await store.flush();
      store.take(given.map((_, n) => endOf(`${at + n}`, 200)));
      await store.flush();
    }
    await store.close();
    // The first segments are dropped by whoever opens it next.
    const next = openRecordStore(some, { clock: systemClock, log: () => {} });
    const reader = readerOf(path);
    await expect.poll(async () => (await reader.stats()).count).toBeLessThanOrEqual(400);
    await next.close();
    const { count: kept } = await reader.stats();
    expect(await forgetRecords(some, { ids: ["user-alice"], emails: [] })).toBe(kept / 2);
    const inFiles = readdirSync(directory)
      .filter((name) => name.startsWith(`${files}.db`))
      .map((name) => readFileSync(join(directory, name), "latin1"))
      .join("");
    expect(inFiles).toContain("user-bob");
    expect(inFiles).not.toContain("user-alice");
    expect(await findAll(reader, { order: "newest", limit: 100 })).toHaveLength(kept / 2);
  });

  test("the file is its owner's alone, and a temporary one is gone afterwards", async () => {
    const path = freshPath();
    const place: RecordPlace = { kind: "sqlite", path, isTemporary: true };
    const store = openRecordStore({ place, ...bounds }, { clock: systemClock, log: () => {} });
    store.take([copyOf(Date.now(), "1")]);
    await store.flush();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    await store.close();
    expect(readdirSync(directory).filter((name) => name.startsWith(`${files}.db`))).toEqual([]);
  });

  test("of two processes killed while they write, all that was said to be kept is there, and the file is whole", async () => {
    const path = freshPath();
    const counts = await Promise.all(["one", "two"].map((name) => untilKilled(path, name, 200)));
    const survivor = opened(path);
    survivor.take([copyOf(Date.now(), "after")]);
    await survivor.flush();
    const found = await findAll(readerOf(path), { order: "newest", limit: 200 });
    const ids = found.map(({ value }) => String(value["request-id"]));
    expect(new Set(ids).size).toBe(ids.length);
    for (const [which, name] of ["one", "two"].entries()) {
      const kept = ids.filter((id) => id.startsWith(name)).length;
      expect(kept).toBeGreaterThanOrEqual(counts[which] ?? 0);
    }
    const database = new DatabaseSync(path, { readOnly: true });
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const rows = database.prepare("SELECT sum(records) AS records FROM segments").get();
    database.close();
    expect(rows).toEqual({ records: ids.length });
  });

  test("a damaged file is told, records are kept again once it was moved away, and nothing of it is touched", async () => {
    const path = freshPath();
    writeFileSync(path, "This is no database, and it is longer than what SQLite looks at first. ".repeat(200));
    const told: string[] = [];
    const store = opened(path, told);
    store.take([copyOf(Date.now(), "1")]);
    await expect.poll(() => store.status().isAway).toBe(true);
    expect(store.canKeep).toBe(false);
    expect(store.status().lastError).toMatch(/is damaged: move it away/);
    expect(told.join()).toMatch(/^the record store cannot be written, records wait/);
    await expect(readerOf(path).find({ order: "newest", limit: 1 })).rejects.toMatchObject({
      code: "records.unavailable",
    });
    renameSync(path, `${path}.damaged`);
    await store.flush();
    expect(store.status()).toMatchObject({ isAway: false, waiting: 0, lost: 0 });
    expect(store.status().lastError).toBeUndefined();
    expect(told.at(-1)).toMatch(/^the record store is back/);
  });

  test("a file of a newer program, or of another one, is left alone", async () => {
    for (const [pragma, text] of [
      ["application_id = 1197888099; PRAGMA user_version = 9", /version 9, this program knows versions up to 1/],
      ["user_version = 3", /a database of something else/],
    ] as const) {
      const path = freshPath();
      const other = new DatabaseSync(path);
      other.exec(`PRAGMA ${pragma}; CREATE TABLE theirs (a)`);
      other.close();
      const store = opened(path);
      await expect.poll(() => store.status().lastError).toMatch(text);
      await store.close();
      const after = new DatabaseSync(path, { readOnly: true });
      expect(after.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "theirs" }]);
      after.close();
    }
  });
});

describe("SQLite reader", () => {
  test("a mistake of ours in an answer rejects who waits, and the next question is answered", async () => {
    const told: unknown[] = [];
    const stop = onFault(({ error }) => void told.push(error));
    const reader = readerOf(freshPath());
    expect(await reader.get("1")).toBeUndefined();
    const mistake = new Error("a mistake");
    // The answer is looked up in the questions that wait.
    const lookUp = vi.spyOn(Map.prototype, "get").mockImplementation(() => {
      lookUp.mockRestore();
      throw mistake;
    });
    await expect(reader.stats()).rejects.toThrow("a mistake");
    stop();
    expect(told).toEqual([mistake]);
    expect(await reader.stats()).toEqual({ count: 0, bytes: 0 });
  });

  test("a question that cannot be sent is refused, and does not count as one that waits", async () => {
    const reader = readerOf(freshPath());
    const odd = { order: "newest", limit: 1, odd: () => {} } as unknown as RecordQuery;
    for (let at = 0; at <= 100; at += 1) await expect(reader.find(odd)).rejects.toThrow("could not be cloned");
    expect(await reader.get("1")).toBeUndefined();
  });
});

describe("keepRecords()", () => {
  test("what does not fit while the database is away is lost oldest first, counted and told; then it goes on", async () => {
    const kept: string[] = [];
    const told: string[] = [];
    let isFull = true;
    const backEnd: RecordBackEnd = {
      async write({ rows }) {
        if (isFull) throw new BackEndError("failed", "the disk is full");
        kept.push(...rows.map(({ text }) => String((JSON.parse(text) as Record<string, unknown>)["request-id"])));
      },
      maintain: async () => false,
      close: async () => {},
    };
    const log = (level: string, _: object, message: string): void => void told.push(`${level} ${message}`);
    const store = keepRecords(backEnd, { clock: systemClock, log, maxWaiting: 10, flushMs: 1 });
    open.push(store);
    for (let at = 0; at < 25; at += 1) store.take([copyOf(1_000, String(at)), endOf(String(at), 200)]);
    await expect.poll(() => store.status().isAway).toBe(true);
    expect(store.status()).toMatchObject({ waiting: 10, taken: 25, lost: 15, lastError: "the disk is full" });
    isFull = false;
    await store.flush();
    expect(kept).toEqual(Array.from({ length: 10 }, (_, at) => String(at + 15)));
    expect(store.status()).toMatchObject({ waiting: 0, taken: 25, lost: 15, isAway: false });
    expect(told).toEqual([
      "error records are lost to the record store, the log has them",
      "error the record store cannot be written, records wait",
      "info the record store is back",
    ]);
  });

  test("a mistake of ours while it writes is reported, and what waits is written later", async () => {
    const told: unknown[] = [];
    const stop = onFault(({ error }) => void told.push(error));
    let isBroken = true;
    let kept = 0;
    const backEnd: RecordBackEnd = {
      async write({ rows }) {
        if (isBroken) throw new BackEndError("failed", "the disk is full");
        kept += rows.length;
      },
      maintain: async () => false,
      close: async () => {},
    };
    const mistake = new Error("a mistake");
    const log = (level: string): void => {
      if (level === "error") throw mistake;
    };
    const store = keepRecords(backEnd, { clock: systemClock, log, flushMs: 1 });
    open.push(store);
    store.take([copyOf(1, "one")]);
    await expect.poll(() => told).toEqual([mistake]);
    stop();
    isBroken = false;
    await store.flush();
    expect([kept, store.status().waiting, store.canKeep]).toEqual([1, 0, true]);
  });

  test("with `audit` an outcome belongs to the decision at its place, whatever the request is called", async () => {
    const results: (string | null)[] = [];
    const backEnd: RecordBackEnd = {
      write: async ({ rows }) => void results.push(...rows.map(({ result }) => result)),
      maintain: async () => false,
      close: async () => {},
    };
    const store = keepRecords(backEnd, { clock: systemClock, log: () => {} });
    open.push(store);
    store.take([copyOf(1, "same", { seq: 7 }), copyOf(2, "same", { seq: 8 })]);
    const end = endOf("same", 200).value;
    store.take([{ value: { ...end, of: 7, seq: 9 } }]);
    await store.flush();
    expect(results.map((result) => result !== null)).toEqual([true, false]);
  });
});

describe("ids", () => {
  test("they grow with time, say it, and are the same as text", () => {
    const next = createIds(4095);
    const ids = [5, 5, 6, 6, 1_800_000_000_000].map((time) => next(time));
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(ids).size).toBe(5);
    expect(ids.map(timeOf)).toEqual([5, 5, 6, 6, 1_800_000_000_000]);
    for (const id of ids) expect(parseId(formatId(id))).toBe(id);
    expect(parseId("")).toBeUndefined();
    expect(parseId("zzzzzzzzzzzzz")).toBeUndefined();
    expect(firstIdAt(-1)).toBe(0n);
  });
});

describe("recordPlace()", () => {
  test.each([
    [undefined, "sqlite:/var/lib/gateway.db", "/var/lib/gateway.records.db"],
    [undefined, "sqlite:/var/lib.d/gateway", "/var/lib.d/gateway.records"],
    ["sqlite:/records.db", "memory:", "/records.db"],
  ])("%s beside %s is %s", (own, storage, path) => {
    expect(recordPlace(own, storage)).toEqual({ kind: "sqlite", path, isTemporary: false });
  });

  test("PostgreSQL shares the database, memory has a temporary file, and what is nothing is refused", () => {
    expect(recordPlace(undefined, "postgres://h/d")).toEqual({ kind: "postgres", url: "postgres://h/d" });
    expect(recordPlace(undefined, "memory:")).toMatchObject({ kind: "sqlite", isTemporary: true });
    expect(() => recordPlace("mysql://u:secret@h", "memory:")).toThrow(/^(?!.*secret).*must be/);
  });
});

/** @returns how many records it said were kept */
async function untilKilled(path: string, name: string, least: number): Promise<number> {
  const script = join(import.meta.dirname, "../../support/record-child.ts");
  const child = spawn(process.execPath, [script, path, name], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let output = "";
  for await (const data of child.stdout) {
    output += String(data);
    if (Number(output.trimEnd().split("\n").at(-1)) >= least) break;
  }
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  return Number(output.slice(0, output.lastIndexOf("\n")).split("\n").at(-1));
}
