/** The queue of the copies: kept over restarts and kills, taken over by one process, bounded, read by each; what is lost is told. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { SinkTarget } from "../../../runtime/features/records/compiled.ts";
import type { Sender, SendResult } from "../../../runtime/record-sinks/sender.ts";
import { Cursor } from "../../../runtime/record-queue/cursor.ts";
import { DiskSlot } from "../../../runtime/record-queue/disk-slot.ts";
import type { RecordSinkOptions } from "../../../runtime/record-sinks/options.ts";
import { copies, makeSpool, openTestSink, openTestSinks, sinkOptions } from "../../support/record-sinks.ts";

const CHILD = join(import.meta.dirname, "../../support/sink-child.ts");
const NOWHERE: SinkTarget = { kind: "http", url: "http://127.0.0.1:1/", format: "ndjson", headers: new Map() };

interface TestSender extends Sender {
  readonly values: Readonly<Record<string, unknown>>[];
  answer: SendResult;
}

/** Takes what comes, or says that it is away. */
function openSender(): TestSender {
  const sender: TestSender = {
    values: [],
    answer: { outcome: "taken" },
    maxRecords: 512,
    maxBytes: 1 << 20,
    async send(records) {
      if (sender.answer.outcome === "taken") sender.values.push(...records.map(({ value }) => value));
      return sender.answer;
    },
    close() {},
  };
  return sender;
}

const away: SendResult = { outcome: "away", reason: "it is away" };
const numbersOf = ({ values }: TestSender): unknown[] => values.flatMap(({ n }) => (n === undefined ? [] : [n]));
const gapsOf = ({ values }: TestSender): Readonly<Record<string, unknown>>[] =>
  values.filter(({ message }) => message === "record gap");
const numbersAndGaps = ({ values }: TestSender): unknown[] =>
  values.map(({ n, message }) => (message === "record gap" ? "gap" : n));
const sizeOf = (spool: string): number =>
  readdirSync(join(spool, "_queue", "0")).reduce(
    (sum, name) => sum + statSync(join(spool, "_queue", "0", name)).size,
    0,
  );
const upTo = (end: number): number[] => Array.from({ length: end }, (_, index) => index);

function openSink(
  spool: string,
  sender: Sender,
  more: Partial<RecordSinkOptions> = {},
  record?: (line: string) => void,
) {
  return openTestSink(sinkOptions(spool, NOWHERE, more), { sender, adoptEveryMs: 5, ...(record && { record }) });
}

test("records that were not accepted are sent by the next run, before its own; accepted ones are not", async () => {
  const spool = makeSpool();
  const first = openSender();
  const one = openSink(spool, first).sink;
  one.take(copies(0, 3));
  await expect.poll(() => numbersOf(first)).toEqual([0, 1, 2]);
  first.answer = away;
  one.take(copies(3, 6));
  await one.close();
  const second = openSender();
  const two = openSink(spool, second).sink;
  two.take(copies(6, 9));
  await expect.poll(() => numbersOf(second)).toEqual([3, 4, 5, 6, 7, 8]);
  expect(readdirSync(join(spool, "_queue"))).toEqual(["0"]);
});

test("a receiver that is far behind gets the same records as one that keeps up", async () => {
  const spool = makeSpool();
  const senders = { quick: openSender(), slow: openSender() };
  senders.slow.answer = away;
  const { sinks } = openTestSinks(
    ["quick", "slow"].map((name) => sinkOptions(spool, NOWHERE, { name, spoolMaxBytes: 8 << 20 })),
    { senderOf: ({ name }) => senders[name as "slow"] },
  );
  for (let put = 0; put < 3_000; put += 500) sinks.take(copies(put, put + 500));
  await expect.poll(() => numbersOf(senders.quick)).toEqual(upTo(3_000));
  senders.slow.answer = { outcome: "taken" };
  await expect.poll(() => numbersOf(senders.slow)).toEqual(upTo(3_000));
  expect(senders.slow.values).toEqual(senders.quick.values);
});

test("closing sends pending records, if the receiver accepts them", async () => {
  const sender = openSender();
  const { sink } = openTestSink(sinkOptions(makeSpool(), NOWHERE), {
    sender,
    timing: { lingerMs: 60_000, firstRetryMs: 1, longestRetryMs: 1, random: () => 1 },
  });
  sink.take(copies(0, 700));
  await sink.close();
  expect(numbersOf(sender)).toEqual(upTo(700));
});

