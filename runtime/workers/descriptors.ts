/**
 * Whether the process can still open anything: without a free descriptor connections are closed silently as they
 * arrive.
 */
import { closeSync, openSync } from "node:fs";

import type { Closable } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import { recur } from "../shared/timing/recurring.ts";

const LOOK_MS = 2_000;

/** Logs once when there are none, and once when there are some again. */
export function watchDescriptors(log: Log): Closable {
  let areLeft = true;
  const stopTimer = recur("the count of descriptors", LOOK_MS, () => {
    const were = areLeft;
    areLeft = canOpen();
    if (were && !areLeft) log.error("out of file descriptors, new connections closed");
    else if (!were && areLeft) log.warn("file descriptors available again");
  });
  return {
    async close() {
      stopTimer();
    },
  };
}

function canOpen(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== "EMFILE" && code !== "ENFILE";
  }
}
