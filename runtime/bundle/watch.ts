/**
 * Says when something in a set of directories may have changed.
 *
 * Directories are watched, not files: renames, symbolic link swaps and re-created files all count. A slow poll covers
 * file systems without notifications and directories that were themselves replaced. Hints come after a short quiet
 * period and may be spurious.
 */
import { watch as watchDirectory, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";

import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { task } from "../shared/faults/guard.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface WatchDeps {
  readonly onHint: () => void;
  readonly log: Log;
  /** True for files that the gateway itself writes: a log next to the configuration changes constantly. */
  readonly isOwnOutput?: (path: string) => boolean;
  /** Quiet period after a change before it is reported. */
  readonly quietMs?: number;
  readonly pollEveryMs?: number;
}

export interface Watch {
  /** Replaces the watched directories; the poll covers those that do not exist (yet). */
  follow(directories: ReadonlySet<string>): Promise<void>;
  close(): void;
}

/** Changes of a busy directory are reported after this many quiet periods at the latest. */
const MOST_QUIET_PERIODS = 10;

export function createWatch({ onHint, log, isOwnOutput, quietMs = 50, pollEveryMs = 5_000 }: WatchDeps): Watch {
  const watched = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  const warned = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let busySinceMs: number | undefined;
  let closed = false;
  const stopPoll = recur("check of configuration files", pollEveryMs, onHint);

  return {
    async follow(directories) {
      for (const directory of watched.keys()) if (!directories.has(directory)) drop(directory);
      for (const directory of directories) await ensure(directory);
    },
    close() {
      closed = true;
      stopPoll();
      clearTimeout(timer);
      for (const directory of watched.keys()) drop(directory);
    },
  };

  async function ensure(directory: string): Promise<void> {
    const identity = await identify(directory);
    if (closed || watched.get(directory)?.identity === identity) return;
    drop(directory);
    if (identity === undefined) return;
    try {
      const watcher = watchDirectory(directory, { persistent: false }, (_event, name) => {
        if (name === null || isOwnOutput?.(resolve(directory, name)) !== true) changed();
      });
      watcher.on("error", (error) => {
        log.debug({ directory, reason: errorText(error) }, "directory no longer watched");
        drop(directory);
      });
      watched.set(directory, { watcher, identity });
      // A change between the last check and this moment was not reported.
      changed();
    } catch (error) {
      // Usually the limit of inotify watches; logged once, retried at every poll.
      if (!warned.has(directory)) log.warn({ directory, reason: errorText(error) }, "cannot watch directory");
      warned.add(directory);
    }
  }

  function drop(directory: string): void {
    watched.get(directory)?.watcher.close();
    watched.delete(directory);
  }

  function changed(): void {
    if (closed) return;
    const now = performance.now();
    busySinceMs ??= now;
    if (timer && now - busySinceMs > quietMs * MOST_QUIET_PERIODS) return;
    clearTimeout(timer);
    timer = setTimeout(
      task("check of configuration files", () => {
        timer = undefined;
        busySinceMs = undefined;
        onHint();
      }),
      quietMs,
    );
    timer.unref();
  }
}

/** Distinguishes a directory from a new one with the same name. */
async function identify(directory: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await stat(directory, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  } catch {
    return undefined;
  }
}
