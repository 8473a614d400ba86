/**
 * The main thread's side of the records thread. A request formats a line, copies its bytes into the batch, and
 * continues: hashing, writing, copies and consumers run in the thread.
 *
 * Nothing may go unrecorded: if the thread ends unexpectedly, the process ends as well.
 */
import type { Worker } from "node:worker_threads";

import { FIRST_PLACE } from "../audit/chain/chain.ts";
import { countPlaces } from "../audit/chain/places.ts";
import type { OutcomeInput } from "../audit/outcome-record.ts";
import { openLogFile } from "../audit/log-file.ts";
import type { RecordsOfThread, RecordWriter } from "../audit/record-writer.ts";
import { within } from "../shared/clock.ts";
import { GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { send, startThread } from "../shared/thread.ts";
import { EntryBatches } from "./entry-batches.ts";
import type { FromRecordThread, RecordState, RecordThreadSettings, ToRecordThread } from "./records-protocol.ts";

export interface RecordThread extends RecordWriter {
  readonly thread: RecordsOfThread;
}

export interface RecordThreadDeps {
  readonly log: Log;
  /** As in `createRecordWriter()`. */
  readonly onError: (error: GatewayError, queued: number) => void;
  /** A checkpoint that is in the log. */
  readonly onCheckpoint: (note: string) => void;
  /** The thread ended, with the records that it had not written. */
  readonly onDeath: (error: GatewayError) => void;
  /** Bytes that may be queued before `write` makes callers wait. Default: 8 Mi. */
  readonly maxQueued?: number;
}

/** Added to the log's own closing time: for consumers, and for messages in both directions. */
const END_MS = 6_000;

/** @throws GatewayError `record.open`, `record.thread` */
export async function startRecordThread(settings: RecordThreadSettings, deps: RecordThreadDeps): Promise<RecordThread> {
  const connection = new ThreadConnection(settings, deps);
  await connection.started();
  return connection;
}

class ThreadConnection implements RecordThread {
  readonly thread: RecordsOfThread & { lastSeq: number; canKeep: boolean };
  readonly #deps: RecordThreadDeps;
  readonly #settings: RecordThreadSettings;
  readonly #worker: Worker;
  readonly #batches: EntryBatches;
  readonly #places: ReturnType<typeof countPlaces>;
  readonly #flushes = new Map<number, PromiseWithResolvers<void>>();
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #consumers: RecordState["consumers"] = [];
  #lastFlush = 0;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  #failure: unknown;

  constructor(settings: RecordThreadSettings, deps: RecordThreadDeps) {
    const { audit, redaction } = settings;
    this.#deps = deps;
    this.#settings = settings;
    this.#worker = startThread(import.meta.url, "records-worker", { workerData: settings, name: "records" });
    const batches = new EntryBatches((message) => this.#tell(message), deps.maxQueued ?? 8 << 20);
    this.#batches = batches;
    this.#places = countPlaces(audit ? FIRST_PLACE : 0, audit && (() => batches.putCheckpoint()));
    this.thread = {
      isAudited: audit !== undefined,
      wantsExtra: redaction !== undefined,
      lastSeq: this.#places.last,
      canKeep: true,
      writeOutcome: (outcome) => this.#writeOutcome(outcome),
      declareArguments: (declared) => {
        // Pending entries were decided before.
        batches.send();
        this.#tell({ type: "arguments", declared });
      },
      status: () => this.#consumers,
    };
    this.#worker.on("message", (message: FromRecordThread) => this.#hear(message));
    this.#worker.once("error", (error) => (this.#failure = error));
    this.#worker.once("exit", () => this.#exited());
  }

  async started(): Promise<void> {
    try {
      await this.#started.promise;
    } catch (error) {
      this.#closing = Promise.resolve();
      await this.#worker.terminate();
      throw error;
    }
  }

  readonly write = (line: string, extra?: string): Promise<void> | undefined => {
    if (this.#isClosed) {
      const text = "Cannot write an authorization record: the writer is closed";
      this.#deps.onError(new GatewayError("record.lost", text), Buffer.byteLength(line));
      return undefined;
    }
    const room = this.#batches.putLine(line, extra);
    this.#placed();
    return room;
  };

  readonly flush = (): Promise<void> => {
    if (this.#isClosed) return this.#batches.waiting === 0 ? Promise.resolve() : Promise.reject(lostError());
    this.#batches.send();
    const waiting = Promise.withResolvers<void>();
    this.#lastFlush += 1;
    this.#flushes.set(this.#lastFlush, waiting);
    this.#tell({ type: "flush", id: this.#lastFlush });
    return waiting.promise;
  };

  readonly reopen = (): void => {
    const { destination } = this.#settings;
    if (this.#isClosed || typeof destination !== "string" || destination === "stdout") return;
    // Reports immediately whether the file can be opened.
    openLogFile(destination).close();
    this.#batches.send();
    this.#tell({ type: "reopen" });
  };

  readonly close = (): Promise<void> => (this.#closing ??= this.#close());

  #tell(message: ToRecordThread): void {
    send(this.#worker, message);
  }

  #placed(): void {
    this.#places.take();
    this.thread.lastSeq = this.#places.last;
  }

  #writeOutcome(outcome: OutcomeInput): void {
    if (this.#isClosed) {
      const text = "Cannot write the outcome of a request: the writer is closed";
      this.#deps.onError(new GatewayError("record.lost", text), 0);
      return;
    }
    this.#batches.putOutcome(outcome);
    this.#placed();
  }

  #hear(message: FromRecordThread): void {
    const { onError, onCheckpoint, log } = this.#deps;
    switch (message.type) {
      case "ready":
        this.#started.resolve();
        break;
      case "failed":
        this.#started.reject(new GatewayError(message.code, message.message));
        break;
      case "written":
        this.#batches.written(message.chunk, message.length);
        if (message.note !== undefined) onCheckpoint(message.note);
        break;
      case "flushed": {
        const waiting = this.#flushes.get(message.id);
        this.#flushes.delete(message.id);
        if (message.isLost) waiting?.reject(lostError());
        else waiting?.resolve();
        break;
      }
      case "error":
        onError(new GatewayError(message.code, message.message), message.queued + this.#batches.filled);
        break;
      case "state":
        this.#consumers = message.state.consumers;
        this.thread.canKeep = message.state.canKeep;
        break;
      case "line":
        void this.write(message.line);
        break;
      case "log":
        log[message.level](message.fields, message.message);
        break;
      default:
        if (message.note !== undefined) onCheckpoint(message.note);
        this.#batches.finish();
        this.#ended.resolve();
    }
  }

  #exited(): void {
    const cause = this.#failure;
    const error = new GatewayError("record.thread", "The thread of the authorization records ended", { cause });
    this.#started.reject(error);
    this.#end();
    if (this.#closing === undefined) this.#deps.onDeath(error);
    this.#ended.resolve();
  }

  /** Releases all who wait for a response. */
  #end(): void {
    this.#isClosed = true;
    this.#places.close();
    this.#batches.close();
    for (const waiting of this.#flushes.values()) waiting.reject(lostError());
    this.#flushes.clear();
  }

  async #close(): Promise<void> {
    this.#places.close();
    this.#batches.send();
    this.#isClosed = true;
    this.#tell({ type: "close" });
    await within(this.#settings.closeTimeoutMs + END_MS, this.#ended.promise, () => undefined);
    const { waiting } = this.#batches;
    if (waiting > 0) this.#deps.onError(lostError(), waiting);
    this.#end();
    await this.#worker.terminate();
  }
}

function lostError(): GatewayError {
  return new GatewayError("record.lost", "Cannot write the last authorization records");
}