test("directories and files are for their owner alone", async () => {
  const spool = join(makeSpool(), "made");
  const { sink } = openSink(spool, { ...openSender(), send: async () => away });
  sink.take(copies(0, 3));
  await sink.flush();
  const slot = join(spool, "_queue", "0");
  expect(statSync(spool).mode & 0o777).toBe(0o700);
  expect(readdirSync(slot).toSorted()).toEqual(["000000000001.open", "lock", "sink-siem.cursor"]);
  for (const name of ["000000000001.open", "sink-siem.cursor"]) {
    expect(`${name} ${(statSync(join(slot, name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`);
  }
});

test("a killed process leaves all flushed records; another one sends each, and removes a partial line", async () => {
  const spool = makeSpool();
  const { headers: _, ...target } = NOWHERE;
  let known = 0;
  for (let run = 0; run < 3; run++) {
    const options = { ...sinkOptions(spool, NOWHERE, { spoolMaxBytes: 64 << 20 }), target, first: known };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const chunk of child.stdout) {
      text += String(chunk);
      if (text.split("\n").length > 12 + run) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    const flushed = Number(text.trimEnd().split("\n").at(-1));
    expect(flushed).toBeGreaterThan(known);
    known = flushed;
  }
  const files = readdirSync(join(spool, "_queue", "0")).filter((name) => name.endsWith(".open"));
  expect(files).toHaveLength(1);
  // As a kill in the middle of a write leaves it.
  appendFileSync(join(spool, "_queue", "0", files[0] ?? ""), '{"message":"authorize check","n":');
  const sender = openSender();
  const { sink, log } = openSink(spool, sender, { spoolMaxBytes: 64 << 20 });
  await expect.poll(() => sink.status()).toMatchObject({ waiting: 0, lost: 0 });
  // Each at least once: what a killed process had written beyond its last word may be there twice.
  const sent = new Set(numbersOf(sender));
  expect(upTo(known).filter((n) => !sent.has(n))).toEqual([]);
  expect(log.map(({ message }) => message)).toEqual(["incomplete record removed from record spool"]);
});

