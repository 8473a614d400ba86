/**
 * Partial lines. A killed process leaves one. A full disk also leaves one, but the writer repeats the line as soon as
 * there is space, so nothing is lost.
 */

interface Torn<T> {
  readonly bytes: Buffer;
  readonly of: T;
}

/** Each worker leaves one at a time, and repeats it after a few lines of others. */
const MAX_WAITING = 32;
const MAX_BYTES = 4 << 20;

export class TornLines<T> {
  readonly #lost: (of: T) => void;
  #waiting: Torn<T>[] = [];
  #bytes = 0;

  /** @param lost called for each that no line repeats, in order */
  constructor(lost: (of: T) => void) {
    this.#lost = lost;
  }

  /** @param bytes the start of a line; copied @param of identifies the line */
  add(bytes: Buffer, of: T): void {
    this.#waiting.push({ bytes: Buffer.from(bytes), of });
    this.#bytes += bytes.length;
    while (this.#waiting.length > MAX_WAITING || this.#bytes > MAX_BYTES) this.#give();
  }

  /** A whole line: a partial line that it repeats is not lost. */
  repeat(line: Buffer): void {
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter(({ bytes }) => {
      const isRepeated = line.length > bytes.length && line.subarray(0, bytes.length).equals(bytes);
      if (isRepeated) this.#bytes -= bytes.length;
      return !isRepeated;
    });
  }

  /** Ends the input. */
  end(): void {
    while (this.#waiting.length > 0) this.#give();
  }

  #give(): void {
    const first = this.#waiting.shift();
    if (!first) return;
    this.#bytes -= first.bytes.length;
    this.#lost(first.of);
  }
}
