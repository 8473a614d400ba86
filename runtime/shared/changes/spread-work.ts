/**
 * Work caused by a configuration change, in turns between requests: a little immediately, the rest later in the order
 * of submission.
 *
 * Promise: requests wait for one turn at most, however much changes. Work that throws ends; later work is still done.
 */
import { task } from "../faults/guard.ts";

export interface SpreadWork {
  /** @param work yields after each step of about 20 µs */
  add(work: Iterator<unknown>): void;
  /** Drops the work that is not done yet. */
  close(): void;
}

/** About two milliseconds. */
const STEPS_AT_ONCE = 100;

export function createSpreadWork(stepsAtOnce: number = STEPS_AT_ONCE): SpreadWork {
  let waiting: Iterator<unknown>[] = [];
  let next: NodeJS.Immediate | undefined;

  const run = (): void => {
    next = undefined;
    let steps = 0;
    try {
      for (let work = waiting[0]; work && steps < stepsAtOnce; work = waiting[0]) {
        if (work.next().done === true) waiting.shift();
        else steps += 1;
      }
    } finally {
      // An iterator that has thrown is done.
      if (waiting.length > 0) next = setImmediate(later);
    }
  };
  const later = task("what follows from a change of routes", run);

  return {
    add(work) {
      waiting.push(work);
      if (!next) later();
    },
    close() {
      clearImmediate(next);
      next = undefined;
      waiting = [];
    },
  };
}
