/** A restartable timeout for one event. */

import { guard, type Guarded } from "../shared/faults/guard.ts";

/** Longer timers would fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/** When the timer fires too early it checks the deadline again: most waits need no timer of their own. */
export class Deadline {
  readonly #onPassed: () => void;
  #at = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param owner is ended by an exception of `onPassed` */
  constructor(owner: Guarded, onPassed: () => void) {
    this.#onPassed = guard(owner, onPassed);
  }

  /** Starts a wait from now on, instead of the previous one. @param ms 0: without limit */
  wait(ms: number): void {
    if (ms === 0) {
      this.#at = Number.POSITIVE_INFINITY;
      return;
    }
    const now = performance.now();
    this.#at = now + ms;
    if (this.#timerAt > this.#at) this.#arm(now, ms);
  }

  /** Stops waiting; the timer may serve the next wait. */
  rest(): void {
    this.#at = Number.POSITIVE_INFINITY;
  }

  close(): void {
    this.#at = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #arm(now: number, ms: number): void {
    clearTimeout(this.#timer);
    const bounded = Math.min(Math.ceil(ms), MAX_TIMER_MS);
    this.#timerAt = now + bounded;
    this.#timer = setTimeout(expire, bounded, this);
    this.#timer.unref();
  }

  /** Called by the timer. */
  expire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (this.#at === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    if (this.#at > now) this.#arm(now, this.#at - now);
    else this.#onPassed();
  }
}

/** Shared by all: the function it calls is guarded. */
function expire(deadline: Deadline): void {
  deadline.expire();
}
