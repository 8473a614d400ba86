import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { GatewayError } from "../../../runtime/shared/errors.ts";
import { createRecordWriter } from "../../../runtime/audit/record-writer.ts";
import type { LineWriter, RecordWriterOptions } from "../../../runtime/audit/record-writer.ts";

type WriteTo = NonNullable<RecordWriterOptions["writeTo"]>;

/** A descriptor under the test's control: each write waits until the test ends it. */
function fakeFile(): {
  writeTo: WriteTo;
  /** Ends the write under way; `at most` bytes are taken. */
  take(atMost?: number): void;
  fail(code: string): void;
  readonly text: string;
  readonly isWriting: boolean;
} {
  let text = "";
  let under: { bytes: Buffer; done: Parameters<WriteTo>[5] } | undefined;
  const end = (): NonNullable<typeof under> => {
    if (!under) throw new Error("No write is under way");
    const ended = under;
    under = undefined;
    return ended;
  };
  return {
    writeTo(_fd, buffer, offset, length, _position, done) {
      if (under) throw new Error("Two writes at once");
      under = { bytes: buffer.subarray(offset, offset + length), done };
    },
    take(atMost = Infinity) {
      const { bytes, done } = end();
      const taken = bytes.subarray(0, atMost);
      text += taken.toString();
      done(null, taken.length);
    },
    fail(code) {
      end().done(Object.assign(new Error(code), { code }), 0);
    },
    get text() {
      return text;
    },
    get isWriting() {
      return under !== undefined;
    },
  };
}

function collectErrors(): { errors: string[]; onError: (error: GatewayError, queued: number) => void } {
  const errors: string[] = [];
  return { errors, onError: (error, queued) => errors.push(`${error.code} ${queued}`) };
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("Did not come about");
}

/** A log on a disk that has room for so many bytes. */
function diskWith(bytes: number) {
  const directory = mkdtempSync(join(tmpdir(), "records-"));
  const path = join(directory, "authorize.log");
  const writers: LineWriter[] = [];
  const disk = {
    path,
    room: bytes,
    /** Once. */
    beforeWrite: () => {},
    open(retryMs = 1) {
      const { errors, onError } = collectErrors();
      const writer = createRecordWriter({ destination: path, onError, writeTo, retryMs });
      writers.push(writer);
      return { writer, errors };
    },
    text: () => readFileSync(path, "utf8"),
    async remove() {
      for (const writer of writers) await writer.close();
      rmSync(directory, { recursive: true });
    },
  };
  const writeTo: WriteTo = (fd, buffer, offset, length, _position, done) => {
    const { beforeWrite } = disk;
    disk.beforeWrite = () => {};
    beforeWrite();
    const written = disk.room === 0 ? 0 : writeSync(fd, buffer, offset, Math.min(length, disk.room));
    disk.room -= written;
    setImmediate(done, written > 0 ? null : Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }), written);
  };
  return disk;
}

