/**
 * Keyed digests of values that a record does not show: equal values have equal digests, and values cannot be guessed
 * without the key.
 *
 * HMAC-SHA-256, cut to 96 bits. Numbers count by their exact value, taken from their source text: JSON.parse would
 * round 9007199254740993 to its neighbor, and the digests of two calls would be equal.
 */
import { createHmac } from "node:crypto";

import { foldCase } from "../../policy/mcp/fold-case.ts";
import { parseDecimal } from "../../policy/mcp/decimal.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import type { Members } from "../../shared/is-record.ts";

export interface Digests {
  /** Distinguishes keys, and reveals nothing about them. */
  readonly id: string;
  text(text: string): string;
  /** @param token a number as in JSON @returns undefined when its exponent is unusable */
  number(token: string): string | undefined;
  flag(flag: boolean): string;
  name(name: string): NameDigest;
  /** One letter for the type, and the digest. @param value of JSON; numbers may be `NumberToken` */
  value(value: unknown): string;
}

/** Servers that ignore the case of names confuse the two: both forms count. */
export interface NameDigest {
  readonly folded: string;
  readonly exact: string;
}

/** Names come from schemas: few and always the same. */
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
    value(value) {
      if (value === null || value === undefined) return `z${digest("null", "")}`;
      if (typeof value === "string") return `t${digest("text", value)}`;
      if (typeof value === "boolean") return `b${digest("flag", String(value))}`;
      if (typeof value === "number" || value instanceof NumberToken) return `n${digest("number", numberText(value))}`;
      return Array.isArray(value) ? `l${digest("list", sortedText(value))}` : `o${digest("object", sortedText(value))}`;
    },
  };
}

/** By its value; with an unusable exponent as written. */
function numberText(number: number | NumberToken): string {
  const token = number instanceof NumberToken ? number.text : String(number);
  const decimal = parseDecimal(token);
  return decimal ? `${decimal.sign} ${decimal.exponent} ${decimal.digits}` : token;
}

/** One text for equal values. JSON writes a lone surrogate as an escape. */
function sortedText(value: unknown): string {
  if (typeof value === "number" || value instanceof NumberToken) return numberText(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  const members = value as Members;
  return `{${Object.keys(members)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${sortedText(members[name])}`)
    .join(",")}}`;
}

const SCHEMA_NAME = /^[A-Za-z0-9_$][A-Za-z0-9_.$-]{0,63}$/;

/** Whether a name looks like one in tools' schemas. */
export function isSchemaName(name: string): boolean {
  return SCHEMA_NAME.test(name);
}

/** Replacement for a hidden name. */
export function hiddenName(digests: Digests, name: string): string {
  const { folded, exact } = digests.name(name);
  return folded === exact ? `#${folded}` : `#${folded}.${exact}`;
}

/** RFC 6901 §3. */
export function escapeStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** In UTF-8 each lone surrogate would be U+FFFD, and different texts would be equal. */
function bytesOf(kind: string, text: string): string {
  return text.isWellFormed() ? `${kind}\0${text}` : `odd ${kind}\0${JSON.stringify(text)}`;
}
