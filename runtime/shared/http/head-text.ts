/**
 * The head of a message of HTTP/1.1, or its trailers, as text: one character for each byte, up to the empty line behind it.
 *
 * Untrusted input: every byte, and where they are cut. Promise: not much more than `maxBytes` is kept of them.
 */

const CR = 13;
const LF = 10;
const LINE_END = "\r\n";
const END = "\r\n\r\n";
/** Most heads are shorter: only so much is made text at first. */
const USUAL_BYTES = 2_048;

export class HeadText {
  /** What has come of a head that is not whole. */
  text = "";
  /** Where its last line ends, before CR LF; 0 where it has none; -1 until all has come. */
  end = -1;
  /** Where `take()` stopped in the bytes: behind the empty line, once that has come. */
  next = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isTooLong(): boolean {
    return this.end > this.#maxBytes || (this.end < 0 && this.text.length > this.#maxBytes + END.length);
  }

  /**
   * Takes what has come. Nearly all heads come in one piece: nothing of a whole one is kept, for a connection is old, and the
   * collector of garbage must note each young text that an old object has.
   *
   * @param mayBeEmpty the empty line may come first
   * @returns all that has come
   */
  take(bytes: Buffer, start: number, end: number, mayBeEmpty = false): string {
    const before = this.text.length;
    let taken = Math.min(end, start + USUAL_BYTES);
    let text = bytes.toString("latin1", start, taken);
    if (before > 0) text = this.text + text;
    if (mayBeEmpty && text.startsWith(LINE_END)) {
      this.text = "";
      this.end = 0;
      this.next = start + LINE_END.length - before;
      return LINE_END;
    }
    // It may lie across the border of what had come before.
    const from = Math.max(0, before - END.length + 1);
    let found = text.indexOf(END, from);
    if (found < 0 && taken < end) {
      taken = Math.min(end, start + this.#maxBytes + END.length);
      text = this.text + bytes.toString("latin1", start, taken);
      found = text.indexOf(END, from);
    }
    this.text = found < 0 ? text : "";
    this.end = found;
    this.next = found < 0 ? taken : start + found + END.length - before;
    return text;
  }

  /** For the next one: nothing is kept of this. */
  clear(): void {
    this.text = "";
    this.end = -1;
  }
}

/**
 * Of lines whose end has not come: refused now, not when the time is up, for an end that is written otherwise would never be found.
 *
 * @param known so much of it was looked at before: it may come byte by byte, and each time from the beginning would be seconds
 */
export function problemOfLines(text: string, known: number): string | undefined {
  for (let at = text.indexOf("\n", known); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (text.charCodeAt(at - 1) !== CR) return BAD_LINE_END;
  }
  for (let at = text.indexOf("\r", Math.max(0, known - 1)); at >= 0; at = text.indexOf("\r", at + 1)) {
    if (at + 1 < text.length && text.charCodeAt(at + 1) !== LF) return BAD_LINE_END;
  }
  return undefined;
}

const BAD_LINE_END = "a line does not end with CR LF";