describe("several processes", () => {
  test("have a slot each; that of a dead process is taken over by one, that of a live one by none", async () => {
    const spool = makeSpool();
    const senders = [openSender(), openSender(), openSender()] as const;
    for (const sender of senders) sender.answer = away;
    const sinks = senders.map((sender) => openSink(spool, sender).sink);
    for (const [index, sink] of sinks.entries()) {
      sink.take(copies(index * 10, index * 10 + 5));
      await sink.flush();
    }
    expect(readdirSync(join(spool, "_queue")).toSorted()).toEqual(["0", "1", "2"]);
    expect(DiskSlot.open(join(spool, "_queue", "1"))).toBeUndefined();
    await sinks[1]?.close();
    senders[0].answer = { outcome: "taken" };
    senders[2].answer = { outcome: "taken" };
    await expect.poll(() => [...numbersOf(senders[0]), ...numbersOf(senders[2])].length).toBe(15);
    const all = [...numbersOf(senders[0]), ...numbersOf(senders[2])];
    expect(all.toSorted((a, b) => Number(a) - Number(b))).toEqual([
      0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24,
    ]);
    expect(numbersOf(senders[1])).toEqual([]);
  });

  test("losses of one of them are reported by the process that takes over", async () => {
    const spool = makeSpool();
    mkdirSync(join(spool, "_queue", "5"), { recursive: true });
    const loss = { reason: "spool-full", lost: 7, sinceMs: 1_000, untilMs: 2_000, from: 1 };
    const note = JSON.stringify([loss, { reason: "no such", lost: 1 }, 5]);
    writeFileSync(join(spool, "_queue", "5", "sink-siem.lost"), note);
    const sender = openSender();
    const lines: string[] = [];
    openSink(spool, sender, {}, (line) => lines.push(line));
    await expect
      .poll(() => gapsOf(sender))
      .toMatchObject([
        { reason: "spool-full", lost: 7, since: "1970-01-01T00:00:01.000Z", until: "1970-01-01T00:00:02.000Z" },
      ]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(gapsOf(sender));
    await expect.poll(() => existsSync(join(spool, "_queue", "5", "sink-siem.lost"))).toBe(false);
  });
});

describe("a spool that is full", () => {
  test("stores nothing more, and reports that it cannot; later it reports the missing records, at their position and in the log", async () => {
    const spool = makeSpool();
    const sender = openSender();
    sender.answer = away;
    const lines: string[] = [];
    const { sink, log } = openSink(spool, sender, {}, (line) => lines.push(line));
    let put = 0;
    for (; sink.canKeep; put += 10) {
      sink.take(copies(put, put + 10, 1_000));
      await sink.flush();
    }
    // What is under way finds room all the same.
    sink.take(copies(put, put + 10, 1_000));
    put += 10;
    await sink.flush();
    expect(sink.status().lost).toBe(0);
    let beyond = put;
    for (; sink.status().lost === 0; beyond += 10) {
      sink.take(copies(beyond, beyond + 10, 1_000));
      await sink.flush();
    }
    const kept = beyond - sink.status().lost;
    sink.take(copies(beyond, beyond + 25, 1_000));
    expect(sink.status()).toMatchObject({ isAway: true, waiting: kept, lost: beyond - kept + 25 });
    expect(sizeOf(spool)).toBeLessThanOrEqual((1 << 20) + 1_000);
    expect(log.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
      "record sink drops records",
    ]);

    sender.answer = { outcome: "taken" };
    await expect.poll(() => sink.canKeep).toBe(true);
    await expect.poll(() => gapsOf(sender).length).toBe(1);
    sink.take(copies(beyond + 25, beyond + 30));
    const expected = [...upTo(kept), "gap", ...upTo(beyond + 30).slice(beyond + 25)];
    await expect.poll(() => numbersAndGaps(sender)).toEqual(expected);
    expect(gapsOf(sender)).toMatchObject([{ sink: "siem", reason: "spool-full", lost: beyond - kept + 25 }]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(gapsOf(sender));
    // It comes back by the log, and stands there already.
    sink.take(lines.map((line) => ({ value: JSON.parse(line) as Record<string, unknown> })));
    sink.take(copies(beyond + 30, beyond + 31));
    await expect.poll(() => numbersOf(sender).at(-1)).toBe(beyond + 30);
    expect(gapsOf(sender)).toHaveLength(1);
  });

  test("does not forget over a restart what it had lost", async () => {
    const spool = makeSpool();
    const { sink } = openSink(spool, { ...openSender(), send: async () => away });
    let put = 0;
    for (; sink.status().lost === 0; put += 10) {
      sink.take(copies(put, put + 10, 5_000));
      await sink.flush();
    }
    const { lost } = sink.status();
    await sink.close();
    const sender = openSender();
    openSink(spool, sender);
    await expect.poll(() => gapsOf(sender)).toMatchObject([{ lost, reason: "spool-full" }]);
    expect(numbersOf(sender)).toEqual(upTo(put - lost));
  });
});

test("while the disk rejects writes nothing can be stored; it recovers automatically, without a gap", async () => {
  const spool = makeSpool();
  const sender = openSender();
  const seen: unknown[] = [];
  const { sink } = openTestSink(sinkOptions(spool, NOWHERE), {
    sender,
    log: (_level, _fields, message) => void seen.push([message, sink.canKeep]),
  });
  // A name that is taken: no file can be made there. Root may do what rights forbid, so rights are no way to test it.
  const taken = join(spool, "_queue", "0", "000000000001.open");
  mkdirSync(taken);
  sink.take(copies(0, 5));
  await expect.poll(() => seen.length).toBe(1);
  rmdirSync(taken);
  await sink.flush();
  await expect.poll(() => numbersOf(sender)).toEqual(upTo(5));
  expect(sink.status().lost).toBe(0);
  expect(seen).toEqual([
    ["cannot write record spool", false],
    ["record spool recovered", true],
  ]);
});

describe("a slot", () => {
  const put = (path: string, name: string, text: string): void => writeFileSync(join(path, name), text);
  async function readAll(cursor: Cursor): Promise<{ readonly lines: string[]; readonly damaged: number }> {
    const lines: string[] = [];
    let damaged = 0;
    for (let batch = await cursor.read(2, 64); batch; batch = await cursor.read(2, 64, batch.end)) {
      lines.push(...batch.lines);
      damaged += batch.damaged;
    }
    return { lines, damaged };
  }
  const open = (path: string): { readonly slot: DiskSlot; readonly cursor: Cursor } => {
    const slot = DiskSlot.open(path);
    if (!slot) throw new Error("Somebody has the slot");
    onTestFinished(() => slot.release());
    return { slot, cursor: new Cursor(slot, "", () => {}) };
  };

  test("is read from the last accepted record; a damaged or too high cursor loses nothing", async () => {
    const cursors: readonly (readonly [string, readonly string[]])[] = [
      ["", ["1", "2", "3", "4"]],
      ["\0\0\0\0", ["1", "2", "3", "4"]],
      ["1 2 1\n", ["2", "3", "4"]],
      ["1 4 2     \n", ["3", "4"]],
      ["1 999 2\n", ["3", "4"]],
      ["2 2 1\n", ["4"]],
      ["2 -1 1\n", ["1", "2", "3", "4"]],
      ["9 0 0\n", []],
    ];
    for (const [text, expected] of cursors) {
      const path = makeSpool();
      put(path, "000000000001.2.ndjson", "1\n2\n");
      put(path, "000000000002.open", "3\n4\n");
      put(path, "cursor", text);
      put(path, "notes.txt", "not ours\n");
      const { cursor } = open(path);
      expect([text, (await readAll(cursor)).lines]).toEqual([text, expected]);
      expect([text, cursor.waiting]).toEqual([text, expected.length]);
    }
  });

  test("numbers are not used twice, also where every file is gone", () => {
    const path = makeSpool();
    put(path, "sink-a.cursor", "7 10 2\n");
    put(path, "store.cursor", "3 10 2\n");
    expect(open(path).slot.begin().number).toBe(9);
  });

  test("skips invalid lines, and reports how many are missing; a long line is read whole", async () => {
    const path = makeSpool();
    put(path, "000000000001.2.ndjson", `1\n${"\0".repeat(200)}`);
    put(path, "000000000003.1.ndjson", `${"3".repeat(300)}\n`);
    put(path, "000000000004.5.ndjson", "4\n5\n");
    put(path, "000000000009.1.ndjson", "");
    const { cursor } = open(path);
    expect(await readAll(cursor)).toEqual({ lines: ["1", "3".repeat(300), "4", "5"], damaged: 5 });
  });
});

describe("several receivers", () => {
  const all = (spool: string, ...names: readonly string[]) =>
    names.map((name) => sinkOptions(spool, NOWHERE, { name, spoolMaxBytes: 1 << 20 }));
  /** Each with a sender of its own. */
  const openAll = (spool: string, senders: Readonly<Record<string, TestSender>>, lines: string[] = []) =>
    openTestSinks(all(spool, ...Object.keys(senders)), {
      senderOf: ({ name }) => senders[name],
      adoptEveryMs: 5,
      record: (line) => void lines.push(line),
    });

  test("share one copy on the disk, each continues at its position, and files are removed when all have read them", async () => {
    const spool = makeSpool();
    const senders = { one: openSender(), two: openSender() };
    senders.two.answer = away;
    const first = openAll(spool, senders);
    first.sinks.take(copies(0, 300, 500));
    await first.sinks.flush();
    await expect.poll(() => numbersOf(senders.one).length).toBe(300);
    expect(sizeOf(spool)).toBeLessThan(250_000);
    await first.sinks.close();
    // A third one gets what is still there.
    const later = { one: openSender(), two: openSender(), three: openSender() };
    const second = openAll(spool, later);
    second.sinks.take(copies(300, 301));
    await expect.poll(() => numbersOf(later.three)).toEqual(upTo(301));
    await expect.poll(() => numbersOf(later.two)).toEqual(upTo(301));
    await expect.poll(() => numbersOf(later.one)).toEqual([300]);
    await expect.poll(() => sizeOf(spool)).toBeLessThan(1_000);
  });

  test("a full one loses new records, reported at their position; others get all, and the disk use stays bounded", async () => {
    const spool = makeSpool();
    const senders = { slow: openSender(), fast: openSender() };
    senders.slow.answer = away;
    const lines: string[] = [];
    const { sinks } = openAll(spool, senders, lines);
    const statusOf = (name: string) => sinks.status().find((status) => status.name === name);
    let put = 0;
    const some = async (): Promise<void> => {
      sinks.take(copies(put, (put += 10), 3_000));
      await sinks.flush();
      await expect.poll(() => statusOf("fast")?.waiting).toBe(0);
    };
    while (statusOf("slow")?.lost === 0) await some();
    const kept = put - (statusOf("slow")?.lost ?? 0);
    // Much more than the bound.
    for (let more = 0; more < 100; more += 1) await some();
    expect(statusOf("slow")).toMatchObject({ waiting: kept, lost: put - kept });
    expect(statusOf("fast")).toMatchObject({ lost: 0 });
    expect(sizeOf(spool)).toBeLessThanOrEqual((1 << 20) + (64 << 10) + 30_000);
    expect(sinks.canKeep).toBe(false);

    senders.slow.answer = { outcome: "taken" };
    await expect.poll(() => sinks.canKeep).toBe(true);
    const before = put;
    await some();
    const expected = [...upTo(kept), "gap", ...upTo(put).slice(before)];
    await expect.poll(() => numbersAndGaps(senders.slow)).toEqual(expected);
    expect(gapsOf(senders.slow)).toMatchObject([{ sink: "slow", reason: "spool-full", lost: before - kept }]);
    expect(numbersAndGaps(senders.fast)).toEqual(upTo(put));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(gapsOf(senders.slow));
    // The log's copy of the gap is news to others alone.
    sinks.take(lines.map((line) => ({ value: JSON.parse(line) as Record<string, unknown> })));
    await some();
    await expect.poll(() => numbersAndGaps(senders.fast)).toEqual([...upTo(put - 10), "gap", ...upTo(put).slice(-10)]);
    await expect.poll(() => numbersOf(senders.slow).at(-1)).toBe(put - 1);
    expect(gapsOf(senders.slow)).toHaveLength(1);
  });

  test("what one had lost in the middle is known after a restart", async () => {
    const spool = makeSpool();
    const senders = { slow: openSender(), other: openSender() };
    senders.slow.answer = senders.other.answer = away;
    const options = all(spool, "slow", "other").map((each, at) => ({ ...each, spoolMaxBytes: (1 + at) << 20 }));
    const first = openTestSinks(options, { senderOf: ({ name }) => senders[name as "slow"] });
    let put = 0;
    for (; first.sinks.status()[0]?.lost !== 20; put += 1) {
      first.sinks.take(copies(put, put + 1, 5_000));
      await first.sinks.flush();
    }
    await first.sinks.close();
    const later = { slow: openSender(), other: openSender() };
    const second = openTestSinks(options, { senderOf: ({ name }) => later[name as "slow"] });
    await expect.poll(() => second.sinks.status().map(({ waiting }) => waiting)).toEqual([0, 0]);
    second.sinks.take(copies(put, put + 2));
    await expect.poll(() => numbersAndGaps(later.slow)).toEqual([...upTo(put - 20), "gap", put, put + 1]);
    await expect.poll(() => numbersAndGaps(later.other)).toEqual(upTo(put + 2));
  });
});

test("spools of an earlier version, one for each sink, are sent first and removed", async () => {
  const spool = makeSpool();
  for (const [at, text] of ['{"n":1}\n{"n":2}\n', '{"n":3}\n{"message":"record gap","sink":"siem"}\n'].entries()) {
    const slot = join(spool, "siem", String(at));
    mkdirSync(slot, { recursive: true });
    writeFileSync(join(slot, "000000000004.2.ndjson"), text);
  }
  writeFileSync(join(spool, "siem", "0", "cursor"), "4 8 1 \n");
  const loss = { reason: "spool-full", lost: 7, sinceMs: 1_000, untilMs: 2_000 };
  writeFileSync(join(spool, "siem", "1", "lost"), JSON.stringify([loss]));
  const sender = openSender();
  const lines: string[] = [];
  const { sink } = openSink(spool, sender, {}, (line) => lines.push(line));
  sink.take(copies(5, 6));
  await expect.poll(() => numbersAndGaps(sender)).toEqual([2, "gap", 3, "gap", 5]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ lost: 7, reason: "spool-full" }]);
  await expect.poll(() => readdirSync(spool)).toEqual(["_queue"]);
});

