/** Removes expired records periodically, so that a store does not grow with every sign-in. */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Closable } from "../shared/clock.ts";
import type { Store } from "./store.ts";
import { task } from "../shared/faults/guard.ts";

export interface SweeperDeps {
  readonly store: Store;
  readonly log: Log;
  /** Average pause between two sweeps. */
  readonly everyMs?: number;
}

/** Sweeps until closed. Pauses vary by half, so that replicas that started together drift apart. */
export function startSweeper({ store, log, everyMs = 60_000 }: SweeperDeps): Closable {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let closed = false;
  schedule();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };

  function schedule(): void {
    if (closed) return;
    timer = setTimeout(
      task("the sweep of the store", () => (running = sweep())),
      everyMs * (0.5 + Math.random()),
    );
    timer.unref();
  }

  async function sweep(): Promise<void> {
    try {
      const removed = await store.sweep();
      if (removed > 0) log.debug({ removed }, "expired records removed");
    } catch (error) {
      log.warn({ reason: errorText(error) }, "cannot remove expired records");
    }
    schedule();
  }
}
