/**
 * Stores copies of records in a database. It reads them from the queue, after the log, and blocks nothing.
 *
 * Records are batched for at most half a second or until there are 1,000. Most outcomes arrive within that time, while
 * their decision is still in the batch. They stay queued while the database is unavailable. The keeper has no state of
 * its own: after a crash the next process reads the uncommitted ones again, and a record that is written twice is
 * stored once.
 */
import type { ConsumerLog, ConsumerStatus, RecordConsumer } from "../audit/record-consumer.ts";
import type { Batch } from "../record-queue/cursor.ts";
import type { Receiver, ReceiverOptions } from "../record-queue/receiver.ts";
import { createBackoff } from "../shared/backoff.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { reportFault } from "../shared/faults/faults.ts";
import { task } from "../shared/faults/guard.ts";
import { BackEndError, type RecordBackEnd } from "./back-end.ts";
import { readRecords } from "./result.ts";

export interface KeeperDeps {
  readonly receiver: Receiver;
  readonly log: ConsumerLog;
  readonly clock: Clock;
  readonly flushMs?: number | undefined;
}

/** Number of lines that are written without waiting for more; an outcome is also a line. */
const FLUSH_AT = 1_000;
/** Lines per transaction when many are pending. */
const MAX_BATCH = 2_000;
const MAX_BATCH_BYTES = 4 << 20;
const BUSY_RETRY_MS = 50;
const RETRY_MOST_MS = 5_000;
/** A database that is busy for this long counts as unavailable. */
const BUSY_MS = 5_000;
const TEND_EVERY_MS = 30_000;
const TEND_AFTER = 20_000;
/** Between two pieces of background work: others write then. */
const PIECE_PAUSE_MS = 20;
const CLOSE_MS = 3_000;
const NAME = "record_store";
/** Limits for pending records in memory, and in the spool. */
const MAX_MEMORY_BYTES = 64 << 20;
const MAX_SPOOL_BYTES = 256 << 20;

/** The store's options for the queue. */
export function storeReceiver(isDurable: boolean, log: ConsumerLog, maxBytes?: number): ReceiverOptions {
  return {
    name: NAME,
    fileName: "store",
    maxBytes: maxBytes ?? (isDurable ? MAX_SPOOL_BYTES : MAX_MEMORY_BYTES),
    onLosing: ({ reason, lost }) => log.error({ reason, lost }, "record store drops records, log is complete"),
    onLost: ({ reason, lost }) => log.warn({ reason, lost }, "record store no longer drops records"),
  };
}

/** @param backEnd closed together with the keeper */
export class RecordKeeper implements RecordConsumer {
  readonly #backEnd: RecordBackEnd;
  readonly #deps: KeeperDeps;
  readonly #maintenance: NodeJS.Timeout;
  #taken = 0;
  /** Rows since the last check of indexes and age. */
  #untended = 0;
  #lastError: string | undefined;
  #lastSuccessAt: number | undefined;
  #isAway = false;
  /** Set since the last read of the queue. */
  #hasNews = false;
  #busySince: number | undefined;
  readonly #backoff = createBackoff({ firstMs: 100, mostMs: RETRY_MOST_MS, random: () => 1 });
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #tending: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #flushes: { readonly upTo: number; readonly resolve: () => void }[] = [];

  constructor(backEnd: RecordBackEnd, deps: KeeperDeps) {
    this.#backEnd = backEnd;
    this.#deps = deps;
    this.#maintenance = setInterval(
      task("the upkeep of the record store", () => this.#tend()),
      TEND_EVERY_MS,
    ).unref();
    deps.receiver.onNews = () => this.#wake();
    void this.#tend();
    this.#wake();
  }

  /** False while the database is unavailable. */
  get canKeep(): boolean {
    return !this.#isAway && this.#deps.receiver.canKeep;
  }

