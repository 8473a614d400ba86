/**
 * Delay of the event loop: that of every request while another one computes. Measured at each turn of the loop; a timer
 * would wake an idle process a hundred times a second.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds. */
export interface LoopDelays {
  readonly min: number;
  readonly mean: number;
  readonly max: number;
  readonly deviation: number;
  readonly percentile: (percent: number) => number;
}

export interface LoopDelay {
  /** @returns delays since the last call */
  take<T>(read: (delays: LoopDelays) => T): T;
  close(): void;
}

/** Earlier versions of Node measure by a timer: the time between two of its calls. */
const TIMER_MS = Number.parseInt(process.versions.node, 10) >= 26 ? 0 : 20;

export function watchLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay(TIMER_MS === 0 ? { samplePerIteration: true } : { resolution: TIMER_MS });
  histogram.enable();
  const delay = (nanoseconds: number): number =>
    histogram.count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - TIMER_MS);
  return {
    take(read) {
      const taken = read({
        min: delay(histogram.min),
        mean: delay(histogram.mean),
        max: delay(histogram.max),
        deviation: histogram.count === 0 ? 0 : histogram.stddev / 1e6,
        percentile: (percent) => delay(histogram.percentile(percent)),
      });
      histogram.reset();
      return taken;
    },
    close: () => void histogram.disable(),
  };
}
