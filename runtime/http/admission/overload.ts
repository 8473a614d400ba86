/**
 * Distinguishes a burst from an overload. Both make requests wait, but the queue of a burst shrinks and that of an overload
 * does not. A burst is served completely. An overload must not make all requests wait as long as clients bear it, so its
 * queue is kept short.
 */
export interface Overload {
  /** True during an overload, as of the last `look()`. */
  readonly isOn: boolean;
  /** A request must wait. @param isFirst no other request waits: earlier counts are over */
  arrives(nowMs: number, isFirst: boolean): void;
  /** A request that waited has its turn. */
  begins(): void;
  /** A client gave up while its request waited. */
  leaves(waitedMs: number): void;
  /** Call it in every turn while requests wait. */
  look(nowMs: number, queue: { readonly size: number; oldestMs(): number }): void;
}

/** Longest wait of a request that is served in an overload: clients that give up after a second still have half of it. */
export const STANDING_MS = 500;
/** Ordinary clients wait this long, so a queue is no overload before, unless clients leave it. */
export const PATIENCE_MS = 5_000;
/** Shortest time over which the queue is measured. */
export const WINDOW_MS = 1_000;
/**
 * In one `look()`, less than one request in this many is noise: in how the queue shrinks, and in how many clients give up.
 */
export const ONE_OF = 16;

export function createOverload(): Overload {
  let windowMs = 0;
  let arrived = 0;
  let begun = 0;
  let gaveUp = 0;
  /**
   * Requests that must have their turn while the queue does not shrink: all that waited when that was first seen. Undefined:
   * it shrinks.
   */
  let turnsLeft: number | undefined;

  const openWindow = (nowMs: number): void => {
    windowMs = nowMs;
    arrived = 0;
    begun = 0;
    gaveUp = 0;
  };

  const overload: Overload & { isOn: boolean } = {
    isOn: false,
    arrives(nowMs, isFirst) {
      if (isFirst) {
        overload.isOn = false;
        turnsLeft = undefined;
        openWindow(nowMs);
      }
      arrived += 1;
    },
    begins() {
      begun += 1;
    },
    leaves(waitedMs) {
      if (waitedMs >= STANDING_MS) gaveUp += 1;
    },
    look(nowMs, queue) {
      // A slow process must first have served enough for a measurement.
      if (nowMs - windowMs < WINDOW_MS || begun < ONE_OF) return;
      // Clients that leave also make a queue shorter, but no request is served by that.
      if ((begun - arrived) * ONE_OF >= begun) {
        overload.isOn = false;
        turnsLeft = undefined;
      } else {
        turnsLeft = turnsLeft === undefined ? queue.size : turnsLeft - begun;
        const hadTurns = turnsLeft <= 0;
        // At 1.05 times the capacity few clients leave, but every request is served just before its client would.
        overload.isOn ||=
          gaveUp * ONE_OF >= begun || (hadTurns && (gaveUp > 0 || nowMs - queue.oldestMs() >= PATIENCE_MS));
      }
      openWindow(nowMs);
    },
  };
  return overload;
}
