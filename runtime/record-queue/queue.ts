/**
 * The queue of the copies of records: written once, in the order of the log, and read by each receiver at its own pace.
 *
 * Promises: a record is read at least once by each receiver, or counted as lost to it and reported at its position.
 * Bytes on disk and in memory are bounded. A slot belongs to one process. The records of a dead process are taken over
 * by exactly one, which reads them before its own. Without a directory everything is in memory.
 */
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import type { RecordCopy } from "../audit/record-consumer.ts";
import type { Clock } from "../shared/clock.ts";
import { GatewayError, errorText } from "../shared/errors.ts";
import { task } from "../shared/faults/guard.ts";
import { Cursor } from "./cursor.ts";
import { DiskSlot } from "./disk-slot.ts";
import { formatLine } from "./line.ts";
import { MemorySlot } from "./memory-slot.ts";
import { RecentValues } from "./recent-values.ts";
import { Receiver, type ReceiverOptions } from "./receiver.ts";
import { SegmentWriter } from "./segment-writer.ts";
import type { Segment, Slot, SlotWriter } from "./slot.ts";

export interface QueueOptions {
  /** `record_spool`. Undefined: in memory. */
  readonly directory: string | undefined;
  readonly receivers: readonly ReceiverOptions[];
  readonly clock: Clock;
  /** Writes to the authorization log: a line with its line end. */
  readonly record?: ((line: string) => void) | undefined;
  /** Text stored after a record, for the record store. */
  readonly noteOf?: ((value: RecordCopy["value"]) => string | undefined) | undefined;
  /** A file of this process's slot ended in a partial record. */
  readonly onCut: () => void;
  /** The disk rejects writes, called for the first failure in a row; undefined: it accepts them again. */
  readonly onFailing: (error: unknown) => void;
  readonly onUnreadable: (error: unknown) => void;
  /** Called with the number of records that could not be written at the end. */
  readonly onUnwritten: (count: number) => void;
  /** Pause between two attempts while the disk rejects writes. Default: 1,000. */
  readonly retryMs?: number | undefined;
  /** Pause between two searches for slots of dead processes. Default: 30,000. */
  readonly adoptEveryMs?: number | undefined;
}

/** Not a valid name of a sink. Each process has a slot in it. */
const QUEUE_DIRECTORY = "_queue";
const MAX_SEGMENT_BYTES = 8 << 20;
const MAX_PENDING_BYTES = 16 << 20;
const MAX_SLOTS = 1000;

export class RecordQueue {
  readonly receivers: readonly Receiver[];
  readonly #options: QueueOptions;
  readonly #slot: Slot;
  readonly #writer: SlotWriter;
  readonly #cursors: readonly Cursor[];
  readonly #recent = new RecentValues();
  /** Slots of dead processes, by directory. */
  readonly #left = new Map<string, DiskSlot>();
  readonly #timer: NodeJS.Timeout | undefined;
  #next: number;

