/** Does something whenever a file is saved. */
import { watch } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Saving is several changes: the file is emptied and written, or another one is written and renamed. */
const SETTLES_MS = 100;

/**
 * Watches the folder: most editors save into another file and rename it over this one, and whoever watches the file itself
 * goes on watching the old one, which is no longer there.
 *
 * @param work is not called again before it has ended; what is saved meanwhile counts once. It must not throw
 */
export function onSave(file: string, work: () => Promise<void>): { close(): Promise<void> } {
  let busy: Promise<void> = Promise.resolve();
  let isWaiting = false;
  const watcher = watch(dirname(file), (_, name) => {
    if (name !== basename(file) || isWaiting) return;
    isWaiting = true;
    busy = busy
      .then(() => delay(SETTLES_MS))
      .then(() => {
        isWaiting = false;
        return work();
      });
  });
  return {
    close() {
      watcher.close();
      return busy;
    },
  };
}
