/**
 * Keeps copies of records in a database, behind the log and in nobody's way.
 *
 * Copies wait in memory for at most half a second or 500 of them, which is also the time in which most outcomes find their
 * decision still there. While the database is away they wait longer; what does not fit then is lost to the copy, oldest first,
 * counted and told. The log has it.
 */
import { CHECK_MESSAGE } from "../audit/log-line.ts";
import type { ConsumerStatus, RecordConsumer } from "../audit/record-consumer.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { BackEndError, type RecordBackEnd } from "./back-end.ts";
import { join, requestKey, resultOf } from "./result.ts";
import { type Row, toRow } from "./row.ts";
import { tellFault } from "../shared/faults/faults.ts";
import { task } from "../shared/faults/guard.ts";

export interface KeeperDeps {
  readonly log: (level: "info" | "warn" | "error", fields: Readonly<Record<string, unknown>>, message: string) => void;
  readonly clock: Clock;
  /** What may wait; for tests. */
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
  readonly flushMs?: number;
}

const FLUSH_AT = 500;
/** Rows of one transaction, while many wait. */
const MAX_BATCH = 1_000;
/** Decisions whose requests have not ended. */
const MAX_OPEN = 100_000;
const RETRY_FIRST_MS = 50;
const RETRY_MOST_MS = 5_000;
/** Busy for so long is away. */
const BUSY_MS = 5_000;
const TEND_EVERY_MS = 30_000;
const TEND_AFTER = 20_000;
/** Between two pieces of work beside: others write then. */
const PIECE_PAUSE_MS = 20;
const CLOSE_MS = 3_000;

