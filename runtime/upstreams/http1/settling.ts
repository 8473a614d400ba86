/**
 * What an upstream has shown of closing connections right behind its answers without saying so.
 *
 * Its farewell is under way when such a connection looks free: what is written to it is lost, and a POST must not be sent again
 * (RFC 9110 §9.2.2, RFC 9112 §9.3.1). As long as the upstream is known to do that, its connections are used again only when
 * they have outlived the moment.
 */

/** What is closed later is closed for being idle, or with the upstream's process: waiting for that would help nobody. */
const EARLY_MS = 25;
/** Above what was seen: the next one may be later, and the farewell has a way to go. */
const SPARE_FACTOR = 2;
const SPARE_MS = 2;
/** With each early close, the latest one seen so far counts so much less. */
const FADING = 0.999;
/** After so many connections that outlived the moment the upstream is trusted again: it may just have been restarted. */
const TRUSTED_AFTER = 2_000;

export class Settling {
  #ms = 0;
  #outlived = 0;

  /** For so long a connection is kept aside behind its answer, 52 at most; 0: the upstream has given no reason. */
  get ms(): number {
    return this.#ms;
  }

  /** The upstream closed a connection between two answers. @param afterMs behind the first */
  closed(afterMs: number): void {
    if (afterMs > EARLY_MS) return;
    this.#ms = Math.max(SPARE_FACTOR * afterMs + SPARE_MS, this.#ms * FADING);
    this.#outlived = 0;
  }

  /** A connection that was kept aside is still open. */
  outlived(): void {
    this.#outlived += 1;
    if (this.#outlived >= TRUSTED_AFTER) this.#ms = 0;
  }
}