  status(): ConsumerStatus {
    const { waiting, lost } = this.#deps.receiver;
    return {
      name: NAME,
      kind: NAME,
      isAway: this.#isAway,
      waiting,
      taken: this.#taken,
      lost,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(this.#lastSuccessAt !== undefined && { lastSuccessAt: this.#lastSuccessAt }),
    };
  }

  async flush(): Promise<void> {
    const { receiver } = this.#deps;
    if (this.#closing || receiver.done >= receiver.next) return;
    const done = new Promise<void>((resolve) => this.#flushes.push({ upTo: receiver.next, resolve }));
    await this.#running;
    void this.#work();
    await done;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  #wake(): void {
    const { receiver, flushMs = 500 } = this.#deps;
    this.#hasNews = true;
    if (receiver.waiting === 0) return;
    const isUrgent = receiver.waiting >= FLUSH_AT || this.#flushes.length > 0;
    // The pause between two attempts remains while it is unavailable.
    if (isUrgent && !this.#isAway && this.#busySince === undefined && !this.#running && !this.#closing)
      void this.#work();
    else this.#schedule(flushMs);
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined || this.#running || this.#closing) return;
    this.#timer = setTimeout(
      task("the write of records", () => this.#work()),
      ms,
    );
  }

  #work(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#drain()
      .catch((error: unknown) => {
        // A programming error: records stay queued, as when the database is unavailable.
        reportFault({ scope: "task", what: "the write of records", error });
        this.#isAway = true;
        this.#lastError = errorText(error);
        return RETRY_MOST_MS;
      })
      .then((pauseMs) => {
        this.#running = undefined;
        if (pauseMs !== undefined) this.#schedule(pauseMs);
        else if (this.#hasNews) this.#wake();
      });
    return this.#running;
  }

  /** @returns when to try again; undefined: with the next records */
  async #drain(): Promise<number | undefined> {
    const { receiver, flushMs = 500 } = this.#deps;
    for (;;) {
      this.#hasNews = false;
      const batch = await receiver.read(MAX_BATCH, MAX_BATCH_BYTES);
      if (!batch) {
        this.#settle();
        return undefined;
      }
      try {
        await this.#write(batch);
      } catch (error) {
        return this.#failed(error);
      }
      this.#settle();
      if (this.#untended >= TEND_AFTER) void this.#tend();
      if (receiver.waiting < FLUSH_AT && this.#flushes.length === 0 && !this.#closing)
        return receiver.waiting > 0 ? flushMs : undefined;
      // Lets other tasks of this thread and other writers run.
      await new Promise(setImmediate);
    }
  }

  /** Its own losses are not written here: they arrive through the log, as records. */
  async #write({ lines, valueAt, damaged, end }: Batch): Promise<void> {
    const now = this.#deps.clock.now();
    const { rows, ended, damaged: broken } = readRecords(lines, now, valueAt);
    if (rows.length + ended.length > 0) {
      await this.#backEnd.write({ rows, ended, now });
      this.#succeeded();
    }
    this.#taken += rows.length;
    this.#untended += rows.length;
    this.#deps.receiver.commit(end, { damaged: damaged + broken });
  }

  #succeeded(): void {
    const { log, clock, receiver } = this.#deps;
    if (this.#isAway) log.info({ lost: receiver.lost }, "record store recovered");
    this.#isAway = false;
    this.#busySince = this.#lastError = undefined;
    this.#lastSuccessAt = clock.now();
    this.#backoff.reset();
  }

  #failed(error: unknown): number {
    const isBusy = error instanceof BackEndError && error.reason === "busy";
    this.#busySince ??= performance.now();
    if (isBusy && performance.now() - this.#busySince < BUSY_MS) return BUSY_RETRY_MS;
    this.#lastError = errorText(error);
    if (!this.#isAway) this.#deps.log.error({ reason: this.#lastError }, "record store unavailable, records queued");
    this.#isAway = true;
    return this.#backoff.next();
  }

  #settle(): void {
    const { done } = this.#deps.receiver;
    for (const flush of this.#flushes) if (flush.upTo <= done) flush.resolve();
    this.#flushes = this.#flushes.filter(({ upTo }) => upTo > done);
  }

  #tend(): Promise<void> {
    this.#untended = 0;
    this.#tending ??= this.#piecesOfWork()
      .catch((error: unknown) => reportFault({ scope: "task", what: "the upkeep of the record store", error }))
      .finally(() => {
        this.#tending = undefined;
      });
    return this.#tending;
  }

  async #piecesOfWork(): Promise<void> {
    try {
      while (await this.#backEnd.maintain(this.#deps.clock.now())) {
        await new Promise((resolve) => setTimeout(resolve, PIECE_PAUSE_MS));
        if (this.#closing) return;
      }
      if (this.#deps.receiver.waiting === 0) this.#succeeded();
    } catch (error) {
      if (!(error instanceof BackEndError && error.reason === "busy")) this.#failed(error);
    }
  }

  async #close(): Promise<void> {
    const { receiver, log } = this.#deps;
    clearInterval(this.#maintenance);
    clearTimeout(this.#timer);
    const deadline = performance.now() + CLOSE_MS;
    await this.#running;
    // The next process writes what is on the disk.
    while ((await this.#drain()) !== undefined && !receiver.isDurable && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, BUSY_RETRY_MS));
    if (receiver.waiting > 0 && !receiver.isDurable) {
      const fields = { lost: receiver.waiting, reason: this.#lastError };
      log.error(fields, "record store drops records, log is complete");
    }
    for (const { resolve } of this.#flushes) resolve();
    await this.#tending;
    await this.#backEnd.close();
  }
}
