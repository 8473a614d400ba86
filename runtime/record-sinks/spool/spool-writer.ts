/**
 * Writes lines to a slot behind whoever hands them over, some at a time, and goes on trying while the disk does not take them.
 *
 * What is written outlives the process at once, and a loss of power half a second later, or when `flush` has resolved.
 */
import { openSync, closeSync, fsyncSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

import type { Segment, Slot } from "./slot.ts";
import { task } from "../../shared/faults/guard.ts";

export interface SpoolWriter {
  /** @param line with its line end @returns false: it would wait in memory beyond the bound */
  put(line: string): boolean;
  /** Bytes that are not on the disk. */
  readonly pendingBytes: number;
  readonly pendingRecords: number;
  readonly isFailing: boolean;
  flush(): Promise<void>;
  /** Tries once more. @returns how many could not be written */
  close(): Promise<number>;
}

export interface SpoolWriterOptions {
  readonly slot: Slot;
  /** A file of more is followed by the next one. */
  readonly segmentBytes: number;
  readonly maxPendingBytes: number;
  readonly retryMs: number;
  readonly onWritten: () => void;
  /** The first of a row; undefined: it works again. */
  readonly onFailing: (error: unknown) => void;
}

const BATCH_BYTES = 256 << 10;
const SYNC_MS = 500;

export function createSpoolWriter(options: SpoolWriterOptions): SpoolWriter {
  const { slot, segmentBytes, maxPendingBytes, retryMs, onWritten, onFailing } = options;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let total = 0;
  let written = 0;
  let current: { readonly segment: Segment; readonly handle: FileHandle } | undefined;
  let isFailing = false;
  let isDirty = false;
  let isClosed = false;
  let running: Promise<void> | undefined;
  let syncTimer: NodeJS.Timeout | undefined;
  let wakeUp: (() => void) | undefined;
  let flushes: { readonly upTo: number; readonly resolve: () => void }[] = [];

  return {
    put(line) {
      const bytes = Buffer.from(line);
      if (isClosed || pendingBytes + bytes.length > maxPendingBytes) return false;
      pending.push(bytes);
      pendingBytes += bytes.length;
      total += 1;
      start();
      return true;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    get pendingRecords() {
      return pending.length;
    },
    get isFailing() {
      return isFailing;
    },
    flush() {
      if (total === written && !isDirty) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      flushes.push({ upTo: total, resolve });
      start();
      return promise;
    },
    async close() {
      isClosed = true;
      clearTimeout(syncTimer);
      wakeUp?.();
      await running;
      await endSegment().catch(() => {});
      // Nobody waits for what cannot be any more.
      for (const { resolve } of flushes) resolve();
      return pending.length;
    },
  };

  function start(): void {
    running ??= work().finally(() => {
      running = undefined;
      if ((pending.length > 0 || flushes.length > 0) && !isClosed) start();
    });
  }

  async function work(): Promise<void> {
    // In the turn after this one: whoever hands over several lines has them written together.
    await Promise.resolve();
    for (;;) {
      try {
        while (pending.length > 0) await writeSome();
        if (flushes.length > 0) await sync();
        const wasFailing = isFailing;
        isFailing = false;
        if (wasFailing) onFailing(undefined);
        scheduleSync();
        return;
      } catch (error) {
        const isFirst = !isFailing;
        isFailing = true;
        if (isFirst) onFailing(error);
        // The end of a half-written file may be damaged: what follows goes to another one.
        await endSegment().catch(() => {});
        if (isClosed) return;
        await pause();
      }
    }
  }

  async function writeSome(): Promise<void> {
    let bytes = 0;
    let count = 0;
    while (count < pending.length && bytes < BATCH_BYTES) bytes += pending[count++]?.length ?? 0;
    const { segment, handle } = current ?? (await beginSegment());
    const text = Buffer.concat(pending.slice(0, count));
    isDirty = true;
    try {
      await writeAll(handle, text, segment.bytes);
    } catch (error) {
      await handle.truncate(segment.bytes).catch(() => {});
      throw error;
    }
    segment.bytes += bytes;
    segment.records += count;
    pending = pending.slice(count);
    pendingBytes -= bytes;
    written += count;
    onWritten();
    if (segment.bytes >= segmentBytes) await endSegment();
  }

  async function beginSegment(): Promise<NonNullable<typeof current>> {
    const segment = slot.begin();
    try {
      current = { segment, handle: await open(segment.path, "wx", 0o600) };
      syncDirectory(slot.directory);
      return current;
    } catch (error) {
      if (!current) drop(segment);
      throw error;
    }
  }

  /** Nothing is in it. */
  function drop(segment: Segment): void {
    try {
      slot.complete(segment);
    } catch {
      // Whatever has its name is nothing of ours, or is looked at by the next run.
    }
  }

  async function endSegment(): Promise<void> {
    if (!current) return;
    const { segment, handle } = current;
    current = undefined;
    try {
      await handle.datasync();
      isDirty = false;
    } finally {
      await handle.close().catch(() => {});
      slot.complete(segment);
    }
  }

  async function sync(): Promise<void> {
    const upTo = written;
    await current?.handle.datasync();
    isDirty = false;
    for (const flush of flushes) if (flush.upTo <= upTo) flush.resolve();
    flushes = flushes.filter((flush) => flush.upTo > upTo);
  }

  function scheduleSync(): void {
    if (!isDirty || isClosed) return;
    syncTimer ??= setTimeout(
      task("the sync of a spool", () => {
        syncTimer = undefined;
        // By the way of a flush: one call at a time, and failures are seen.
        if (isDirty) {
          flushes.push({ upTo: written, resolve: () => {} });
          start();
        }
      }),
      SYNC_MS,
    );
    syncTimer.unref();
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, retryMs);
      wakeUp = () => {
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

/** So that the name of a new file outlives a loss of power. */
function syncDirectory(directory: string): void {
  const file = openSync(directory, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
