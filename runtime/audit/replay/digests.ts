/**
 * Keyed digests of what a record does not tell: equal values have equal digests, and without the key nobody can try values.
 *
 * HMAC-SHA-256, cut to 96 bits. Numbers count by their exact value, taken from how they were written: JSON.parse would round
 * 9007199254740993 to its neighbour, and the digests of two calls would be one.
 */
import { createHmac } from "node:crypto";

import { foldCase } from "../../policy/mcp/fold-case.ts";
import { parseDecimal } from "../../policy/mcp/decimal.ts";

export interface Digests {
  /** Tells keys apart, and says nothing of them. */
  readonly id: string;
  text(text: string): string;
  /** @param token a number as JSON writes it @returns undefined for one whose exponent is beyond all use */
  number(token: string): string | undefined;
  flag(flag: boolean): string;
  name(name: string): NameDigest;
}

/** Servers that read names without regard to case take one for the other: both spellings count. */
export interface NameDigest {
  readonly folded: string;
  readonly exact: string;
}

/** Names are those of schemas, few and always the same. */
const MAX_NAMES = 1_000;
const DIGEST_CHARS = 16;

/** @param key 32 bytes or more */
export function createDigests(key: Uint8Array): Digests {
  const digest = (kind: string, text: string): string =>
    createHmac("sha256", key).update(bytesOf(kind, text)).digest("base64url").slice(0, DIGEST_CHARS);
  const names = new Map<string, NameDigest>();
  return {
    id: digest("key", "").slice(0, 8),
    text: (text) => digest("text", text),
    number(token) {
      const decimal = parseDecimal(token);
      return decimal && digest("number", `${decimal.sign} ${decimal.exponent} ${decimal.digits}`);
    },
    flag: (flag) => digest("flag", String(flag)),
    name(name) {
      let found = names.get(name);
      if (found) return found;
      const folded = digest("name", foldCase(name));
      found = { folded, exact: name === foldCase(name) ? folded : digest("exact name", name) };
      if (names.size >= MAX_NAMES) names.clear();
      names.set(name, found);
      return found;
    },
  };
}

/** In UTF-8 each lone surrogate would be U+FFFD, and texts that differ would be one. */
function bytesOf(kind: string, text: string): string {
  return text.isWellFormed() ? `${kind}\0${text}` : `odd ${kind}\0${JSON.stringify(text)}`;
}
