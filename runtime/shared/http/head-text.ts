/**
 * The head of an HTTP/1.1 message, or its trailers, as text: one character for each byte, up to the empty line after
 * it.
 *
 * Untrusted input: every byte, and where the bytes are split. Promise: stores little more than `maxBytes` of them.
 */

const CR = 13;
const LF = 10;
const LINE_END = "\r\n";
const END = "\r\n\r\n";
/** Most heads are shorter: only this much is decoded at first … */
const USUAL_BYTES = 2_048;
/** … or, after another head on the same connection, so much more than that one had. */
const SPARE_BYTES = 128;

export class HeadText {
  /** Received part of an incomplete head. */
  text = "";
  /** End of its last line, before CR LF; 0 if it has none; -1 until all has arrived. */
  end = -1;
  /** Where `take()` stopped in the bytes: after the empty line, once it has arrived. */
  next = 0;
  readonly #maxBytes: number;
  #usualBytes = USUAL_BYTES;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isTooLong(): boolean {
    return this.end > this.#maxBytes || (this.end < 0 && this.text.length > this.#maxBytes + END.length);
  }

  /**
   * Takes received bytes. Nearly all heads come in one piece. Nothing of a complete one is stored: connections live
   * long, and the garbage collector must track each young text that an old object references.
   *
   * @param mayBeEmpty the empty line may come first
   * @returns all text received
   */
  take(bytes: Buffer, start: number, end: number, mayBeEmpty = false): string {
    const before = this.text.length;
    let taken = Math.min(end, start + this.#usualBytes);
    let text = bytes.toString("latin1", start, taken);
    if (before > 0) text = this.text + text;
    if (mayBeEmpty && text.startsWith(LINE_END)) {
      this.text = "";
      this.end = 0;
      this.next = start + LINE_END.length - before;
      return LINE_END;
    }
    // The end may lie across the border to earlier bytes.
    const from = Math.max(0, before - END.length + 1);
    let found = text.indexOf(END, from);
    if (found < 0 && taken < end) {
      taken = Math.min(end, start + this.#maxBytes + END.length);
      text = this.text + bytes.toString("latin1", start, taken);
      found = text.indexOf(END, from);
    }
    if (found >= 0) this.#usualBytes = found + SPARE_BYTES;
    this.text = found < 0 ? text : "";
    this.end = found;
    this.next = found < 0 ? taken : start + found + END.length - before;
    return text;
  }

  /** Resets for the next head; nothing of this one is stored. */
  clear(): void {
    this.text = "";
    this.end = -1;
  }
}

/**
 * Checks lines whose end has not arrived. A wrong line end is rejected now, since waiting for the right one would last
 * until the timeout.
 *
 * @param known characters already checked: bytes may arrive one by one, and starting over each time would take
 *   seconds
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
