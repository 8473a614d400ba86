/**
 * The record store with many records: `node test/bench/records.ts [--count N] [--postgres]`. Generates records over nearly seven
 * days, stores them as a gateway does, asks for pages, and lets them expire. Exit code 1 above a bound: a page 100 ms,
 * storing 60 µs of CPU a record, 1,300 bytes a record, memory beside the process's own 200 MB.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import { openRecordReader, openRecordStore } from "../../runtime/record-store/record-store.ts";
import type { RecordPlace, RecordStoreOptions } from "../../runtime/record-store/back-end.ts";
import type { RecordPage, RecordQuery, RecordReader } from "../../runtime/record-store/record-reader.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { manyCopies, RARE_ROUTE, RARE_USER } from "../support/record-copies.ts";
import { formatTable, median } from "./common/table.ts";

const DAY = 24 * 3600_000;
const MAX_PAGE_MS = 100;
const MAX_STORE_MICROS = 60;
const MAX_BYTES = 1_300;
const MAX_MEMORY = 200 << 20;
const ROUNDS = 15;
/** Handed over together, as a busy gateway does. */
const BATCH = 500;

const { values: given } = parseArgs({ options: { count: { type: "string" }, postgres: { type: "boolean" } } });
const count = Number(given.count ?? 10_000_000);
const directory = mkdtempSync(join(tmpdir(), "bench-records-"));
const postgres = given.postgres === true ? await startServer() : undefined;
const path = join(directory, "records.db");
const place: RecordPlace = postgres
  ? { kind: "postgres", url: postgres.url }
  : { kind: "sqlite", path, isTemporary: false };
const options: RecordStoreOptions = { place, maxAgeMs: 7 * DAY, maxRecords: Math.ceil(count * 1.1) };

let isOver = false;
const end = Date.now();
let now = end - 6.9 * DAY;
const store = openRecordStore(options, {
  log: (_, fields, message) => console.error(message, fields),
  clock: { now: () => now },
});
const reader = openRecordReader(options);
try {
  await fill();
  await askAll();
  await expire();
} finally {
  await reader.close();
  await store.close();
  await postgres?.close();
  rmSync(directory, { recursive: true });
}
process.exitCode = isOver ? 1 : 0;

async function startServer(): Promise<Postgres> {
  const found = findPostgres();
  if ("missing" in found) throw new Error(found.missing);
  return startPostgres(found.bin);
}

async function fill(): Promise<void> {
  const before = process.memoryUsage().rss;
  let micros = 0;
  let most = 0;
  const started = performance.now();
  const step = (6.9 * DAY) / count;
  const copies = manyCopies();
  for (let done = 0; done < count; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - done) }, (_, at) => {
      now += step;
      return copies(done + at, now);
    }).flat();
    const cpu = process.cpuUsage();
    store.take(batch);
    await store.flush();
    const { user, system } = process.cpuUsage(cpu);
    micros += user + system;
    if ((done / BATCH) % 200 === 0) most = Math.max(most, process.memoryUsage().rss);
    if (done % 1_000_000 === 0 && done > 0)
      console.error(
        `${done} stored, ${((performance.now() - started) / 1000).toFixed(0)} s, ${(micros / done).toFixed(1)} µs each`,
      );
  }
  now = Date.now();
  await delay(1_000);
  const seconds = (performance.now() - started) / 1000;
  const { lost, waiting } = store.status();
  const { count: kept, bytes } = await reader.stats();
  const wal = postgres ? 0 : (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  const each = micros / count;
  const memory = most - before;
  isOver ||=
    each > MAX_STORE_MICROS || bytes / kept > MAX_BYTES || memory > MAX_MEMORY || lost + waiting > 0 || kept !== count;
  console.log(
    formatTable(
      ["storing", ""],
      [
        ["records", `${kept} of ${count} (lost ${lost})`],
        ["all together, with making them", `${seconds.toFixed(0)} s`],
        ["CPU a record, its request's end included", `${each.toFixed(1)} µs (bound ${MAX_STORE_MICROS})`],
        [
          "disk a record",
          `${(bytes / kept).toFixed(0)} bytes (bound ${MAX_BYTES}); write-ahead log ${(wal / 2 ** 20).toFixed(0)} MiB`,
        ],
        ["memory", `${(memory / 2 ** 20).toFixed(0)} MiB more at most (bound ${MAX_MEMORY / 2 ** 20})`],
      ],
    ),
  );
}