test("records damaged in the spool are reported, the others sent", async () => {
  const spool = makeSpool();
  const slot = join(spool, "_queue", "0");
  mkdirSync(slot, { recursive: true });
  writeFileSync(join(slot, "000000000001.4.ndjson"), '{"n":1}\n{"n":\0\n[2]\n{"n":3}\n');
  const sender = openSender();
  const { sink } = openSink(spool, sender);
  await expect.poll(() => gapsOf(sender)).toMatchObject([{ reason: "damaged", lost: 2 }]);
  expect(numbersOf(sender)).toEqual([1, 3]);
  expect(sink.status()).toMatchObject({ lost: 2 });
});

test("a record longer than a batch is lost, and reported", async () => {
  const sender = openSender();
  const { sink } = openSink(makeSpool(), sender, { spoolMaxBytes: 16 << 20 });
  sink.take([...copies(0, 1), ...copies(1, 2, 600 << 10), ...copies(2, 3)]);
  await expect.poll(() => gapsOf(sender)).toMatchObject([{ reason: "too-long", lost: 1 }]);
  expect(numbersOf(sender)).toEqual([0, 2]);
});

test("a spool that cannot be made is said at the start", () => {
  const path = join(makeSpool(), "file");
  writeFileSync(path, "");
  expect(() => openTestSink(sinkOptions(path, NOWHERE))).toThrow(/^Cannot open the spool ".*_queue": /);
  expect(readFileSync(path, "utf8")).toBe("");
});
