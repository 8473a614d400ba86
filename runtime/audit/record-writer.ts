/**
 * Writes authorization records without making requests wait for the disk, and without losing any.
 *
 * Lines are collected and written together. The queue is bounded: when it is full, `write` returns a promise, and the
 * request waits for it. A failed write is reported and retried from where it stopped.
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
   * Queues one line. Never rejects or drops it.
   *
   * @param line with its line end
   * @param extra if needed: `,"name":value` for each member that only copies have
   * @returns undefined when the queue has space, else a promise to wait for before continuing
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
   * Reopens the file, for log rotation by rename; does nothing for a descriptor or standard output.
   * @throws GatewayError `record.open`; the old file then stays in use
   */
  reopen(): void;
  /** Flushes and releases the file. Records that cannot be written within `closeTimeoutMs` are reported as lost. */
  close(): Promise<void>;
}

/** Further methods of a writer whose records go to a separate thread. */
export interface RecordsOfThread {
  /** Records are tamper-evident, and name the deciding rule. */
  readonly isAudited: boolean;
  /** There are copies. */
  readonly wantsExtra: boolean;
  /** Position of the latest line: outcomes refer to it. */
  readonly lastSeq: number;
  /** Called after the response, so nothing waits for space in the queue. */
  writeOutcome(outcome: OutcomeInput): void;
  /**
   * Sets the routes' declared treatment of tool arguments in copies, by route key. Called whenever a configuration
   * takes effect.
   */
  declareArguments(declared: ReadonlyMap<string, DeclaredArguments>): void;
  /** False: the log or a consumer cannot store records. */
  readonly canKeep: boolean;
  /** Status of the consumers, about a second old. */
  status(): readonly ConsumerStatus[];
}

/** Writes to a file itself. */
export interface LineWriter extends RecordWriter {
  /** Like `write()`, for callers that already have bytes. They are copied. */
  writeBytes(line: Uint8Array): Promise<void> | undefined;
}

export interface RecordWriterOptions {
  /** "stdout", a file path (appended to, created with mode 640), or an open file descriptor, which stays open. */
  readonly destination: string | number;
  /** A write failed (called for the first failure in a row), or lines were lost at close. `queued` counts bytes. */
  readonly onError: (error: GatewayError, queued: number) => void;
  /** Bytes that may be queued before `write` makes callers wait. Default: 8 Mi. */
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
/** Space for lines that arrive while a batch is being written. */
const CHUNK_BYTES = 384 << 10;

/** @throws GatewayError `record.open` when the file cannot be opened */
export function createRecordWriter(options: RecordWriterOptions): LineWriter {
  return new FileWriter(options);
}

/** Its methods are own properties: wrappers copy them. */
class FileWriter implements LineWriter {
  readonly #options: RecordWriterOptions;
  readonly #path: string | undefined;
  readonly #maxQueued: number;
  readonly #batchSize: number;
  readonly #batchMs: number;
  readonly #retryMs: number;
  readonly #writeTo: WriteTo;
  #file: LogFile | undefined;
  /** Opened by `reopen`, first used between two batches. */
  #nextFile: LogFile | undefined;
  // Lines become bytes immediately: joining thousands of small strings later costs more than the whole rest of a
  // record.
  #filling: Buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #filled = 0;
  /** Full chunks that wait for the previous write. */
  readonly #full: Buffer[] = [];
  #spare: Buffer | undefined;
  /** Bytes queued and written since the start; the difference is pending. */
  #total = 0;
  #done = 0;
  #isWriting = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #flushes: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  constructor(options: RecordWriterOptions) {
    const { destination, maxQueued = 8 << 20, batchSize = 256 << 10, batchMs = 100, retryMs = 50 } = options;
    this.#options = options;
    this.#maxQueued = maxQueued;
    this.#batchSize = batchSize;
    this.#batchMs = batchMs;
    this.#retryMs = retryMs;
    this.#writeTo = options.writeTo ?? writeFile;
    this.#path = typeof destination === "string" && destination !== "stdout" ? destination : undefined;
    this.#file = this.#path === undefined ? undefined : openLogFile(this.#path);
  }

