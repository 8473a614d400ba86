/**
 * What stands between the data of a body in chunks: sizes, extensions, line ends.
 *
 * Untrusted input: every byte. Extensions mean nothing to us and are read all the same as they must look: who takes a line for
 * something else finds another end of the body.
 *
 * @see RFC 9112 §7.1
 */
import { HEX, TOKEN, VALUE } from "../../shared/http/field-lines.ts";

/** 13 hexadecimal digits are below 2^53. */
const MAX_SIZE_DIGITS = 13;
/** Of one body: each chunk could have some, around a single byte of data. */
const MAX_EXTENSION_BYTES = 16_384;

const CR = 13;
const LF = 10;
const QUOTE = 34;
const SEMICOLON = 59;
const EQUALS = 61;
const BACKSLASH = 92;

/** Where the next byte belongs. Plain numbers: Node runs our source as it stands, without enums. */
const SIZE = 0;
const NAME_START = 1;
const NAME = 2;
const VALUE_START = 3;
const WORD = 4;
const QUOTED = 5;
const QUOTED_END = 6;
const SIZE_LF = 7;
const DATA = 8;
const DATA_CR = 9;
const DATA_LF = 10;
const LAST = 11;

export const BAD_CHUNK = "a chunk is not framed as it must be";
export const LONG_EXTENSIONS = "chunk extensions are too long";

export class ChunkLines {
  /** Bytes of data that are missing from the chunk. */
  left = 0;
  #phase = SIZE;
  #digits = 0;
  #extensionBytes = 0;

  /** A body begins. */
  begin(): void {
    this.#extensionBytes = 0;
    this.#next();
  }

  /** Data follows, `left` bytes of it. */
  get isInData(): boolean {
    return this.#phase === DATA;
  }

  /** The trailers follow. */
  get isOver(): boolean {
    return this.#phase === LAST;
  }

  /** So much data was taken. */
  took(length: number): void {
    this.left -= length;
    if (this.left === 0) this.#phase = DATA_CR;
  }

  /** Takes a byte that is no data. @returns what is wrong */
  take(byte: number): string | undefined {
    switch (this.#phase) {
      case SIZE: {
        const digit = HEX[byte] as number;
        if (digit < 0) return this.#digits === 0 ? BAD_CHUNK : this.#afterWord(byte);
        this.left = this.left * 16 + digit;
        this.#digits += 1;
        return this.#digits > MAX_SIZE_DIGITS ? "a chunk is too large" : undefined;
      }
      case SIZE_LF:
        if (byte !== LF) return BAD_CHUNK;
        this.#phase = this.left === 0 ? LAST : DATA;
        return undefined;
      case DATA_CR:
        if (byte !== CR) return "a chunk is longer than its size";
        this.#phase = DATA_LF;
        return undefined;
      case DATA_LF:
        if (byte !== LF) return BAD_CHUNK;
        this.#next();
        return undefined;
      default:
        this.#extensionBytes += 1;
        return this.#extensionBytes > MAX_EXTENSION_BYTES ? LONG_EXTENSIONS : this.#takeExtension(byte);
    }
  }

  #next(): void {
    this.#phase = SIZE;
    this.left = 0;
    this.#digits = 0;
  }

  /** `;name`, `;name=word` or `;name="text"`, without blanks and escapes. */
  #takeExtension(byte: number): string | undefined {
    switch (this.#phase) {
      case NAME_START:
        if (TOKEN[byte] !== 1) return BAD_CHUNK;
        this.#phase = NAME;
        return undefined;
      case NAME:
        if (TOKEN[byte] === 1) return undefined;
        if (byte !== EQUALS) return this.#afterWord(byte);
        this.#phase = VALUE_START;
        return undefined;
      case VALUE_START:
        if (byte !== QUOTE && TOKEN[byte] !== 1) return BAD_CHUNK;
        this.#phase = byte === QUOTE ? QUOTED : WORD;
        return undefined;
      case WORD:
        return TOKEN[byte] === 1 ? undefined : this.#afterWord(byte);
      case QUOTED:
        if (byte === QUOTE) this.#phase = QUOTED_END;
        else if (VALUE[byte] !== 1 || byte === BACKSLASH) return BAD_CHUNK;
        return undefined;
      case QUOTED_END:
        return this.#afterWord(byte);
      default:
        return BAD_CHUNK;
    }
  }

  #afterWord(byte: number): string | undefined {
    if (byte === CR) this.#phase = SIZE_LF;
    else if (byte === SEMICOLON) this.#phase = NAME_START;
    else return BAD_CHUNK;
    return undefined;
  }
}
