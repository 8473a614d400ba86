/**
 * This side of the records' thread. Whoever handles requests formats a line, copies its bytes into the batch, and goes on:
 * hashing, writing, copies and consumers are over there.
 *
 * Nothing may go unrecorded: a thread that ends by itself takes the process with it.
 */
import { FIRST_PLACE } from "../audit/chain/chain.ts";
import { countPlaces } from "../audit/chain/places.ts";
import { CHECKPOINT_BYTES, outcomeBytes, putCheckpoint, putOutcome } from "../audit/entries.ts";
import type { OutcomeInput } from "../audit/outcome-record.ts";
import { openLogFile } from "../audit/log-file.ts";
import type { RecordsOfThread, RecordWriter } from "../audit/record-writer.ts";
import { within } from "../shared/clock.ts";
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { send, startThread } from "../shared/thread.ts";
import type { FromRecordThread, RecordState, RecordThreadSettings, ToRecordThread } from "./records-protocol.ts";

export interface RecordThread extends RecordWriter {
  readonly thread: RecordsOfThread;
}

export interface RecordThreadDeps {
  readonly log: Log;
  /** As of `createRecordWriter()`. */
  readonly onError: (error: GatewayError, queued: number) => void;
  /** A checkpoint that stands in the log. */
  readonly onCheckpoint: (note: string) => void;
  /** The thread is gone, and with it what it had not written. */
  readonly onDeath: (error: GatewayError) => void;
  /** Bytes that may wait before `write` asks callers to wait. Default 8 Mi. */
  readonly maxQueued?: number;
}

interface Chunk {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Over there. */
  isKnown: boolean;
}

/** A batch is sent when it has this many bytes (each way costs a wake-up: at 64 KiB they took 3 % of a GET) … */
const BATCH_BYTES = 256 << 10;
/** … or when this time has passed since its first entry; over there it is written at once. */
const BATCH_MS = 80;
const CHUNK_BYTES = 320 << 10;
/** Chunks that are kept to be filled again. */
const MAX_FREE = 4;
/** Beside the log's own time to end: for consumers, and the way there and back. */
const END_MS = 6_000;

