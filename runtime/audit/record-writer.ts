/**
 * Writes authorization records without making requests wait for the disk, and without losing any.
 *
 * Lines are gathered and written together. The queue is bounded: when it is full, `write` hands out a promise and the
 * request waits for it before it goes on. A failing write is reported and tried again from where it stopped.
 */
import { write as writeFile } from "node:fs";

import { GatewayError } from "../shared/errors.ts";
import type { Closable } from "../shared/clock.ts";
import { type LogFile, openLogFile } from "./log-file.ts";
import type { DeclaredArguments } from "./redaction/plan.ts";
import type { ConsumerStatus } from "./record-consumer.ts";
import type { OutcomeInput } from "./outcome-record.ts";
import { task } from "../shared/faults/guard.ts";

export interface RecordWriter extends Closable {
  /**
   * Queues one line. It is never refused or dropped.
   *
   * @param line with its line end
   * @param extra where it is wanted: `,"name":value` for each member that copies have beside those of the line
   * @returns undefined when there is room for more, else a promise that resolves when there is: wait before going on
   */
  write(line: string, extra?: string): Promise<void> | undefined;
  /** With `audit`, a record store or sinks. */
  readonly thread?: RecordsOfThread;
  /**
   * Resolves when everything queued so far is written.
   * @throws GatewayError `record.lost` when the writer was closed before that
   */
  flush(): Promise<void>;
  /**
   * Opens the file anew, for log rotation by rename; does nothing for a descriptor or standard output.
   * @throws GatewayError `record.open`; the old file then stays in use
   */
  reopen(): void;
  /** Flushes and lets go. What cannot be written within `closeTimeoutMs` is reported as lost. */
  close(): Promise<void>;
}

/** What more there is where records go to a thread of their own. */
export interface RecordsOfThread {
  /** Records prove that they are whole, and say which rule decided. */
  readonly isAudited: boolean;
  /** There are copies. */
  readonly wantsExtra: boolean;
  /** Place of the line that was written last: outcomes name it. */
  readonly lastSeq: number;
  /** Behind the answer: there is no room to wait for. */
  writeOutcome(outcome: OutcomeInput): void;
  /** Of routes, by key: what copies tell of the arguments of their tools. Whenever a configuration comes into force. */
  declareArguments(declared: ReadonlyMap<string, DeclaredArguments>): void;
  /** False: what comes cannot be kept, by the log or by a consumer. */
  readonly canKeep: boolean;
  /** Of the consumers, about a second ago. */
  status(): readonly ConsumerStatus[];
}

/** Writes to a file itself. */
export interface LineWriter extends RecordWriter {
  /** As `write()`; whoever has bytes makes no text of them. They are copied. */
  writeBytes(line: Uint8Array): Promise<void> | undefined;
}

export interface RecordWriterOptions {
  /** "stdout", a file path (appended to, created with mode 640), or an open file descriptor, which stays open. */
  readonly destination: string | number;
  /** A write failed (reported at the first failure of a row), or lines were lost at close. `queued` counts bytes. */
  readonly onError: (error: GatewayError, queued: number) => void;
  /** Bytes that may wait before `write` asks callers to wait. Default 8 Mi. */
  readonly maxQueued?: number;
  /** A batch is written when it has this many bytes (default 256 Ki: each write delays the requests of that moment) … */
  readonly batchSize?: number;
  /** … or when this time has passed since its first line (default 100). */
  readonly batchMs?: number;
  /** Wait after the first failed write; doubles up to 5 s (default 50). */
  readonly retryMs?: number;
  /** Default 5,000. */
  readonly closeTimeoutMs?: number;
  /** fs.write, replaced in tests. */
  readonly writeTo?: WriteTo;
}