  /** @throws GatewayError `record-sink.spool` */
  constructor(options: QueueOptions) {
    this.#options = options;
    const { directory, receivers, clock, record, retryMs = 1_000, onFailing, adoptEveryMs = 30_000 } = options;
    const least = Math.min(...receivers.map(({ maxBytes }) => maxBytes));
    // Space is freed in whole files.
    const segmentBytes = Math.min(MAX_SEGMENT_BYTES, Math.floor(least / 16));
    const onWritten = (): void => this.#wake();
    if (directory === undefined) this.#slot = this.#writer = new MemorySlot(onWritten);
    else {
      const slot = openOwnSlot(join(directory, QUEUE_DIRECTORY));
      const maxPendingBytes = Math.min(MAX_PENDING_BYTES, Math.floor(least / 4));
      this.#slot = slot;
      this.#writer = new SegmentWriter({
        slot,
        segmentBytes,
        maxPendingBytes,
        retryMs,
        onWritten,
        onComplete: () => this.#free(),
        onFailing: (error) => {
          onFailing(error);
          if (error === undefined) this.#settle();
        },
      });
      if (slot.wasCut) options.onCut();
    }
    this.#next = this.#slot.end;
    const onCommit = (): void => this.#free();
    this.#cursors = receivers.map(({ fileName }) => new Cursor(this.#slot, fileName, onCommit, this.#recent));
    const common = { writer: this.#writer, segmentBytes, isDurable: directory !== undefined, clock, record };
    this.receivers = receivers.map((each, at) => {
      const own = this.#cursors[at] as Cursor;
      return new Receiver({ ...common, options: each, own, next: () => this.#next });
    });
    this.#free();
    for (const receiver of this.receivers) receiver.restore();
    if (directory === undefined) return;
    this.#adopt();
    this.#timer = setInterval(
      task("the adoption of spools", () => this.#adopt()),
      adoptEveryMs,
    ).unref();
  }

  /** Accepts records in the order of the log; it neither waits nor throws. */
  take(copies: readonly RecordCopy[]): void {
    this.#settle();
    for (const { value } of copies) {
      const line = formatLine(value, this.#options.noteOf?.(value));
      const bytes = Buffer.byteLength(line);
      const hasRoom = this.#writer.hasRoom(bytes);
      let isWanted = false;
      for (const receiver of this.receivers) if (receiver.offer(bytes, hasRoom)) isWanted = true;
      if (!isWanted) continue;
      this.#recent.put(this.#next, value);
      this.#next += 1;
      this.#writer.put(line, bytes);
    }
    this.#settle();
  }

  /** Resolves when all accepted records would survive a loss of power. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Closed after its receivers: records they did not accept stay on the disk. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const receiver of this.receivers) receiver.keep();
    const unwritten = await this.#writer.close();
    if (unwritten > 0) this.#options.onUnwritten(unwritten);
    for (const slot of [...this.#left.values(), this.#slot]) slot.release();
  }

  #settle(): void {
    for (const receiver of this.receivers) receiver.settle();
  }

  #wake(): void {
    for (const receiver of this.receivers) receiver.onNews();
  }

  #free(): void {
    removeDone(this.#slot, this.#cursors);
  }

  /** Looks for slots of dead processes, and spools of an earlier version. */
  #adopt(): void {
    const { directory, receivers, onUnreadable } = this.#options;
    try {
      const files = receivers.map(({ fileName }) => fileName);
      this.#adoptFrom(join(directory as string, QUEUE_DIRECTORY), files, this.receivers);
      for (const [at, { legacyDirectory }] of receivers.entries()) {
        if (legacyDirectory !== undefined) this.#adoptFrom(legacyDirectory, [""], this.receivers.slice(at, at + 1));
      }
    } catch (error) {
      onUnreadable(error);
    }
    this.#wake();
  }

  #adoptFrom(directory: string, fileNames: readonly string[], receivers: readonly Receiver[]): void {
    for (const path of slotPaths(directory)) {
      if (path === (this.#slot as DiskSlot).directory || this.#left.has(path)) continue;
      const slot = DiskSlot.open(path);
      if (!slot) continue;
      const onCommit = (): void => {
        removeDone(slot, cursors);
        if (!cursors.every(({ isEmpty }) => isEmpty)) return;
        this.#left.delete(path);
        slot.release();
        if (fileNames[0] === "") removeSpool(path);
      };
      const cursors = fileNames.map((fileName) => new Cursor(slot, fileName, onCommit));
      this.#left.set(path, slot);
      for (const [at, cursor] of cursors.entries()) receivers[at]?.adopt(cursor);
      onCommit();
    }
  }
}

/** Removes files that all receivers have read. */
function removeDone(slot: Slot, cursors: readonly Cursor[]): void {
  const hasHoles = cursors.some(({ losses }) => losses.length > 0);
  const done: Segment[] = [];
  for (const segment of slot.segments) {
    if (cursors.every((cursor) => cursor.isDone(segment))) done.push(segment);
    else if (!hasHoles) break;
  }
  for (const segment of done) slot.remove(segment);
}

/** Opens the first slot without a process: after a restart this continues with its contents. */
function openOwnSlot(directory: string): DiskSlot {
  try {
    for (let number = 0; number < MAX_SLOTS; number++) {
      const slot = DiskSlot.open(join(directory, String(number)));
      if (slot) return slot;
    }
  } catch (error) {
    throw new GatewayError("record-sink.spool", `Cannot open the spool "${directory}": ${errorText(error)}`, {
      cause: error,
    });
  }
  throw new GatewayError("record-sink.spool", `Cannot open the spool "${directory}": ${MAX_SLOTS} processes use it`);
}

function slotPaths(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => /^\d{1,3}$/.test(name))
    .toSorted((a, b) => Number(a) - Number(b))
    .map((name) => join(directory, name));
}

/** Removes an empty spool of an earlier version. */
function removeSpool(path: string): void {
  rmSync(path, { recursive: true, force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // Other slots remain in it.
  }
}