  readonly write = (line: string): Promise<void> | undefined => {
    if (this.#isClosed) return this.#refuse(Buffer.byteLength(line));
    // A UTF-16 unit takes three bytes at most.
    if (this.#filled + line.length * 3 > this.#filling.length) this.#beginChunk(line.length * 3);
    return this.#queued(this.#filling.write(line, this.#filled));
  };

  readonly writeBytes = (line: Uint8Array): Promise<void> | undefined => {
    if (this.#isClosed) return this.#refuse(line.length);
    if (this.#filled + line.length > this.#filling.length) this.#beginChunk(line.length);
    this.#filling.set(line, this.#filled);
    return this.#queued(line.length);
  };

  readonly flush = (): Promise<void> => {
    if (this.#done === this.#total) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(lostError());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#flushes.push({ upTo: this.#total, resolve, reject });
    this.#schedule();
    return promise;
  };

  readonly reopen = (): void => {
    if (this.#path === undefined || this.#isClosed) return;
    const opened = openLogFile(this.#path);
    this.#nextFile?.close();
    this.#nextFile = opened;
    if (!this.#isWriting) this.#useNextFile();
  };

  readonly close = async (): Promise<void> => {
    if (this.#isClosed) return;
    const { closeTimeoutMs = 5_000, onError } = this.#options;
    const isDone = await Promise.race([this.flush().then(() => true), after(closeTimeoutMs)]);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#room?.resolve();
    const lost = this.#total - this.#done;
    if (!isDone) onError(lostError(), lost);
    for (const each of this.#flushes) each.reject(lostError());
    this.#nextFile?.close();
    this.#file?.close();
  };

  #refuse(bytes: number): undefined {
    const text = "Cannot write an authorization record: the writer is closed";
    this.#options.onError(new GatewayError("record.lost", text), bytes);
  }

  #queued(bytes: number): Promise<void> | undefined {
    this.#filled += bytes;
    this.#total += bytes;
    this.#schedule();
    if (this.#total - this.#done < this.#maxQueued) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  #beginChunk(bytes: number): void {
    if (this.#filled > 0) this.#full.push(this.#filling.subarray(0, this.#filled));
    const spare = this.#spare !== undefined && this.#spare.length >= bytes ? this.#spare : undefined;
    this.#filling = spare ?? Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
    this.#spare = undefined;
    this.#filled = 0;
  }

  #takeBatch(): Buffer {
    if (this.#full.length === 0) this.#beginChunk(0);
    return this.#full.shift() ?? Buffer.alloc(0);
  }

  #schedule(): void {
    if (this.#isWriting || this.#isClosed || this.#total === this.#done) return;
    if (this.#full.length > 0 || this.#filled >= this.#batchSize || this.#flushes.length > 0) this.#writeBatch();
    else
      this.#timer ??= setTimeout(
        task("the write of records", () => this.#writeBatch()),
        this.#batchMs,
      );
  }

  #writeBatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#takeBatch();
    this.#isWriting = true;
    this.#useNextFile();
    this.#writeFrom(batch, 0, this.#retryMs, () => this.#wrote(batch));
  }

  #wrote(batch: Buffer): void {
    this.#isWriting = false;
    this.#done += batch.length;
    if (batch.buffer.byteLength === CHUNK_BYTES) this.#spare ??= Buffer.from(batch.buffer);
    for (const flush of this.#flushes) if (flush.upTo <= this.#done) flush.resolve();
    this.#flushes = this.#flushes.filter((flush) => flush.upTo > this.#done);
    // Half empty, not merely below the limit: else every line would wake all waiting requests for one free position.
    if (this.#total - this.#done <= this.#maxQueued / 2) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    this.#schedule();
  }

  #writeFrom(lines: Buffer, from: number, waitMs: number, whenDone: () => void): void {
    const { onError, destination } = this.#options;
    const { batch, offset } = this.#file?.rest(lines, from) ?? { batch: lines, offset: from };
    const descriptor = this.#file?.fd ?? (typeof destination === "number" ? destination : 1);
    this.#writeTo(descriptor, batch, offset, batch.length - offset, null, (error, written) => {
      if (this.#isClosed) return;
      if (error) {
        // A pipe that is temporarily full is not a failure.
        if (error.code !== "EAGAIN" && waitMs === this.#retryMs) onError(writeError(error), this.#total - this.#done);
        const nextMs = Math.min(waitMs * 2, MAX_RETRY_MS);
        const retry = (): void => this.#retry(lines, from, nextMs, whenDone);
        this.#retryTimer = setTimeout(task("the write of records", retry), waitMs);
        return;
      }
      this.#file?.wrote(written);
      if (offset + written < batch.length) this.#writeFrom(batch, offset + written, this.#retryMs, whenDone);
      else whenDone();
    });
  }

  #retry(batch: Buffer, offset: number, waitMs: number, whenDone: () => void): void {
    if (this.#isClosed) return;
    // The old file may never work again, but a rotation can fix that.
    this.#useNextFile();
    this.#writeFrom(batch, offset, waitMs, whenDone);
  }

  #useNextFile(): void {
    if (this.#nextFile === undefined) return;
    this.#file?.close();
    this.#file = this.#nextFile;
    this.#nextFile = undefined;
  }
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
