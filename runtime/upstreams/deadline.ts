/** One wait at a time, for something that must come. */

import { guard, type Guarded } from "../shared/faults/guard.ts";

/** Longer ones would ring at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** A timer that rings too early looks at the deadline again: most waits need none of their own. */
export class Deadline {
  readonly #onPassed: () => void;
  #at = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param owner ends by what `onPassed` throws */
  constructor(owner: Guarded, onPassed: () => void) {
    this.#onPassed = guard(owner, onPassed);
  }

  /** From now on, instead of the wait before. @param ms 0: without limit */
  wait(ms: number): void {
    if (ms === 0) {
      this.#at = Number.POSITIVE_INFINITY;
      return;
    }
    const now = performance.now();
    this.#at = now + ms;
    if (this.#timerAt > this.#at) this.#arm(now, ms);
  }

  /** Nothing is waited for; the timer may serve the next wait. */
  rest(): void {
    this.#at = Number.POSITIVE_INFINITY;
  }

  /** The end of it. */
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

  /** For the timer. */
  expire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (this.#at === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    if (this.#at > now) this.#arm(now, this.#at - now);
    else this.#onPassed();
  }
}

/** One for all: what it calls is guarded. */
function expire(deadline: Deadline): void {
  deadline.expire();
}