/** @param backEnd closed with what is returned */
export function keepRecords(backEnd: RecordBackEnd, deps: KeeperDeps): RecordConsumer {
  const { log, clock, maxWaiting = 50_000, maxWaitingBytes = 64 << 20, flushMs = 500 } = deps;
  const waiting: Row[] = [];
  /** The first of them, with which a transaction is under way. */
  let writing: ReadonlySet<Row> = new Set();
  let waitingBytes = 0;
  const ended: Row[] = [];
  const open = new Map<string, Row>();
  let taken = 0;
  let lost = 0;
  /** Rows and ends of requests, and those of them that are kept or lost. */
  let queued = 0;
  let settled = 0;
  /** Rows since indexes and age were looked at. */
  let untended = 0;
  let lastError: string | undefined;
  let lastSuccessAt: number | undefined;
  let isAway = false;
  let isLosing = false;
  let busySince: number | undefined;
  let retryMs = RETRY_FIRST_MS;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isClosed = false;
  let flushes: { readonly upTo: number; readonly resolve: () => void }[] = [];
  const maintenance = setInterval(task("the upkeep of the record store", tend), TEND_EVERY_MS).unref();
  let tending: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  function takeOne(value: Readonly<Record<string, unknown>>): void {
    const { message } = value;
    if (message === "request outcome") return end(value);
    // Places and signatures of the log are about the log.
    if (typeof message === "string" && message.startsWith("audit ")) return;
    taken += 1;
    queued += 1;
    const row = toRow(value, clock.now());
    waiting.push(row);
    waitingBytes += row.text.length;
    if (message !== CHECK_MESSAGE) return;
    const key = requestKey(value, false);
    if (key === undefined) return;
    open.set(key, row);
    if (open.size > MAX_OPEN) open.delete(open.keys().next().value as string);
  }

  function end(value: Readonly<Record<string, unknown>>): void {
    const key = requestKey(value, true);
    const row = key === undefined ? undefined : open.get(key);
    const result = resultOf(value);
    if (key === undefined || row === undefined || result === undefined) return;
    open.delete(key);
    join(row, result);
    // It is written, or is being written as it was.
    if ((row.text === "" || writing.has(row)) && ended.length < maxWaiting) {
      ended.push(row);
      queued += 1;
    }
  }

  function dropOverflow(): void {
    const first = writing.size;
    let dropped = 0;
    for (
      let row = waiting[first];
      row !== undefined && (waiting.length - dropped > maxWaiting || waitingBytes > maxWaitingBytes);
      row = waiting[first + dropped]
    ) {
      waitingBytes -= row.text.length;
      dropped += 1;
    }
    if (dropped === 0) return;
    waiting.splice(first, dropped);
    lost += dropped;
    if (!isLosing) log("error", { waiting: waiting.length }, "records are lost to the record store, the log has them");
    isLosing = true;
    settle(dropped);
  }

  function schedule(ms: number): void {
    if (timer !== undefined || running || isClosed) return;
    timer = setTimeout(task("the write of records", work), ms);
  }

  function work(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    running ??= drain()
      .catch((error: unknown) => {
        // A mistake of ours: they wait as if the database were away.
        tellFault({ scope: "task", what: "the write of records", error });
        isAway = true;
        lastError = errorText(error);
        return RETRY_MOST_MS;
      })
      .then((pauseMs) => {
        running = undefined;
        if (pauseMs !== undefined) schedule(pauseMs);
      });
    return running;
  }

  /** @returns when to try again */
  async function drain(): Promise<number | undefined> {
    while (waiting.length > 0 || ended.length > 0) {
      const rows = waiting.slice(0, MAX_BATCH);
      writing = new Set(rows);
      // What ended while it was waiting is in its row already.
      const late = ended.slice(0, MAX_BATCH);
      try {
        await backEnd.write({ rows, ended: late, now: clock.now() });
      } catch (error) {
        return failed(error);
      } finally {
        writing = new Set();
      }
      waiting.splice(0, rows.length);
      ended.splice(0, late.length);
      for (const row of rows) {
        waitingBytes -= row.text.length;
        row.text = "";
      }
      succeeded();
      settle(rows.length + late.length);
      untended += rows.length;
      if (untended >= TEND_AFTER) void tend();
      // Others in this thread, and others that write, have their turn.
      await new Promise(setImmediate);
    }
    return undefined;
  }

  function succeeded(): void {
    if (isAway) log("info", { lost }, "the record store is back");
    if (isLosing && !isAway) log("warn", { lost }, "records are no longer lost to the record store");
    isAway = isLosing = false;
    busySince = lastError = undefined;
    lastSuccessAt = clock.now();
    retryMs = RETRY_FIRST_MS;
  }

  function failed(error: unknown): number {
    const isBusy = error instanceof BackEndError && error.reason === "busy";
    busySince ??= performance.now();
    if (isBusy && performance.now() - busySince < BUSY_MS) return RETRY_FIRST_MS;
    lastError = errorText(error);
    if (!isAway) log("error", { reason: lastError }, "the record store cannot be written, records wait");
    isAway = true;
    retryMs = Math.min(retryMs * 2, RETRY_MOST_MS);
    return retryMs;
  }

  function settle(count: number): void {
    settled += count;
    for (const flush of flushes) if (flush.upTo <= settled) flush.resolve();
    flushes = flushes.filter(({ upTo }) => upTo > settled);
  }

  function tend(): Promise<void> {
    untended = 0;
    tending ??= piecesOfWork()
      .catch((error: unknown) => tellFault({ scope: "task", what: "the upkeep of the record store", error }))
      .finally(() => {
        tending = undefined;
      });
    return tending;
  }

  async function piecesOfWork(): Promise<void> {
    try {
      while (await backEnd.maintain(clock.now())) {
        await new Promise((resolve) => setTimeout(resolve, PIECE_PAUSE_MS));
        if (isClosed) return;
      }
      if (waiting.length === 0) succeeded();
    } catch (error) {
      if (!(error instanceof BackEndError && error.reason === "busy")) failed(error);
    }
  }

  async function closeNow(): Promise<void> {
    isClosed = true;
    clearInterval(maintenance);
    clearTimeout(timer);
    const deadline = performance.now() + CLOSE_MS;
    await running;
    while (waiting.length + ended.length > 0 && performance.now() < deadline) {
      if ((await drain()) !== undefined) await new Promise((resolve) => setTimeout(resolve, RETRY_FIRST_MS));
    }
    if (waiting.length > 0)
      log(
        "error",
        { lost: waiting.length, reason: lastError },
        "records are lost to the record store, the log has them",
      );
    lost += waiting.length;
    settle(queued - settled);
    await tending;
    await backEnd.close();
  }

  void tend();
  return {
    take(copies) {
      if (isClosed) return;
      for (const { value } of copies) takeOne(value);
      dropOverflow();
      if (waiting.length + ended.length === 0) return;
      // While it is away the pause between two tries stays.
      if (waiting.length >= FLUSH_AT && !isAway && busySince === undefined && !running) void work();
      else schedule(flushMs);
    },
    async flush() {
      if (settled >= queued || isClosed) return;
      const done = new Promise<void>((resolve) => flushes.push({ upTo: queued, resolve }));
      await running;
      void work();
      await done;
    },
    get canKeep() {
      return !isAway;
    },
    status() {
      return {
        name: "record_store",
        kind: "record_store",
        isAway,
        waiting: waiting.length,
        taken,
        lost,
        ...(lastError !== undefined && { lastError }),
        ...(lastSuccessAt !== undefined && { lastSuccessAt }),
      } satisfies ConsumerStatus;
    },
    close: () => (closing ??= closeNow()),
  };
}
