/** What waits on the disk: kept over restarts and kills, taken over by one process, bounded, and what is lost is told. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { SinkTarget } from "../../../runtime/features/records/compiled.ts";
import type { Sender, SendResult } from "../../../runtime/record-sinks/sender.ts";
import { openSlot, type Slot } from "../../../runtime/record-sinks/spool/slot.ts";
import { openSpool } from "../../../runtime/record-sinks/spool/spool.ts";
import { copies, makeSpool, openTestSink, sinkOptions } from "../../support/record-sinks.ts";
import type { RecordSinkOptions } from "../../../runtime/record-sinks/options.ts";

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
const upTo = (end: number): number[] => Array.from({ length: end }, (_, index) => index);

function openSink(
  spool: string,
  sender: Sender,
  more: Partial<RecordSinkOptions> = {},
  record?: (line: string) => void,
) {
  return openTestSink(sinkOptions(spool, NOWHERE, more), { sender, adoptEveryMs: 5, ...(record && { record }) });
}

test("records that were not taken are sent by the next run, before its own; taken ones are not", async () => {
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
  expect(readdirSync(join(spool, "siem"))).toEqual(["0"]);
});

test("closing sends what waits, if the receiver takes it", async () => {
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
  const slot = join(spool, "siem", "0");
  expect(statSync(spool).mode & 0o777).toBe(0o700);
  expect(readdirSync(slot).toSorted()).toEqual(["000000000001.open", "cursor", "lock"]);
  for (const name of ["000000000001.open", "cursor"]) {
    expect(`${name} ${(statSync(join(slot, name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`);
  }
});

test("a process that is killed leaves all that it had flushed; another one sends each, and what was half written is cut off", async () => {
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
  const files = readdirSync(join(spool, "siem", "0")).filter((name) => name.endsWith(".open"));
  expect(files).toHaveLength(1);
  // As a kill in the middle of a write leaves it.
  appendFileSync(join(spool, "siem", "0", files[0] ?? ""), '{"message":"authorize check","n":');
  const sender = openSender();
  const { sink, log } = openSink(spool, sender, { spoolMaxBytes: 64 << 20 });
  await expect.poll(() => sink.status()).toMatchObject({ waiting: 0, lost: 0 });
  // Each at least once: what a killed process had written beyond its last word may be there twice.
  const sent = new Set(numbersOf(sender));
  expect(upTo(known).filter((n) => !sent.has(n))).toEqual([]);
  expect(log.map(({ message }) => message)).toEqual([
    "the spool of a record sink ended in half a record, which is cut off",
  ]);
});

describe("several processes", () => {
  test("have a slot each; what a dead one left is taken over by one, and by nobody while it lives", async () => {
    const spool = makeSpool();
    const senders = [openSender(), openSender(), openSender()] as const;
    for (const sender of senders) sender.answer = away;
    const sinks = senders.map((sender) => openSink(spool, sender).sink);
    for (const [index, sink] of sinks.entries()) {
      sink.take(copies(index * 10, index * 10 + 5));
      await sink.flush();
    }
    expect(readdirSync(join(spool, "siem")).toSorted()).toEqual(["0", "1", "2"]);
    expect(openSlot(join(spool, "siem", "1"))).toBeUndefined();
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

  test("what one of them had lost is told by who takes over", async () => {
    const spool = makeSpool();
    mkdirSync(join(spool, "siem", "5"), { recursive: true });
    const loss = { reason: "spool-full", lost: 7, sinceMs: 1_000, untilMs: 2_000 };
    writeFileSync(join(spool, "siem", "5", "lost"), JSON.stringify([loss, { reason: "no such", lost: 1 }, 5]));
    const sender = openSender();
    const lines: string[] = [];
    openSink(spool, sender, {}, (line) => lines.push(line));
    await expect
      .poll(() => gapsOf(sender))
      .toMatchObject([
        { reason: "spool-full", lost: 7, since: "1970-01-01T00:00:01.000Z", until: "1970-01-01T00:00:02.000Z" },
      ]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(gapsOf(sender));
    await expect.poll(() => existsSync(join(spool, "siem", "0", "lost"))).toBe(false);
    expect(existsSync(join(spool, "siem", "5", "lost"))).toBe(false);
  });
});

describe("a spool that is full", () => {
  test("keeps nothing more, and says before that it cannot; later it tells what is missing, at its place and in the log", async () => {
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
    const size = readdirSync(join(spool, "siem", "0")).reduce(
      (sum, name) => sum + statSync(join(spool, "siem", "0", name)).size,
      0,
    );
    expect(size).toBeLessThanOrEqual((1 << 20) + 1_000);
    expect(log.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
      "a record sink loses records",
    ]);

    sender.answer = { outcome: "taken" };
    await expect.poll(() => sink.canKeep).toBe(true);
    await expect.poll(() => gapsOf(sender).length).toBe(1);
    sink.take(copies(beyond + 25, beyond + 30));
    const expected = [...upTo(kept), "gap", ...upTo(beyond + 30).slice(beyond + 25)];
    await expect
      .poll(() => sender.values.map(({ n, message }) => (message === "record gap" ? "gap" : n)))
      .toEqual(expected);
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

test("while the disk takes nothing nothing can be kept; it goes on by itself, without a gap", async () => {
  const spool = makeSpool();
  const sender = openSender();
  const seen: unknown[] = [];
  const { sink } = openTestSink(sinkOptions(spool, NOWHERE), {
    sender,
    log: (_level, _fields, message) => void seen.push([message, sink.canKeep]),
  });
  // A name that is taken: no file can be made there. Root may do what rights forbid, so rights are no way to test it.
  mkdirSync(join(spool, "siem", "0", "000000000001.open"));
  sink.take(copies(0, 5));
  await sink.flush();
  await expect.poll(() => numbersOf(sender)).toEqual(upTo(5));
  expect(sink.status().lost).toBe(0);
  expect(seen).toEqual([
    ["the spool of a record sink cannot be written", false],
    ["the spool of a record sink is written again", true],
  ]);
});

describe("a slot", () => {
  const put = (path: string, name: string, text: string): void => writeFileSync(join(path, name), text);
  async function readAll(slot: Slot): Promise<{ readonly lines: string[]; readonly damaged: number }> {
    const lines: string[] = [];
    let damaged = 0;
    for (let at = slot.taken; ;) {
      const batch = await slot.read(at, 2, 64);
      if (!batch) return { lines, damaged };
      lines.push(...batch.lines);
      damaged += batch.damaged ? 1 : 0;
      at = batch.end;
    }
  }
  const open = (path: string): Slot => {
    const slot = openSlot(path);
    if (!slot) throw new Error("Somebody has the slot");
    return slot;
  };

  test("is read from where it was taken; a cursor that is damaged or goes too far costs nothing", async () => {
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
    for (const [cursor, expected] of cursors) {
      const path = makeSpool();
      put(path, "000000000001.2.ndjson", "1\n2\n");
      put(path, "000000000002.open", "3\n4\n");
      put(path, "cursor", cursor);
      put(path, "notes.txt", "not ours\n");
      const slot = open(path);
      expect([cursor, (await readAll(slot)).lines]).toEqual([cursor, expected]);
      expect([cursor, slot.waiting]).toEqual([cursor, expected.length]);
      slot.close();
    }
  });

  test("numbers are not used twice, also where every file is gone", () => {
    const path = makeSpool();
    put(path, "cursor", "7 10 2\n");
    const slot = open(path);
    expect(slot.begin().number).toBe(8);
    slot.close();
  });

  test("passes over what is no line", async () => {
    const path = makeSpool();
    put(path, "000000000001.2.ndjson", `1\n${"\0".repeat(200)}`);
    put(path, "000000000002.1.ndjson", "3\n");
    const slot = open(path);
    expect(await readAll(slot)).toEqual({ lines: ["1", "3"], damaged: 1 });
    slot.close();
  });
});

test("records that are damaged in the spool are told, the others sent", async () => {
  const spool = makeSpool();
  const slot = join(spool, "siem", "0");
  mkdirSync(slot, { recursive: true });
  writeFileSync(join(slot, "000000000001.4.ndjson"), '{"n":1}\n{"n":\0\n[2]\n{"n":3}\n');
  const sender = openSender();
  const { sink } = openSink(spool, sender);
  await expect.poll(() => gapsOf(sender)).toMatchObject([{ reason: "damaged", lost: 2 }]);
  expect(numbersOf(sender)).toEqual([1, 3]);
  expect(sink.status()).toMatchObject({ lost: 2 });
});

test("a record that is longer than a batch finds no room, and is told", async () => {
  const sender = openSender();
  const { sink } = openSink(makeSpool(), sender, { spoolMaxBytes: 16 << 20 });
  sink.take([...copies(0, 1), ...copies(1, 2, 600 << 10), ...copies(2, 3)]);
  await expect.poll(() => gapsOf(sender)).toMatchObject([{ reason: "too-long", lost: 1 }]);
  expect(numbersOf(sender)).toEqual([0, 2]);
});

test("a spool that cannot be made is said at the start", () => {
  const path = join(makeSpool(), "file");
  writeFileSync(path, "");
  const options = { directory: join(path, "siem"), maxBytes: 1 << 20, onWritten() {}, onFailing() {} };
  expect(() => openSpool(options)).toThrow(/^Cannot open the spool ".*siem": /);
  expect(readFileSync(path, "utf8")).toBe("");
});
