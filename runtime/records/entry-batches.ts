/** Entries for the records thread, collected into batches in memory that both threads share. */
import { CHECKPOINT_BYTES, outcomeBytes, putCheckpoint, putOutcome } from "../audit/entries.ts";
import type { OutcomeInput } from "../audit/outcome-record.ts";
import type { ToRecordThread } from "./records-protocol.ts";

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
/** … or when this time has passed since its first entry; the thread writes it immediately. */
const BATCH_MS = 80;
const CHUNK_BYTES = 320 << 10;
/** Chunks stored for reuse. */
const MAX_FREE = 4;

export class EntryBatches {
  readonly #tell: (message: ToRecordThread) => void;
  readonly #maxQueued: number;
  readonly #free: Chunk[] = [];
  readonly #sent = new Map<number, Chunk>();
  #lastChunk = 0;
  #chunk = this.#newChunk(CHUNK_BYTES);
  #filled = 0;
  /** Bytes queued and written since the start; the difference is pending. */
  #total = 0;
  #done = 0;
  #timer: NodeJS.Timeout | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(tell: (message: ToRecordThread) => void, maxQueued: number) {
    this.#tell = tell;
    this.#maxQueued = maxQueued;
  }

  /** Bytes not sent yet. */
  get filled(): number {
    return this.#filled;
  }

  /** Bytes not written yet. */
  get waiting(): number {
    return this.#total - this.#done;
  }

  /** @returns a promise that resolves when there is space; undefined: there is some */
  putLine(line: string, extra: string | undefined): Promise<void> | undefined {
    // A UTF-16 unit takes three bytes at most.
    this.#makeRoom((line.length + (extra?.length ?? 0)) * 3 + 1);
    const { bytes } = this.#chunk;
    let end = this.#filled + bytes.write(line, this.#filled);
    if (extra) {
      end += bytes.write(extra, end);
      bytes[end] = 0x0a;
      end += 1;
    }
    this.#queued(end);
    if (this.#total - this.#done < this.#maxQueued) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  putOutcome(outcome: OutcomeInput): void {
    this.#makeRoom(outcomeBytes(outcome));
    this.#queued(putOutcome(this.#chunk.bytes, this.#chunk.view, this.#filled, outcome));
  }

  putCheckpoint(): void {
    this.#makeRoom(CHECKPOINT_BYTES);
    this.#queued(putCheckpoint(this.#chunk.bytes, this.#filled));
  }

  readonly send = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#filled === 0) return;
    const chunk = this.#chunk;
    const memory = chunk.isKnown ? undefined : chunk.memory;
    this.#tell({ type: "entries", chunk: chunk.id, memory, length: this.#filled });
    chunk.isKnown = true;
    this.#sent.set(chunk.id, chunk);
    this.#begin(this.#free.pop() ?? this.#newChunk(CHUNK_BYTES));
  };

  /** A batch is in the log; its chunk can be reused. */
  written(id: number, length: number): void {
    const back = this.#sent.get(id);
    this.#sent.delete(id);
    if (back?.bytes.length === CHUNK_BYTES && this.#free.length < MAX_FREE) this.#free.push(back);
    else this.#tell({ type: "forget", chunk: id });
    this.#done += length;
    // Half empty, not merely below the limit: else every batch would wake all waiting requests for a few free
    // positions.
    if (this.#total - this.#done > this.#maxQueued / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Marks everything as written. */
  finish(): void {
    this.#done = this.#total;
  }

  /** Releases all who wait for space. */
  close(): void {
    clearTimeout(this.#timer);
    this.#room?.resolve();
  }

  #newChunk(size: number): Chunk {
    const memory = new SharedArrayBuffer(size);
    this.#lastChunk += 1;
    return { id: this.#lastChunk, memory, bytes: Buffer.from(memory), view: new DataView(memory), isKnown: false };
  }

  #begin(next: Chunk): void {
    this.#chunk = next;
    this.#filled = 0;
  }

  /** Makes space for an entry of this size. */
  #makeRoom(bytes: number): void {
    if (this.#filled + bytes <= this.#chunk.bytes.length) return;
    this.send();
    if (bytes <= this.#chunk.bytes.length) return;
    this.#free.push(this.#chunk);
    this.#begin(this.#newChunk(bytes));
  }

  #queued(end: number): void {
    this.#total += end - this.#filled;
    this.#filled = end;
    if (end >= BATCH_BYTES) this.send();
    else this.#timer ??= setTimeout(this.send, BATCH_MS);
  }
}