/** @throws GatewayError `record.open`, `record.thread` */
export async function startRecordThread(settings: RecordThreadSettings, deps: RecordThreadDeps): Promise<RecordThread> {
  const { log, onError, onCheckpoint, onDeath, maxQueued = 8 << 20 } = deps;
  const { audit, destination, closeTimeoutMs, redaction } = settings;
  const worker = startThread(import.meta.url, "records-worker", { workerData: settings, name: "records" });
  const tell = (message: ToRecordThread): void => send(worker, message);
  const free: Chunk[] = [];
  const sent = new Map<number, Chunk>();
  let lastChunk = 0;
  let chunk = newChunk(CHUNK_BYTES);
  let { bytes: filling, view } = chunk;
  let filled = 0;
  /** Bytes queued and written since the start; the difference waits. */
  let total = 0;
  let done = 0;
  let timer: NodeJS.Timeout | undefined;
  let room: PromiseWithResolvers<void> | undefined;
  let consumers: RecordState["consumers"] = [];
  let isClosed = false;
  let closing: Promise<void> | undefined;
  let lastFlush = 0;
  const flushes = new Map<number, PromiseWithResolvers<void>>();
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();

  function newChunk(size: number): Chunk {
    const memory = new SharedArrayBuffer(size);
    lastChunk += 1;
    return { id: lastChunk, memory, bytes: Buffer.from(memory), view: new DataView(memory), isKnown: false };
  }

  function begin(next: Chunk): void {
    chunk = next;
    ({ bytes: filling, view } = next);
    filled = 0;
  }

  /** Room for an entry of so many bytes. */
  function makeRoom(bytes: number): void {
    if (filled + bytes <= filling.length) return;
    sendBatch();
    if (bytes <= filling.length) return;
    free.push(chunk);
    begin(newChunk(bytes));
  }

  function sendBatch(): void {
    clearTimeout(timer);
    timer = undefined;
    if (filled === 0) return;
    tell({ type: "entries", chunk: chunk.id, memory: chunk.isKnown ? undefined : chunk.memory, length: filled });
    chunk.isKnown = true;
    sent.set(chunk.id, chunk);
    begin(free.pop() ?? newChunk(CHUNK_BYTES));
  }

  function queued(end: number): void {
    total += end - filled;
    filled = end;
    if (filled >= BATCH_BYTES) sendBatch();
    else timer ??= setTimeout(sendBatch, BATCH_MS);
  }

  const checkpoint = (): void => {
    makeRoom(CHECKPOINT_BYTES);
    queued(putCheckpoint(filling, filled));
  };
  const places = countPlaces(audit ? FIRST_PLACE : 0, audit && checkpoint);
  const thread: RecordsOfThread & { lastSeq: number; canKeep: boolean } = {
    isAudited: audit !== undefined,
    wantsExtra: redaction !== undefined,
    lastSeq: places.last,
    canKeep: true,
    writeOutcome,
    declareArguments(declared) {
      // What is waiting was decided before.
      sendBatch();
      tell({ type: "arguments", declared });
    },
    status: () => consumers,
  };

  function write(line: string, extra?: string): Promise<void> | undefined {
    if (isClosed) {
      onError(
        new GatewayError("record.lost", "Cannot write an authorization record: the writer is closed"),
        Buffer.byteLength(line),
      );
      return undefined;
    }
    // A UTF-16 unit takes three bytes at most.
    makeRoom((line.length + (extra?.length ?? 0)) * 3 + 1);
    let end = filled + filling.write(line, filled);
    if (extra) {
      end += filling.write(extra, end);
      filling[end] = 0x0a;
      end += 1;
    }
    queued(end);
    placed();
    if (total - done < maxQueued) return undefined;
    room ??= Promise.withResolvers();
    return room.promise;
  }

  function placed(): void {
    places.take();
    thread.lastSeq = places.last;
  }

  function writeOutcome(outcome: OutcomeInput): void {
    if (isClosed) {
      onError(new GatewayError("record.lost", "Cannot write what became of a request: the writer is closed"), 0);
      return;
    }
    makeRoom(outcomeBytes(outcome));
    queued(putOutcome(filling, view, filled, outcome));
    placed();
  }

  function taken({ chunk: id, length, note }: Extract<FromRecordThread, { readonly type: "written" }>): void {
    const back = sent.get(id);
    sent.delete(id);
    if (back?.bytes.length === CHUNK_BYTES && free.length < MAX_FREE) free.push(back);
    else tell({ type: "forget", chunk: id });
    done += length;
    // Half empty, not merely below the mark: else every batch would wake everybody for a few free places.
    if (total - done <= maxQueued / 2) {
      room?.resolve();
      room = undefined;
    }
    if (note !== undefined) onCheckpoint(note);
  }

  worker.on("message", (message: FromRecordThread) => {
    switch (message.type) {
      case "ready":
        started.resolve();
        break;
      case "failed":
        started.reject(new GatewayError(message.code, message.message));
        break;
      case "written":
        taken(message);
        break;
      case "flushed": {
        const waiting = flushes.get(message.id);
        flushes.delete(message.id);
        if (message.isLost) waiting?.reject(lostError());
        else waiting?.resolve();
        break;
      }
      case "error":
        onError(new GatewayError(message.code, message.message), message.queued + filled);
        break;
      case "state":
        ({ consumers } = message.state);
        thread.canKeep = message.state.canKeep;
        break;
      case "line":
        void write(message.line);
        break;
      case "log":
        log[message.level](message.fields, message.message);
        break;
      default:
        if (message.note !== undefined) onCheckpoint(message.note);
        done = total;
        ended.resolve();
    }
  });
  let failure: unknown;
  worker.once("error", (error) => (failure = error));
  worker.once("exit", () => {
    const error = new GatewayError("record.thread", "The thread of the authorization records ended", {
      cause: failure,
    });
    started.reject(error);
    end();
    if (closing === undefined) onDeath(error);
    ended.resolve();
  });

  /** Nobody waits for what does not come any more. */
  function end(): void {
    isClosed = true;
    clearTimeout(timer);
    places.close();
    room?.resolve();
    for (const waiting of flushes.values()) waiting.reject(lostError());
    flushes.clear();
  }

  async function close(): Promise<void> {
    places.close();
    sendBatch();
    isClosed = true;
    tell({ type: "close" });
    await within(closeTimeoutMs + END_MS, ended.promise, () => undefined);
    if (done < total) onError(lostError(), total - done);
    end();
    await worker.terminate();
  }

  try {
    await started.promise;
  } catch (error) {
    closing = Promise.resolve();
    await worker.terminate();
    throw error;
  }
  return {
    write,
    thread,
    flush() {
      if (isClosed) return done === total ? Promise.resolve() : Promise.reject(lostError());
      sendBatch();
      const waiting = Promise.withResolvers<void>();
      lastFlush += 1;
      flushes.set(lastFlush, waiting);
      tell({ type: "flush", id: lastFlush });
      return waiting.promise;
    },
    reopen() {
      if (isClosed || typeof destination !== "string" || destination === "stdout") return;
      // Whether it can be opened is known here and now.
      openLogFile(destination).close();
      sendBatch();
      tell({ type: "reopen" });
    },
    close: () => (closing ??= close()),
  };
}

function lostError(): GatewayError {
  return new GatewayError("record.lost", "Cannot write the last authorization records");
}
