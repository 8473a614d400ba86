/**
 * Extensions of the chunks of a request: `;name`, `;name=word` or `;name="text"`, without blanks and escapes.
 *
 * @see RFC 9112 §7.1.1
 */
import type { ChunkExtensions } from "../../shared/http/chunk-lines.ts";
import { TOKEN, VALUE } from "../../shared/http/field-lines.ts";

/** Limit for one body: each chunk could have extensions, around a single byte of data. */
const MAX_BYTES = 16_384;

const QUOTE = 34;
const SEMICOLON = 59;
const EQUALS = 61;
const BACKSLASH = 92;

/** Position of the next byte. Plain numbers, not enums: Node runs our source without compiling it. */
const NAME_START = 0;
const NAME = 1;
const VALUE_START = 2;
const WORD = 3;
const QUOTED = 4;
const QUOTED_END = 5;

const BAD_EXTENSION = "a chunk extension is invalid";
export const LONG_EXTENSIONS = "chunk extensions are too long";

export class RequestExtensions implements ChunkExtensions {
  #phase = NAME_START;
  #bytes = 0;

  reset(): void {
    this.#bytes = 0;
  }

  begin(): void {
    this.#phase = NAME_START;
  }

  take(byte: number): string | undefined {
    this.#bytes += 1;
    if (this.#bytes > MAX_BYTES) return LONG_EXTENSIONS;
    switch (this.#phase) {
      case NAME_START:
        if (TOKEN[byte] !== 1) return BAD_EXTENSION;
        this.#phase = NAME;
        return undefined;
      case NAME:
        if (TOKEN[byte] === 1) return undefined;
        if (byte !== EQUALS) return this.#next(byte);
        this.#phase = VALUE_START;
        return undefined;
      case VALUE_START:
        if (byte !== QUOTE && TOKEN[byte] !== 1) return BAD_EXTENSION;
        this.#phase = byte === QUOTE ? QUOTED : WORD;
        return undefined;
      case WORD:
        return TOKEN[byte] === 1 ? undefined : this.#next(byte);
      case QUOTED:
        if (byte === QUOTE) this.#phase = QUOTED_END;
        else if (VALUE[byte] !== 1 || byte === BACKSLASH) return BAD_EXTENSION;
        return undefined;
      default:
        return this.#next(byte);
    }
  }

  end(): string | undefined {
    const isWhole = this.#phase === NAME || this.#phase === WORD || this.#phase === QUOTED_END;
    return isWhole ? undefined : BAD_EXTENSION;
  }

  #next(byte: number): string | undefined {
    if (byte !== SEMICOLON) return BAD_EXTENSION;
    this.#phase = NAME_START;
    return undefined;
  }
}
