/**
 * Writes lines to a slot in the background, in batches, and retries while the disk rejects them.
 *
 * Written lines survive the process immediately, and a loss of power half a second later, or when `flush` has resolved.
 */
import { openSync, closeSync, fsyncSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

import { task } from "../shared/faults/guard.ts";
import type { DiskSlot, FileSegment } from "./disk-slot.ts";
import type { SlotWriter } from "./slot.ts";

export interface SegmentWriterOptions {
  readonly slot: DiskSlot;
  /** Size at which the next file starts. */
  readonly segmentBytes: number;
  readonly maxPendingBytes: number;
  readonly retryMs: number;
  readonly onWritten: () => void;
  /** A file is complete: it is removed unless a receiver needs it. */
  readonly onComplete: () => void;
  /** Called for the first failure in a row; undefined: it works again. */
  readonly onFailing: (error: unknown) => void;
}

interface Current {
  readonly segment: FileSegment;
  readonly handle: FileHandle;
}

const BATCH_BYTES = 256 << 10;
const SYNC_MS = 500;

export class SegmentWriter implements SlotWriter {
  readonly #options: SegmentWriterOptions;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #total = 0;
  #written = 0;
  #current: Current | undefined;
  #isFailing = false;
  #isDirty = false;
  #isClosed = false;
  #running: Promise<void> | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #wakeUp: (() => void) | undefined;
  #flushes: { readonly upTo: number; readonly resolve: () => void }[] = [];

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
  }

  hasRoom(bytes: number): boolean {
    return !this.#isClosed && this.#pendingBytes + bytes <= this.#options.maxPendingBytes;
  }

  put(line: string): void {
    const bytes = Buffer.from(line);
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#total += 1;
    this.#start();
  }

  get isBehind(): boolean {
    return this.#pendingBytes > this.#options.maxPendingBytes / 2;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  flush(): Promise<void> {
    if (this.#total === this.#written && !this.#isDirty) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.push({ upTo: this.#total, resolve });
    this.#start();
    return promise;
  }

  async close(): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#syncTimer);
    this.#wakeUp?.();
    await this.#running;
    await this.#endSegment().catch(() => {});
    // These flushes can no longer succeed.
    for (const { resolve } of this.#flushes) resolve();
    return this.#pending.length;
  }

  #start(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if ((this.#pending.length > 0 || this.#flushes.length > 0) && !this.#isClosed) this.#start();
    });
  }

  async #work(): Promise<void> {
    const { onFailing } = this.#options;
    // In the next turn, so that several lines in a row are written together.
    await Promise.resolve();
    for (;;) {
      try {
        while (this.#pending.length > 0) await this.#writeSome();
        if (this.#flushes.length > 0) await this.#sync();
        const wasFailing = this.#isFailing;
        this.#isFailing = false;
        if (wasFailing) onFailing(undefined);
        this.#scheduleSync();
        return;
      } catch (error) {
        const isFirst = !this.#isFailing;
        this.#isFailing = true;
        if (isFirst) onFailing(error);
        // The end of a half-written file may be damaged: further lines go to another one.
        await this.#endSegment().catch(() => {});
        if (this.#isClosed) return;
        await this.#pause();
      }
    }
  }

  async #writeSome(): Promise<void> {
    const { slot, segmentBytes, onWritten } = this.#options;
    let bytes = 0;
    let count = 0;
    while (count < this.#pending.length && bytes < BATCH_BYTES) bytes += this.#pending[count++]?.length ?? 0;
    const { segment, handle } = this.#current ?? (await this.#beginSegment());
    const text = Buffer.concat(this.#pending.slice(0, count));
    this.#isDirty = true;
    try {
      await writeAll(handle, text, segment.bytes);
    } catch (error) {
      await handle.truncate(segment.bytes).catch(() => {});
      throw error;
    }
    segment.bytes += bytes;
    segment.records += count;
    slot.end += count;
    this.#pending = this.#pending.slice(count);
    this.#pendingBytes -= bytes;
    this.#written += count;
    onWritten();
    if (segment.bytes >= segmentBytes) await this.#endSegment();
  }

  async #beginSegment(): Promise<Current> {
    const { slot } = this.#options;
    const segment = slot.begin();
    // A failed attempt may have left a file with this name, which has no reader yet.
    const handle = await open(segment.path, "w", 0o600);
    slot.segments.push(segment);
    const current = { segment, handle };
    this.#current = current;
    syncDirectory(slot.directory);
    return current;
  }

  async #endSegment(): Promise<void> {
    if (!this.#current) return;
    const { segment, handle } = this.#current;
    this.#current = undefined;
    try {
      await handle.datasync();
      this.#isDirty = false;
    } finally {
      await handle.close().catch(() => {});
      this.#options.slot.complete(segment);
      this.#options.onComplete();
    }
  }

  async #sync(): Promise<void> {
    const upTo = this.#written;
    await this.#current?.handle.datasync();
    this.#isDirty = false;
    for (const flush of this.#flushes) if (flush.upTo <= upTo) flush.resolve();
    this.#flushes = this.#flushes.filter((flush) => flush.upTo > upTo);
  }

  #scheduleSync(): void {
    if (!this.#isDirty || this.#isClosed) return;
    this.#syncTimer ??= setTimeout(
      task("the sync of a spool", () => {
        this.#syncTimer = undefined;
        // As a flush, so that calls do not overlap and failures are handled.
        if (this.#isDirty) {
          this.#flushes.push({ upTo: this.#written, resolve: () => {} });
          this.#start();
        }
      }),
      SYNC_MS,
    );
    this.#syncTimer.unref();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.retryMs);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** So that the name of a new file survives a loss of power. */
function syncDirectory(directory: string): void {
  const file = openSync(directory, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
