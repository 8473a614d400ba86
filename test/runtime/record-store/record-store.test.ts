/** The record store in a SQLite file; test/store/contract.test.ts has the same promises over PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";

import type { RecordCopy } from "../../../runtime/audit/record-consumer.ts";
import { BackEndError, type RecordBackEnd, type RecordPlace } from "../../../runtime/record-store/back-end.ts";
import { forgetRecords } from "../../../runtime/record-store/forget.ts";
import { recordPlace } from "../../../runtime/record-store/options.ts";
import { firstIdAt, formatId, parseId, recordId, timeOf } from "../../../runtime/record-store/record-id.ts";
import type { RecordQuery } from "../../../runtime/record-store/record-reader.ts";
import { createSqliteBackEnd } from "../../../runtime/record-store/sqlite/sqlite-back-end.ts";
import { openRecordReader } from "../../../runtime/record-store/record-store.ts";
import { readRecords } from "../../../runtime/record-store/result.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { onFault } from "../../../runtime/shared/faults/faults.ts";
import { findAll, recordStoreContract } from "../../store/record-store-contract.ts";
import { copyOf, endOf } from "../../support/record-copies.ts";
import type { TestConsumer } from "../../support/record-consumers.ts";
import { openTestStore } from "../../support/record-store.ts";

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

function opened(path: string, told: string[] = [], spool?: string): TestConsumer {
  const log = (_: string, fields: object, message: string): void =>
    void told.push(`${message} ${JSON.stringify(fields)}`);
  const store = openTestStore(
    { place: sqlite(path), ...bounds },
    {
      clock: systemClock,
      log,
      flushMs: 5,
      ...(spool !== undefined && { spool }),
    },
  );
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

  test("nothing of an erased user stays in the file, also not in dropped, moved or changed pages", async () => {
    const path = freshPath();
    const some = { place: sqlite(path), maxAgeMs: 3600_000, maxRecords: 400 };
    const store = openTestStore(some, { clock: systemClock, log: () => {}, flushMs: 5 });
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
    const next = openTestStore(some, { clock: systemClock, log: () => {} });
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
    const store = openTestStore({ place, ...bounds }, { clock: systemClock, log: () => {} });
    store.take([copyOf(Date.now(), "1")]);
    await store.flush();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    await store.close();
    expect(readdirSync(directory).filter((name) => name.startsWith(`${files}.db`))).toEqual([]);
  });

  test("after two processes were killed while writing, all confirmed records exist once, and the file is intact", async () => {
    const path = freshPath();
    const spool = join(directory, `spool-${++files}`);
    const counts = await Promise.all(["one", "two"].map((name) => untilKilled(path, spool, name, 200)));
    const survivor = opened(path, [], spool);
    survivor.take([copyOf(Date.now(), "after")]);
    await survivor.flush();
    // What waited in their slots is read, some of it again.
    const left = (): string[] =>
      readdirSync(join(spool, "_queue"))
        .filter((slot) => slot !== "0")
        .flatMap((slot) => readdirSync(join(spool, "_queue", slot)))
        .filter((name) => /\d{12}/.test(name));
    await expect.poll(left).toEqual([]);
    expect(survivor.status()).toMatchObject({ waiting: 0, lost: 0 });
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

  test("a damaged file is reported and left unchanged, and records are stored again once it was moved away", async () => {
    const path = freshPath();
    writeFileSync(path, "This is no database, and it is longer than what SQLite looks at first. ".repeat(200));
    const told: string[] = [];
    const store = opened(path, told);
    store.take([copyOf(Date.now(), "1")]);
    await expect.poll(() => store.status().isAway).toBe(true);
    expect(store.canKeep).toBe(false);
    expect(store.status().lastError).toMatch(/is damaged: move it away/);
    expect(told.join()).toMatch(/^record store unavailable, records queued/);
    await expect(readerOf(path).find({ order: "newest", limit: 1 })).rejects.toMatchObject({
      code: "records.unavailable",
    });
    renameSync(path, `${path}.damaged`);
    await store.flush();
    expect(store.status()).toMatchObject({ isAway: false, waiting: 0, lost: 0 });
    expect(store.status().lastError).toBeUndefined();
    expect(told.at(-1)).toMatch(/^record store recovered/);
  });

  test("a file of version 1 gets the column of request IDs, and its rows are found as before", async () => {
    const path = freshPath();
    const first = opened(path);
    first.take([copyOf(Date.now(), "old", { user: "alice" })]);
    await first.flush();
    await first.close();
    const old = new DatabaseSync(path);
    old.exec("ALTER TABLE facts_1 DROP COLUMN request; UPDATE segments SET is_indexed = 1; PRAGMA user_version = 1");
    old.close();
    const next = opened(path);
    next.take([copyOf(Date.now(), "new", { user: "alice" })]);
    await next.flush();
    const reader = readerOf(path);
    const idsOf = async (query: Partial<RecordQuery>): Promise<readonly unknown[]> =>
      (await reader.find({ order: "newest", limit: 9, ...query })).records.map(({ value }) => value["request-id"]);
    expect(await idsOf({ user: "alice" })).toEqual(["new", "old"]);
    expect(await idsOf({ request: "new" })).toEqual(["new"]);
  });

  test("a file of a newer version, or of another program, is left unchanged", async () => {
    for (const [pragma, text] of [
      ["application_id = 1197888099; PRAGMA user_version = 9", /version 9, this program knows versions up to 2/],
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
  test("a programming error in a response rejects the pending queries, and the next query works", async () => {
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

  test("a query that cannot be sent is rejected, and does not count as pending", async () => {
    const reader = readerOf(freshPath());
    const odd = { order: "newest", limit: 1, odd: () => {} } as unknown as RecordQuery;
    for (let at = 0; at <= 100; at += 1) await expect(reader.find(odd)).rejects.toThrow("could not be cloned");
    expect(await reader.get("1")).toBeUndefined();
  });
});

describe("the store while its database is unavailable", () => {
  interface TestBackEnd extends RecordBackEnd {
    readonly kept: string[];
    isAway: boolean;
  }
  const openBackEnd = (): TestBackEnd => {
    const backEnd: TestBackEnd = {
      kept: [],
      isAway: true,
      async write({ rows }) {
        if (backEnd.isAway) throw new BackEndError("failed", "the disk is full");
        backEnd.kept.push(...rows.map(({ text }) => String((JSON.parse(text) as RecordCopy["value"])["request-id"])));
      },
      maintain: async () => false,
      close: async () => {},
    };
    return backEnd;
  };

  test("loses nothing up to the limit; records beyond are counted and reported, then it continues", async () => {
    const backEnd = openBackEnd();
    const told: string[] = [];
    const gaps: string[] = [];
    const log = (level: string, _: object, message: string): void => void told.push(`${level} ${message}`);
    const record = (line: string): void => void gaps.push(line);
    const store = openTestStore(backEnd, { clock: systemClock, log, record, maxBytes: 64 << 10, flushMs: 1 });
    open.push(store);
    let put = 0;
    for (; store.status().lost === 0; put += 1) store.take([copyOf(1_000, String(put))]);
    await expect.poll(() => store.status().isAway).toBe(true);
    expect(store.canKeep).toBe(false);
    for (let more = 0; more < 5; more += 1) store.take([copyOf(1_000, `lost-${more}`)]);
    const kept = put - 1;
    expect(store.status()).toMatchObject({ waiting: kept, taken: 0, lost: 6, lastError: "the disk is full" });
    backEnd.isAway = false;
    await store.flush();
    expect(backEnd.kept).toEqual(Array.from({ length: kept }, (_, at) => String(at)));
    expect(store.status()).toMatchObject({ waiting: 0, taken: kept, lost: 6, isAway: false });
    store.take([copyOf(1_000, "next")]);
    await store.flush();
    expect(backEnd.kept.at(-1)).toBe("next");
    expect(gaps.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { message: "record gap", sink: "record_store", reason: "spool-full", lost: 6 },
    ]);
    expect(told.toSorted()).toEqual([
      "error record store drops records, log is complete",
      "error record store unavailable, records queued",
      "info record store recovered",
      "warn record store no longer drops records",
    ]);
  });

  test("with a spool nothing is lost over a restart, and an outcome finds the decision that another process wrote", async () => {
    const spool = join(directory, `spool-${++files}`);
    const path = freshPath();
    const now = Date.now();
    const deps = { clock: systemClock, log: () => {}, flushMs: 5, spool };
    const sqliteBackEnd = createSqliteBackEnd(path, false, bounds);
    let isAway = false;
    const first = openTestStore(
      {
        ...sqliteBackEnd,
        write: (batch) =>
          isAway ? Promise.reject(new BackEndError("failed", "it is away")) : sqliteBackEnd.write(batch),
      },
      deps,
    );
    first.take([copyOf(now, "written"), copyOf(now + 1, "without an end")]);
    await first.flush();
    isAway = true;
    first.take([endOf("written", 502), copyOf(now + 2, "waits")]);
    await expect.poll(() => first.status().isAway).toBe(true);
    first.take([endOf("waits", 503)]);
    await first.close();
    const second = openTestStore({ place: sqlite(path), ...bounds }, deps);
    open.push(second);
    await expect.poll(() => second.status()).toMatchObject({ waiting: 0, taken: 1, lost: 0 });
    const { records } = await readerOf(path).find({ order: "oldest", limit: 10 });
    expect(records.map(({ value, result }) => [value["request-id"], result?.status])).toEqual([
      ["written", 502],
      ["without an end", undefined],
      ["waits", 503],
    ]);
  });

  test("a mistake of ours while it writes is reported, and what waits is written later", async () => {
    const told: unknown[] = [];
    const stop = onFault(({ error }) => void told.push(error));
    const backEnd = openBackEnd();
    const mistake = new Error("a mistake");
    const log = (level: string): void => {
      if (level === "error") throw mistake;
    };
    const store = openTestStore(backEnd, { clock: systemClock, log, flushMs: 1 });
    open.push(store);
    store.take([copyOf(1, "one")]);
    await expect.poll(() => told).toEqual([mistake]);
    stop();
    backEnd.isAway = false;
    await store.flush();
    expect([backEnd.kept.length, store.status().waiting, store.canKeep]).toEqual([1, 0, true]);
  });
});

describe("readRecords()", () => {
  const lineOf = ({ value }: RecordCopy, more: object, note = ""): string =>
    JSON.stringify({ ...value, ...more }) + note;

  test("an outcome belongs to the decision at its place, whatever the request is called", () => {
    const { rows, ended } = readRecords(
      [
        lineOf(copyOf(1, "same"), { instance: "run", seq: 7 }),
        lineOf(copyOf(2, "same"), { instance: "run", seq: 8 }),
        lineOf(endOf("same", 200), { instance: "run", of: 7, seq: 9 }),
      ],
      0,
    );
    expect(rows.map(({ result }) => result !== null)).toEqual([true, false]);
    expect(ended).toEqual([]);
  });

  test("an outcome of an earlier decision has its ID; without a time, or an invalid one, it is skipped", () => {
    const of = { instance: "run", of: 7, seq: 9 };
    const [row] = readRecords([lineOf(copyOf(1_000, "a"), { instance: "run", seq: 7 })], 0).rows;
    const note = `\t${new Date(1_000).toISOString()}`;
    const { rows, ended, damaged } = readRecords(
      [
        lineOf(endOf("a", 502), of, note),
        lineOf(endOf("a", 502), of),
        lineOf(endOf("a", 502), of, "\tno time"),
        lineOf(endOf("a", 502), { instance: "run", of: "7" }, note),
        lineOf({ value: { message: "request outcome" } }, of, note),
        lineOf({ value: { message: "audit checkpoint" } }, of),
        '{"half":',
        "[]",
      ],
      0,
    );
    expect(rows).toEqual([]);
    expect(damaged).toBe(2);
    const told = { succeeded: true, guardrail: { verdict: "pass" }, listHidden: 2, listShown: 3 };
    const result = JSON.stringify({ status: 502, durationMs: 1.5, ...told });
    expect(ended).toEqual([{ id: row?.id, mark: '"instance":"run","seq":7', result, outcome: 4 }]);
  });
});

describe("ids", () => {
  test("they grow with time, say it, are the same for one record, and are the same as text", () => {
    const times = [5, 6, 1_800_000_000_000];
    const ids = times.flatMap((time) => [recordId(time, "run", 510), recordId(time, "run", 511)]);
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set([...ids, recordId(5, "run", 510), recordId(5, "another", 510)]).size).toBe(7);
    expect(ids.map(timeOf)).toEqual(times.flatMap((time) => [time, time]));
    for (const id of ids) expect(parseId(formatId(id))).toBe(id);
    for (const seq of [NaN, -1, 1.5, Infinity]) expect(timeOf(recordId(5, "run", seq))).toBe(5);
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
  ])("%s with the store %s is %s", (own, storage, path) => {
    expect(recordPlace(own, storage)).toEqual({ kind: "sqlite", path, isTemporary: false });
  });

  test("PostgreSQL shares the database, memory has a temporary file, and an invalid URL is rejected", () => {
    expect(recordPlace(undefined, "postgres://h/d")).toEqual({ kind: "postgres", url: "postgres://h/d" });
    expect(recordPlace(undefined, "memory:")).toMatchObject({ kind: "sqlite", isTemporary: true });
    expect(() => recordPlace("mysql://u:secret@h", "memory:")).toThrow(/^(?!.*secret).*must be/);
  });
});

/** @returns how many records it said were kept */
async function untilKilled(path: string, spool: string, name: string, least: number): Promise<number> {
  const script = join(import.meta.dirname, "../../support/record-child.ts");
  const child = spawn(process.execPath, [script, path, name, spool], { stdio: ["ignore", "pipe", "inherit"] });
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