type WriteTo = (
  fd: number,
  buffer: Buffer,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

const MAX_RETRY_MS = 5_000;
/** Room for the lines that come while a batch is on its way. */
const CHUNK_BYTES = 384 << 10;

/** @throws GatewayError `record.open` when the file cannot be opened */
export function createRecordWriter(options: RecordWriterOptions): LineWriter {
  const { destination, onError, maxQueued = 8 << 20, batchSize = 256 << 10, batchMs = 100, retryMs = 50 } = options;
  const { closeTimeoutMs = 5_000, writeTo = writeFile } = options;
  const path = typeof destination === "string" && destination !== "stdout" ? destination : undefined;
  let file = path === undefined ? undefined : openLogFile(path);
  const descriptor = typeof destination === "number" ? destination : 1;
  /** Opened by `reopen`, taken into use between two batches. */
  let nextFile: LogFile | undefined;
  // Lines become bytes at once: joining thousands of small strings later costs more than the whole rest of a record.
  let filling: Buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = 0;
  /** Chunks that are full and wait for the write before them. */
  const full: Buffer[] = [];
  let spare: Buffer | undefined;
  /** Bytes queued and written since the start; the difference waits. */
  let total = 0;
  let done = 0;
  let isWriting = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let room: PromiseWithResolvers<void> | undefined;
  let flushes: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  function write(line: string): Promise<void> | undefined {
    if (isClosed) return refuse(Buffer.byteLength(line));
    // A UTF-16 unit takes three bytes at most.
    if (filled + line.length * 3 > filling.length) beginChunk(line.length * 3);
    return queued(filling.write(line, filled));
  }

  function writeBytes(line: Uint8Array): Promise<void> | undefined {
    if (isClosed) return refuse(line.length);
    if (filled + line.length > filling.length) beginChunk(line.length);
    filling.set(line, filled);
    return queued(line.length);
  }

  function refuse(bytes: number): undefined {
    onError(new GatewayError("record.lost", "Cannot write an authorization record: the writer is closed"), bytes);
  }

  function queued(bytes: number): Promise<void> | undefined {
    filled += bytes;
    total += bytes;
    schedule();
    if (total - done < maxQueued) return undefined;
    room ??= Promise.withResolvers();
    return room.promise;
  }

  function beginChunk(bytes: number): void {
    if (filled > 0) full.push(filling.subarray(0, filled));
    filling =
      spare !== undefined && spare.length >= bytes ? spare : Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
    spare = undefined;
    filled = 0;
  }

  function takeBatch(): Buffer {
    if (full.length === 0) beginChunk(0);
    return full.shift() ?? Buffer.alloc(0);
  }

  function schedule(): void {
    if (isWriting || isClosed || total === done) return;
    if (full.length > 0 || filled >= batchSize || flushes.length > 0) writeBatch();
    else timer ??= setTimeout(task("the write of records", writeBatch), batchMs);
  }

  function writeBatch(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = takeBatch();
    isWriting = true;
    useNextFile();
    writeFrom(batch, 0, retryMs, () => {
      isWriting = false;
      done += batch.length;
      if (batch.buffer.byteLength === CHUNK_BYTES) spare ??= Buffer.from(batch.buffer);
      for (const flush of flushes) if (flush.upTo <= done) flush.resolve();
      flushes = flushes.filter((flush) => flush.upTo > done);
      // Half empty, not merely below the mark: else every line would wake everybody for one free place.
      if (total - done <= maxQueued / 2) {
        room?.resolve();
        room = undefined;
      }
      schedule();
    });
  }

  function writeFrom(lines: Buffer, from: number, waitMs: number, whenDone: () => void): void {
    const { batch, offset } = file?.rest(lines, from) ?? { batch: lines, offset: from };
    writeTo(file?.fd ?? descriptor, batch, offset, batch.length - offset, null, (error, written) => {
      if (isClosed) return;
      if (error) {
        // A pipe that is full for the moment is no failure.
        if (error.code !== "EAGAIN" && waitMs === retryMs) onError(writeError(error), total - done);
        retryTimer = setTimeout(
          task("the write of records", retry),
          waitMs,
          lines,
          from,
          Math.min(waitMs * 2, MAX_RETRY_MS),
          whenDone,
        );
        return;
      }
      file?.wrote(written);
      if (offset + written < batch.length) writeFrom(batch, offset + written, retryMs, whenDone);
      else whenDone();
    });
  }

  function retry(batch: Buffer, offset: number, waitMs: number, whenDone: () => void): void {
    if (isClosed) return;
    // The old file may never work again: a rotation is the way out.
    useNextFile();
    writeFrom(batch, offset, waitMs, whenDone);
  }

  function useNextFile(): void {
    if (nextFile === undefined) return;
    file?.close();
    file = nextFile;
    nextFile = undefined;
  }

  function flush(): Promise<void> {
    if (done === total) return Promise.resolve();
    if (isClosed) return Promise.reject(lostError());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    flushes.push({ upTo: total, resolve, reject });
    schedule();
    return promise;
  }

  return {
    write,
    writeBytes,
    flush,
    reopen() {
      if (path === undefined || isClosed) return;
      const opened = openLogFile(path);
      nextFile?.close();
      nextFile = opened;
      if (!isWriting) useNextFile();
    },
    async close() {
      if (isClosed) return;
      const isDone = await Promise.race([flush().then(() => true), after(closeTimeoutMs)]);
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(retryTimer);
      room?.resolve();
      const lost = total - done;
      if (!isDone) onError(lostError(), lost);
      for (const each of flushes) each.reject(lostError());
      nextFile?.close();
      file?.close();
    },
  };
}

function lostError(): GatewayError {
  return new GatewayError("record.lost", "Cannot write the last authorization records");
}

function writeError(error: Error): GatewayError {
  return new GatewayError("record.write", `Cannot write authorization records: ${error.message}`, { cause: error });
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, false).unref();
  });
}