async function askAll(): Promise<void> {
  const page = { order: "newest", limit: 50, kind: "decision" } as const;
  const middle = { sinceMs: end - 4 * DAY, untilMs: end - 3 * DAY };
  const questions: readonly (readonly [string, RecordQuery])[] = [
    ["newest", page],
    ["a day", { ...page, ...middle }],
    ["a day, oldest first", { ...page, ...middle, order: "oldest" }],
    ["a user", { ...page, user: "user-17" }],
    ["a user by email, a day", { ...page, ...middle, user: "user-17@example.com" }],
    ["a rare user", { ...page, user: RARE_USER }],
    ["an unknown user", { ...page, user: "nobody" }],
    ["a route, a day", { ...page, ...middle, route: "team-3/route-3" }],
    ["a tool, a day", { ...page, ...middle, tool: "tool_5" }],
    ["an owner, a day", { ...page, ...middle, owners: ["team-3"] }],
    ["denied", { ...page, outcomes: ["denied"] }],
    ["denied or limited, a day", { ...page, ...middle, outcomes: ["denied", "limited"] }],
    ["allowed, a day", { ...page, ...middle, outcomes: ["allowed"] }],
    ["a user on a route, denied", { ...page, user: "user-17", route: "team-3/route-3", outcomes: ["denied"] }],
    [
      "rare: a frequent route with a frequent tool, never together",
      { ...page, route: "team-0/route-0", tool: "tool_never_0" },
    ],
    ["rare: a route that is hardly used", { ...page, route: RARE_ROUTE }],
  ];
  const rows: string[][] = [];
  for (const [name, query] of questions) {
    let last: RecordPage | undefined;
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const started = performance.now();
      last = await reader.find(query);
      times.push(performance.now() - started);
    }
    const ms = median(times);
    isOver ||= ms > MAX_PAGE_MS;
    const more = last?.isPartial === true ? ", goes on" : last?.next === undefined ? ", all" : "";
    rows.push([name, `${ms.toFixed(1)} ms`, `${(times[0] ?? 0).toFixed(1)} ms`, `${last?.records.length}${more}`]);
  }
  console.log(formatTable([`a page (bound ${MAX_PAGE_MS} ms)`, "median", "first", "found"], rows));
  await wholeWay(reader);
}

/** A rare combination, page by page to its end. */
async function wholeWay(from: RecordReader): Promise<void> {
  const query: RecordQuery = { order: "newest", limit: 50, route: "team-0/route-0", tool: "tool_never_0" };
  let pages = 0;
  let worst = 0;
  const started = performance.now();
  for (let cursor: string | undefined = ""; cursor !== undefined; pages += 1) {
    const before = performance.now();
    const page: RecordPage = await from.find(cursor === "" ? query : { ...query, cursor });
    worst = Math.max(worst, performance.now() - before);
    cursor = page.next;
  }
  console.log(
    `the rare combination to its end: ${pages} pages, ${(performance.now() - started).toFixed(0)} ms, worst ${worst.toFixed(0)} ms`,
  );
}

/** Seven days later, all but what was just written is gone. */
async function expire(): Promise<void> {
  const started = performance.now();
  const cpu = process.cpuUsage();
  now = end + 7.5 * DAY;
  store.take(manyCopies()(count + 1, now));
  await store.flush();
  await store.close();
  const later = openRecordStore(options, { log: () => {}, clock: { now: () => now } });
  for (let left = count; left > 2; left = (await reader.stats()).count) await delay(50);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - started) / 1000;
  console.log(`expired in ${seconds.toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`);
  await later.close();
}
