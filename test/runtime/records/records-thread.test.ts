/** Records that go to a thread of their own: nothing is lost, mixed up or let pass unrecorded. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";

import { afterAll, expect, test } from "vitest";

import type { OutcomeInput } from "../../../runtime/audit/outcome-record.ts";
import {
  type RecordThread,
  type RecordThreadDeps,
  startRecordThread,
} from "../../../runtime/records/records-thread.ts";
import type { RecordThreadSettings } from "../../../runtime/records/records-protocol.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { verifyAudit } from "../../../runtime/tools/audit/verify.ts";
import { verifiers } from "../../support/audit-run.ts";

const directory = mkdtempSync(join(tmpdir(), "records-thread-"));
afterAll(() => rmSync(directory, { recursive: true }));

const AUDIT = { seed: Buffer.alloc(32, 7), seen: [] };

let runs = 0;

interface Started {
  readonly records: RecordThread;
  readonly errors: string[];
  readonly notes: string[];
  readonly worker: Worker;
  readonly died: Promise<string>;
}

async function start(
  settings: Partial<RecordThreadSettings> & Pick<RecordThreadSettings, "destination">,
  deps: Partial<RecordThreadDeps> = {},
): Promise<Started> {
  const errors: string[] = [];
  const notes: string[] = [];
  const died = Promise.withResolvers<string>();
  let worker: Worker | undefined;
  process.once("worker", (made: Worker) => (worker = made));
  const records = await startRecordThread(
    { instance: `run-${(runs += 1)}`, closeTimeoutMs: 5_000, ...settings },
    {
      log: silentLog(),
      onError: ({ code }) => errors.push(code),
      onDeath: ({ code }) => died.resolve(code),
      onCheckpoint: (note) => notes.push(note),
      ...deps,
    },
  );
  return { records, errors, notes, worker: worker as Worker, died: died.promise };
}

function outcome(of: number): OutcomeInput {
  const requestId = `request-${of}`;
  const rest = { failedBy: undefined, failure: undefined, durationMs: 1.5, lists: undefined };
  return { timeMs: 1_795_000_000_000, of, requestId, status: 200, ...rest };
}

const linesOf = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);

test("audited records of any size are whole, and each outcome names its decision", async () => {
  const file = join(directory, "audited.log");
  const { records, errors, notes } = await start({ destination: file, audit: AUDIT });
  for (let number = 0; number < 3_000; number += 1) {
    // One is larger than any batch.
    const text = number === 700 ? "é".repeat(200_000) : "é".repeat(number % 300);
    await records.write(`{"message":"authorize check","n":${number},"text":"${text}"}\n`);
    records.thread.writeOutcome(outcome(records.thread.lastSeq));
    if (number % 500 === 0) await records.flush();
  }
  await records.close();
  await records.close();
  expect(errors).toEqual([]);
  const lines = linesOf(file).map((line) => JSON.parse(line) as Record<string, unknown>);
  const checks = new Map(
    lines.filter(({ message }) => message === "authorize check").map((line) => [line["seq"], line]),
  );
  expect([...checks.values()].map(({ n }) => n)).toEqual(Array.from({ length: 3_000 }, (_, n) => n));
  const outcomes = lines.filter(({ message }) => message === "request outcome");
  expect(
    outcomes.every((line) => checks.has(line["of"]) && line["request-id"] === `request-${Number(line["of"])}`),
  ).toBe(true);
  expect(new Set(outcomes.map((line) => line["of"])).size).toBe(3_000);
  expect(await verifyAudit({ files: [file], verifiers, heads: [] })).toMatchObject({ result: "whole", findings: [] });
  // The last one that was told is the last one of the file.
  const signed = lines.filter(({ message }) => message === "audit checkpoint").map(({ note }) => note);
  expect(signed.at(-1)).toBe(notes.at(-1));
  expect(void records.write("{}\n")).toBeUndefined();
  records.thread.writeOutcome(outcome(1));
  expect(errors).toEqual(["record.lost", "record.lost"]);
});

test("without audit the log has the lines alone, byte for byte", async () => {
  const file = join(directory, "plain.log");
  const { records } = await start({ destination: file });
  const lines = Array.from({ length: 50 }, (_, n) => `{"message":"authorize check","n":${n}}`);
  for (const [index, line] of lines.entries()) {
    void records.write(`${line}\n`, `,"route":"r${index}"`);
    records.thread.writeOutcome(outcome(records.thread.lastSeq));
  }
  await records.flush();
  expect(linesOf(file)).toEqual(lines);
  await records.close();
});

test("reopen() continues in a new file after a rename, and reports a failure immediately", async () => {
  const file = join(directory, "rotated.log");
  const { records, errors } = await start({ destination: file, audit: AUDIT });
  void records.write('{"n":1}\n');
  await records.flush();
  renameSync(file, `${file}.1`);
  records.reopen();
  void records.write('{"n":2}\n');
  await records.close();
  expect(linesOf(`${file}.1`).filter((line) => line.includes('"n":'))).toEqual([expect.stringContaining('"n":1')]);
  expect(linesOf(file)[0]).toContain('"n":2');
  const report = await verifyAudit({ files: [file, `${file}.1`], verifiers, heads: [] });
  expect(report.result).toBe("whole");
  expect(errors).toEqual([]);

  const gone = join(directory, "gone");
  execFileSync("mkdir", [gone]);
  const other = await start({ destination: join(gone, "log") });
  rmSync(gone, { recursive: true });
  expect(() => other.records.reopen()).toThrow(expect.objectContaining({ code: "record.open" }));
  await other.records.close();
});

test("a file that cannot be opened is a failure at once", async () => {
  await expect(start({ destination: directory })).rejects.toMatchObject({ code: "record.open" });
});

test("a full queue makes callers wait until entries are read", async () => {
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  // Both ends, so that opening waits for nobody; a full pipe is told by EAGAIN.
  // oxlint-disable-next-line no-bitwise -- flags
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const { records, errors } = await start({ destination: fd }, { maxQueued: 1 << 20 });
  const line = `{"text":"${"x".repeat(10_000)}"}\n`;
  let sent = 0;
  let room: Promise<void> | undefined;
  while (room === undefined && sent < 1_000) {
    room = records.write(line);
    sent += 1;
  }
  // 64 KiB are in the pipe, the rest waits.
  expect(sent).toBeGreaterThan(100);
  expect(sent).toBeLessThan(130);
  expect(records.write(line)).toBe(room);
  const wanted = (sent + 1) * line.length;
  let read = 0;
  const reader = createReadStream(pipe);
  const isRead = new Promise<void>((resolve) => {
    reader.on("data", (chunk) => {
      read += chunk.length;
      if (read >= wanted) resolve();
    });
  });
  await room;
  await isRead;
  expect(read).toBe(wanted);
  await records.close();
  expect(errors).toEqual([]);
  reader.destroy();
  closeSync(fd);
});

test("a full disk is reported, nothing can be stored, and losses at the end are reported", async () => {
  const fd = openSync("/dev/full", "w");
  const { records, errors } = await start({ destination: fd, closeTimeoutMs: 50 });
  expect(records.thread.canKeep).toBe(true);
  void records.write('{"n":1}\n');
  const flushed = records.flush();
  await expect.poll(() => records.thread.canKeep).toBe(false);
  expect(errors).toEqual(["record.write"]);
  await Promise.all([records.close(), expect(flushed).rejects.toMatchObject({ code: "record.lost" })]);
  expect(errors).toContain("record.lost");
  closeSync(fd);
});

test("an unexpected end of the thread is reported, and releases all waiting callers", async () => {
  const file = join(directory, "dead.log");
  const { records, worker, died, errors } = await start({ destination: file, audit: AUDIT }, { maxQueued: 1 });
  const waits = records.write('{"n":1}\n');
  void worker.terminate();
  expect(await died).toBe("record.thread");
  await waits;
  await expect(records.flush()).rejects.toMatchObject({ code: "record.lost" });
  expect(void records.write("{}\n")).toBeUndefined();
  expect(errors).toEqual(["record.lost"]);
  await records.close();
});
