/** How late the event loop comes: what every request waits when another one computes. */
import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Closable } from "../../shared/clock.ts";

export interface LoopMonitor extends Closable {
  /** @returns milliseconds: 99 of 100 turns since the last call came no later */
  take(): number;
}

/** Fifty looks a second. */
const RESOLUTION_MS = 20;

export function monitorLoop(): LoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return {
    take() {
      // The time between two looks is counted, and they are meant to be that far apart.
      const lateMs = histogram.count === 0 ? 0 : histogram.percentile(99) / 1e6 - RESOLUTION_MS;
      histogram.reset();
      return Math.max(0, Math.round(lateMs * 100) / 100);
    },
    async close() {
      histogram.disable();
    },
  };
}
