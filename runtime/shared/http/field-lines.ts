/**
 * The field lines of HTTP/1.1 messages, of requests and responses alike: one reading, or a problem.
 *
 * Untrusted input: every character. Promise: a line that two readers could understand differently is rejected.
 *
 * @see RFC 9112 §5, §6
 */
import { headerTraitsAt, trimBlanks, type HeaderTraits } from "./header-traits.ts";

const CR = 13;
const LF = 10;
const SPACE = 32;
const COLON = 58;

/** Gets the fields of a message in their order. */
export interface FieldTaker {
  /**
   * @param value without the blanks around it
   * @param raw with most of them: some readers do not strip a tab after the value
   * @returns the problem
   */
  takeField(traits: HeaderTraits, value: string, raw: string): string | undefined;
}

/**
 * @param text one character for each byte
 * @param start of the first field line
 * @param end after the CR LF of the last one
 * @returns the problem; undefined when there is none
 */
export function parseFields(text: string, start: number, end: number, taker: FieldTaker): string | undefined {
  let at = start;
  while (at < end) {
    const nameStart = at;
    let hash = 0;
    for (let code = text.charCodeAt(at); TOKEN[code] === 1; code = text.charCodeAt(at)) {
      hash = (Math.imul(hash, 31) + code) | 0;
      at += 1;
    }
    // A line that begins with a blank would continue the previous one: rejected like any other invalid name.
    if (at === nameStart || text.charCodeAt(at) !== COLON) return "a header field has no name";
    const traits = headerTraitsAt(text, nameStart, at, hash);
    at += 1;
    // Nearly all values have one blank before them and none after: the rest is cut out once.
    const rawStart = text.charCodeAt(at) === SPACE ? at + 1 : at;
    while (VALUE[text.charCodeAt(at)] === 1) at += 1;
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return "a header field has a control character";
    const raw = text.slice(rawStart, at);
    at += 2;
    const problem = taker.takeField(traits, trimBlanks(raw), raw);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @returns -1 for anything but a number: no sign, no list; at most 15 digits, which are below 2^53 */
export function parseContentLength(value: string, raw: string): number {
  return /^[0-9]{1,15}$/.test(value) && !raw.includes("\t") ? Number(value) : -1;
}

/** The one coding that marks its own end and that we decode; in lists, readers look for it in different positions. */
export function isJustChunked(value: string, raw: string): boolean {
  return value.toLowerCase() === "chunked" && !raw.includes("\t");
}

/** Statements of Connection about reuse after this message. */
export interface Persistence {
  closes: boolean;
  keepsAlive: boolean;
}

export function noteConnection(persistence: Persistence, value: string): void {
  const tokens = value.toLowerCase();
  if (tokens === "keep-alive") {
    persistence.keepsAlive = true;
    return;
  }
  if (/(?:^|,)[ \t]*close[ \t]*(?:,|$)/.test(tokens)) persistence.closes = true;
  else if (/(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/.test(tokens)) persistence.keepsAlive = true;
}

/** Characters of names (RFC 9110 §5.6.2). */
export const TOKEN: Uint8Array = tableOf((code) => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(code)));
/** Characters of values: blanks, visible ones, and bytes above ASCII (RFC 9110 §5.5). */
export const VALUE: Uint8Array = tableOf((code) => code === 0x09 || (code >= 0x20 && code !== 0x7f));

/** A table with one entry per byte: 1 if it is in the set. */
export function tableOf(has: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (has(code) ? 1 : 0));
}

/** Value of each byte as a hexadecimal digit; -1: not a digit. */
export const HEX: Int8Array = Int8Array.from({ length: 256 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? -1 : digit;
});
