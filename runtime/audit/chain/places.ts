/**
 * Positions of the records of a run. The writer counts, so that it knows each position before anything is hashed; the
 * chain, in another thread, counts the same. Checkpoints take positions too.
 */

import { task } from "../../shared/faults/guard.ts";

/** Records of a segment; its checkpoint names them all. */
export const MAX_UNSIGNED = 512;
const CHECKPOINT_MS = 1_000;

export interface Places {
  /** Position of the latest record. */
  readonly last: number;
  /** A record was written. */
  take(): void;
  close(): void;
}

/**
 * @param first position of the first record
 * @param checkpoint called when the next position is a checkpoint's: at most a second after a record; absent: there
 *   are none
 */
export function countPlaces(first: number, checkpoint?: () => void): Places {
  let next = first;
  let unsigned = 0;
  let timer: NodeJS.Timeout | undefined;

  function reserve(): void {
    clearTimeout(timer);
    timer = undefined;
    unsigned = 0;
    next += 1;
    checkpoint?.();
  }

  const places: Places & { last: number } = {
    last: first - 1,
    take() {
      places.last = next;
      next += 1;
      if (checkpoint === undefined) return;
      unsigned += 1;
      if (unsigned >= MAX_UNSIGNED) reserve();
      else timer ??= setTimeout(task("the place of the audit", reserve), CHECKPOINT_MS);
    },
    close: () => clearTimeout(timer),
  };
  return places;
}
