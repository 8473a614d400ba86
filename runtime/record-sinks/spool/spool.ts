/**
 * What waits for one receiver on this machine: a slot of this process, and those that dead processes left.
 *
 * Promises: bytes on the disk and in memory are bounded; a slot belongs to one process; what a dead one left is taken over by
 * exactly one, which sends it before its own.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { GatewayError, errorText } from "../../shared/errors.ts";
import { openSlot, type Slot } from "./slot.ts";
import { createSpoolWriter } from "./spool-writer.ts";

export interface Spool {
  /**
   * @param line JSON text with its line end
   * @param usesReserve what tells of a loss may stand where nothing else may
   * @returns false: there is no room
   */
  put(line: string, usesReserve?: boolean): boolean;
  /** With some to spare for what is under way. */
  readonly hasRoom: boolean;
  readonly isFailing: boolean;
  /** Records that nobody took, of dead processes too. */
  readonly waiting: number;
  /** On the disk, of this process. */
  readonly bytes: number;
  /** Where to read now: what others left first. */
  head(): Slot;
  /**
   * Looks for slots of dead processes; they are head until they are empty.
   *
   * @param takeOver what one had lost and not told; it is kept when this returns
   */
  adopt(takeOver: (note: string) => void): void;
  /** This process's own slot. */
  readonly own: Slot;
  flush(): Promise<void>;
  /** @returns how many records could not be written */
  close(): Promise<number>;
}

export interface SpoolOptions {
  /** Of one sink; its slots are directories below it. */
  readonly directory: string;
  readonly maxBytes: number;
  readonly onWritten: () => void;
  /** The first failure of a row; undefined: it works again. */
  readonly onFailing: (error: unknown) => void;
  /** Between two attempts at a disk that takes nothing. Default 1,000. */
  readonly retryMs?: number;
}

/** Longest line that may be put; a batch of any kind has room for one. */
export const MAX_LINE_BYTES = 512 << 10;
const MAX_PENDING_BYTES = 16 << 20;
/** For what is under way when there is no room any more: more than the queue before it holds. */
const MAX_RESERVE_BYTES = 16 << 20;
const MAX_SLOTS = 1000;

/** @throws GatewayError `record-sink.spool` */
export function openSpool({ directory, maxBytes, onWritten, onFailing, retryMs = 1_000 }: SpoolOptions): Spool {
  const own = openOwnSlot(directory);
  // Room comes back with whole files.
  const segmentBytes = Math.min(8 << 20, Math.floor(maxBytes / 16));
  const reserve = Math.min(MAX_RESERVE_BYTES, Math.floor(maxBytes / 4));
  const maxPendingBytes = Math.min(MAX_PENDING_BYTES, Math.floor(maxBytes / 4));
  const writer = createSpoolWriter({ slot: own, segmentBytes, maxPendingBytes, retryMs, onWritten, onFailing });
  const left: Slot[] = [];
  let hasRoom = true;

  const filled = (): number => own.bytes + writer.pendingBytes;

  return {
    own,
    put(line, usesReserve = false) {
      const length = Buffer.byteLength(line);
      return filled() + length <= maxBytes - (usesReserve ? 0 : segmentBytes) && writer.put(line);
    },
    get hasRoom() {
      // What was full is so until there is room for a while: else every file that is taken would end and begin it.
      const most = maxBytes - reserve - (hasRoom ? 0 : 2 * segmentBytes);
      hasRoom = filled() <= most && writer.pendingBytes <= maxPendingBytes / 2;
      return hasRoom;
    },
    get isFailing() {
      return writer.isFailing;
    },
    get waiting() {
      return left.reduce((sum, { waiting }) => sum + waiting, own.waiting + writer.pendingRecords);
    },
    get bytes() {
      return own.bytes;
    },
    head() {
      while (left[0]?.waiting === 0) left.shift()?.close();
      return left[0] ?? own;
    },
    adopt(takeOver) {
      for (const path of slotPaths(directory)) {
        if (path === own.directory || left.some((slot) => slot.directory === path)) continue;
        const slot = openSlot(path);
        const note = slot?.readNote();
        if (note !== undefined) {
          takeOver(note);
          slot?.writeNote(undefined);
        }
        if (slot && slot.waiting > 0) left.push(slot);
        else slot?.close();
      }
    },
    flush: () => writer.flush(),
    async close() {
      const lost = await writer.close();
      for (const slot of [...left, own]) slot.close();
      return lost;
    },
  };
}

/** The first that nobody has: after a restart what was left there goes on. */
function openOwnSlot(directory: string): Slot {
  try {
    for (let number = 0; number < MAX_SLOTS; number++) {
      const slot = openSlot(join(directory, String(number)));
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
  return readdirSync(directory)
    .filter((name) => /^\d{1,3}$/.test(name))
    .toSorted((a, b) => Number(a) - Number(b))
    .map((name) => join(directory, name));
}
