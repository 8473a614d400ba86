/** JSON whose meaning YAML would not change, read by the engine's own parser: the common, fast path. */

import { MAX_JSON_DEPTH, measureJson } from "../shared/json/foreign-json.ts";

/** Depth and number of values, both as in the full reader. */
export const MAX_DEPTH: number = MAX_JSON_DEPTH;

export type PlainJson =
  | { readonly kind: "value"; readonly value: unknown; readonly values: number }
  /** The text exceeds a limit. */
  | { readonly kind: "too many" | "too deep" }
  /** Not JSON, or JSON whose problem only the full reader can report. */
  | { readonly kind: "other" };

/** The value of JSON text without repeated keys. @param maxValues limit of members and items */
export function readPlainJson(text: string, maxValues: number): PlainJson {
  if (!/^\s*\{/.test(text)) return OTHER;
  const { colons, values, depth } = measureJson(text, MAX_DEPTH, maxValues);
  if (values > maxValues) return { kind: "too many" };
  if (depth > MAX_DEPTH) return { kind: "too deep" };
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse silently keeps the last of repeated keys, so compare: colons outside strings equal the keys in the
    // text.
    if (countKeys(value, 0) !== colons) return OTHER;
    return ESCAPED_SURROGATE.test(text) && !isWellFormed(value) ? OTHER : { kind: "value", value, values };
  } catch {
    return OTHER;
  }
}

/** UTF-8 has no surrogates, so half a pair can only come from an escape. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * False if a text or name has half of a surrogate pair, which no other format can represent. The depth is already
 * limited.
 */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

const OTHER: PlainJson = { kind: "other" };

/** @returns NaN, equal to no count, for values that the full reader must validate */
export function countKeys(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return isPortable(value) ? 0 : Number.NaN;
  if (depth > MAX_DEPTH || Object.hasOwn(value, "__proto__")) return Number.NaN;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let keys = Array.isArray(value) ? 0 : members.length;
  // Not `for … of`, which allocates an object for each member until it is compiled.
  for (let at = 0; at < members.length; at++) {
    const member = members[at];
    if (typeof member !== "string") keys += countKeys(member, depth + 1);
  }
  return keys;
}

/** A scalar with the same meaning for every JSON reader. */
export function isPortable(value: unknown): boolean {
  if (typeof value !== "number") return true;
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
