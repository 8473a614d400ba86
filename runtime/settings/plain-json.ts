/** JSON that has nothing YAML could say otherwise, read by the engine's own parser: the common and quick way. */

import { MAX_JSON_DEPTH, measureJson } from "../shared/json/foreign-json.ts";

/** Depth and number of values, both with what the sound reader finds out for itself. */
export const MAX_DEPTH: number = MAX_JSON_DEPTH;

export type PlainJson =
  | { readonly kind: "value"; readonly value: unknown; readonly values: number }
  /** Whatever it is, there is too much of it. */
  | { readonly kind: "too many" | "too deep" }
  /** No JSON, or JSON that only another reader can say what is wrong with. */
  | { readonly kind: "other" };

/** The value of JSON text without repeated keys. @param maxValues how many members and items it may have */
export function readPlainJson(text: string, maxValues: number): PlainJson {
  if (!/^\s*\{/.test(text)) return OTHER;
  const { colons, values, depth } = measureJson(text, MAX_DEPTH, maxValues);
  if (values > maxValues) return { kind: "too many" };
  if (depth > MAX_DEPTH) return { kind: "too deep" };
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse silently keeps the last of repeated keys: there are as many colons outside strings as keys written.
    if (countKeys(value, 0) !== colons) return OTHER;
    return ESCAPED_SURROGATE.test(text) && !isWellFormed(value) ? OTHER : { kind: "value", value, values };
  } catch {
    return OTHER;
  }
}

/** UTF-8 has none, so half a pair can only come from an escape. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** No text and no name has half of a surrogate pair: no other format can carry it. Depth is bounded before. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

const OTHER: PlainJson = { kind: "other" };

/** @returns NaN, equal to no count, for what the slow reader must validate */
export function countKeys(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return isSound(value) ? 0 : Number.NaN;
  if (depth > MAX_DEPTH || Object.hasOwn(value, "__proto__")) return Number.NaN;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let keys = Array.isArray(value) ? 0 : members.length;
  // Not `for … of`, which makes an object for each member until it is compiled.
  for (let at = 0; at < members.length; at++) {
    const member = members[at];
    if (typeof member !== "string") keys += countKeys(member, depth + 1);
  }
  return keys;
}

/** A scalar that means the same to every JSON reader. */
export function isSound(value: unknown): boolean {
  if (typeof value !== "number") return true;
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