describe("createRecordWriter() to a file", () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "records-"));
    path = join(directory, "authorize.log");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test("close() writes everything that was queued, in order, to a file others cannot read", async () => {
    const { errors, onError } = collectErrors();
    const writer = createRecordWriter({ destination: path, onError });
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} é\n`);
    for (const line of lines) void writer.write(line);
    await writer.close();
    expect(readFileSync(path, "utf8")).toBe(lines.join(""));
    expect(statSync(path).mode & 0o007).toBe(0);
    expect(errors).toEqual([]);
  });

  test("appends to existing content", async () => {
    writeFileSync(path, "before\n");
    const writer = createRecordWriter({ destination: path, onError: collectErrors().onError });
    void writer.write("after\n");
    await writer.flush();
    expect(readFileSync(path, "utf8")).toBe("before\nafter\n");
    await writer.close();
  });

  test("reopen() continues in a new file after a rename, without losing a line", async () => {
    const writer = createRecordWriter({ destination: path, onError: collectErrors().onError });
    void writer.write("one\n");
    await writer.flush();
    renameSync(path, `${path}.1`);
    writer.reopen();
    void writer.write("two\n");
    await writer.close();
    expect(readFileSync(`${path}.1`, "utf8")).toBe("one\n");
    expect(readFileSync(path, "utf8")).toBe("two\n");
  });

  test("a file that cannot be opened is a failure at once", () => {
    const open = (): unknown => createRecordWriter({ destination: directory, onError: collectErrors().onError });
    expect(open).toThrow(expect.objectContaining({ code: "record.open" }));
  });

  test("a batch is written when its time has come, without flush", async () => {
    const writer = createRecordWriter({ destination: path, onError: collectErrors().onError, batchMs: 1 });
    void writer.write("soon\n");
    await until(() => readFileSync(path, "utf8") === "soon\n");
    await writer.close();
  });
});

describe("createRecordWriter() under pressure", () => {
  test("collects lines while a write is in progress, and never runs two writes", async () => {
    const file = fakeFile();
    const writer = createRecordWriter({
      destination: 9,
      onError: collectErrors().onError,
      writeTo: file.writeTo,
      batchSize: 4,
    });
    void writer.write("one\n");
    expect(file.isWriting).toBe(true);
    void writer.write("two\n");
    void writer.write("three\n");
    file.take();
    expect(file.text).toBe("one\n");
    file.take();
    expect(file.text).toBe("one\ntwo\nthree\n");
    await writer.close();
  });

  test("a full queue makes callers wait until it is half empty, and keeps their lines", async () => {
    const file = fakeFile();
    const writer = createRecordWriter({
      destination: 9,
      onError: collectErrors().onError,
      writeTo: file.writeTo,
      batchSize: 4,
      maxQueued: 12,
    });
    expect(writer.write("aaa\n")).toBeUndefined();
    expect(writer.write("bbb\n")).toBeUndefined();
    const third = writer.write("ccc\n");
    const fourth = writer.write("ddd\n");
    expect(third).toBeInstanceOf(Promise);
    expect(fourth).toBe(third);
    let hasRoom = false;
    void third?.then(() => (hasRoom = true));
    file.take(); // 12 of 16 wait
    await Promise.resolve();
    expect(hasRoom).toBe(false);
    file.take();
    await third;
    expect(file.text).toBe("aaa\nbbb\nccc\nddd\n");
    expect(writer.write("eee\n")).toBeUndefined();
    file.take();
    await writer.close();
  });

  test("flush() covers only what was queued before it, however much follows", async () => {
    const file = fakeFile();
    const writer = createRecordWriter({
      destination: 9,
      onError: collectErrors().onError,
      writeTo: file.writeTo,
      batchSize: 1e6,
    });
    void writer.write("one\n");
    const flushed = writer.flush();
    void writer.write("two\n");
    file.take();
    await flushed;
    expect(file.text).toBe("one\n");
    const rest = writer.flush();
    file.take();
    await rest;
    await expect(writer.flush()).resolves.toBeUndefined();
    await writer.close();
  });

  test("a partial write continues after the written part, also inside a character", async () => {
    const file = fakeFile();
    const bytes: Buffer[] = [];
    const writeTo: WriteTo = (fd, buffer, offset, length, position, done) =>
      file.writeTo(fd, buffer, offset, length, position, (error, written) => {
        bytes.push(Buffer.from(buffer.subarray(offset, offset + written)));
        done(error, written);
      });
    const writer = createRecordWriter({ destination: 9, onError: collectErrors().onError, writeTo });
    void writer.write("éé\n");
    const flushed = writer.flush();
    file.take(1);
    file.take(2);
    file.take();
    await flushed;
    expect(Buffer.concat(bytes).toString()).toBe("éé\n");
    await writer.close();
  });
});

describe("createRecordWriter() when writing fails", () => {
  test("reports once, tries again from where it stopped, loses nothing", async () => {
    const file = fakeFile();
    const { errors, onError } = collectErrors();
    const writer = createRecordWriter({ destination: 9, onError, writeTo: file.writeTo, retryMs: 1 });
    void writer.write("one\n");
    const flushed = writer.flush();
    file.take(2);
    file.fail("ENOSPC");
    await until(() => file.isWriting);
    file.fail("ENOSPC");
    await until(() => file.isWriting);
    file.take();
    await flushed;
    expect(file.text).toBe("one\n");
    expect(errors).toEqual(["record.write 4"]);
    await writer.close();
  });

  test("processes that append to one file on a full disk lose no line, in whatever order they continue", async () => {
    const disk = diskWith(7);
    const cut = disk.open(20);
    const others = [disk.open(1), disk.open(40)];
    void cut.writer.write("first\n");
    void cut.writer.write("cut\n");
    const flushed = [cut.writer.flush()];
    await until(() => cut.errors.length > 0);
    expect(disk.text()).toBe("first\nc");
    for (const [index, other] of others.entries()) {
      void other.writer.write(`other ${index}\n`);
      flushed.push(other.writer.flush());
      await until(() => other.errors.length > 0);
    }
    disk.room = Infinity;
    await Promise.all(flushed);
    const lines = disk.text().split("\n").slice(0, -1);
    expect(lines.slice(0, 2)).toEqual(["first", "c"]);
    expect(lines.slice(2).toSorted()).toEqual(["cut", "other 0", "other 1"]);
    await disk.remove();
  });

  test("a line that lacks only its end on a full disk is written once", async () => {
    const disk = diskWith(5);
    disk.beforeWrite = () => appendFileSync(disk.path, "other\n");
    const { writer, errors } = disk.open();
    void writer.write("whole\n");
    void writer.write("next\n");
    const flushed = writer.flush();
    await until(() => errors.length > 0);
    disk.room = Infinity;
    await flushed;
    expect(disk.text()).toBe("other\nwhole\nnext\n");
    await disk.remove();
  });

  test("what others write between a look at the file and a write tears no line", async () => {
    const disk = diskWith(3);
    const { writer, errors } = disk.open();
    void writer.write("whole\n");
    const flushed = writer.flush();
    await until(() => errors.length > 0);
    // Another process saw the same file.
    disk.beforeWrite = () => appendFileSync(disk.path, "\nother\n");
    disk.room = Infinity;
    await flushed;
    expect(disk.text()).toBe("who\nother\n\nwhole\n");
    await disk.remove();
  });

  test("a line that was begun in the file before is whole in the next one", async () => {
    const disk = diskWith(7);
    const { writer, errors } = disk.open();
    void writer.write("first\n");
    void writer.write("cut\n");
    const flushed = writer.flush();
    await until(() => errors.length > 0);
    renameSync(disk.path, `${disk.path}.1`);
    writer.reopen();
    disk.room = Infinity;
    await flushed;
    expect(readFileSync(`${disk.path}.1`, "utf8")).toBe("first\nc");
    expect(disk.text()).toBe("cut\n");
    await disk.remove();
  });

  test("a pipe that is full for the moment is tried again without a report", async () => {
    const file = fakeFile();
    const { errors, onError } = collectErrors();
    const writer = createRecordWriter({ destination: 9, onError, writeTo: file.writeTo, retryMs: 1 });
    void writer.write("one\n");
    const flushed = writer.flush();
    file.fail("EAGAIN");
    await until(() => file.isWriting);
    file.take();
    await flushed;
    expect(errors).toEqual([]);
    await writer.close();
  });

  test("close() does not wait forever and reports losses; later lines are also reported", async () => {
    const file = fakeFile();
    const { errors, onError } = collectErrors();
    const writer = createRecordWriter({
      destination: 9,
      onError,
      writeTo: file.writeTo,
      closeTimeoutMs: 5,
      retryMs: 1,
    });
    void writer.write("one\n");
    const closed = writer.close();
    file.fail("EPIPE");
    await closed;
    expect(errors).toEqual(["record.write 4", "record.lost 4"]);
    expect(writer.write("late\n")).toBeUndefined();
    expect(errors.at(-1)).toBe("record.lost 5");
    await writer.close();
  });

  test("close() releases waiting requests", async () => {
    const file = fakeFile();
    const writer = createRecordWriter({
      destination: 9,
      onError: collectErrors().onError,
      writeTo: file.writeTo,
      maxQueued: 1,
      closeTimeoutMs: 5,
    });
    const waiting = writer.write("one\n");
    await writer.close();
    await expect(waiting).resolves.toBeUndefined();
  });
});
