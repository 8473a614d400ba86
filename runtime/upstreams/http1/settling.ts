/**
 * Tracks whether an upstream closes connections right after its responses without announcing it.
 *
 * Such a connection looks free while its close is on the way: a request written to it is lost, and a POST must not be resent
 * (RFC 9110 §9.2.2, RFC 9112 §9.3.1). As long as an upstream is known to do that, its connections are reused only after a
 * delay.
 */

/** Later closes are due to an idle timeout or a process end; a delay would not help. */
const EARLY_MS = 25;
/** Added to the observed time: the next close may be later, and its packet has a way to go. */
const SPARE_FACTOR = 2;
const SPARE_MS = 2;
/** Each early close reduces the weight of the latest one seen by this factor. */
const FADING = 0.999;
/** After this many connections that outlived the delay the upstream is trusted again: it may just have been restarted. */
const TRUSTED_AFTER = 2_000;

export class Settling {
  #ms = 0;
  #outlived = 0;

  /** Delay before reuse after a response, 52 at most; 0: the upstream has given no reason for one. */
  get ms(): number {
    return this.#ms;
  }

  /** The upstream closed a connection between two responses. @param afterMs time since the first */
  closed(afterMs: number): void {
    if (afterMs > EARLY_MS) return;
    this.#ms = Math.max(SPARE_FACTOR * afterMs + SPARE_MS, this.#ms * FADING);
    this.#outlived = 0;
  }

  /** A quarantined connection is still open after the delay. */
  outlived(): void {
    this.#outlived += 1;
    if (this.#outlived >= TRUSTED_AFTER) this.#ms = 0;
  }
}
