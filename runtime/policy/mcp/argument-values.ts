/** The arguments of a tool call as criteria read them: when the first one asks, and numbers as they were written. */
import { foldWords } from "./fold-case.ts";
import { OmittedToken, parseVerbatim, ValueToken } from "../../shared/canonical-json.ts";
import type { ArgumentFacts } from "../facts.ts";
import { textAt } from "./argument-span.ts";

/** Of a value that servers read each in their own way, or that is too long to be looked at. */
export const UNCLEAR = Symbol("unclear");

/** Reading numbers as they were written costs a hundred times what reading them does. */
const MAX_EXACT_LENGTH = 16_384;

/** Some 0.1 s at worst: 32 criteria about texts of 1 MiB, thousands about ordinary ones. */
const MAX_CALL_WORK = 33_554_432;

/**
 * @param text the arguments as JSON, an object, known to have no member twice at any depth; undefined: the call gives none,
 *             which servers read as an empty object
 */
export function readArguments(text: () => string | undefined): ArgumentFacts {
  let whole: { readonly json: string; readonly value: unknown; readonly isKept: boolean } | undefined;
  const exact = new Map<string, unknown>();
  const folded = new WeakMap<object, Map<string, number>>();
  const work = { left: MAX_CALL_WORK, found: new Map() };
  return {
    work,
    find(pointer, withNumbers) {
      if (whole === undefined) {
        const json = text() ?? "{}";
        whole = { json, value: JSON.parse(json), isKept: isKeptWhole(json) };
      }
      const value = valueAt(whole.value, pointer, folded);
      const mayHaveNumbers = typeof value === "number" || (typeof value === "object" && value !== null);
      // Keeping numbers as they were written costs ten times the reading, and is seldom needed.
      if (!withNumbers || !mayHaveNumbers || whole.isKept) return value;
      const place = pointer.join("\0");
      if (!exact.has(place)) {
        work.left -= whole.json.length;
        exact.set(place, work.left < 0 ? UNCLEAR : exactly(textAt(whole.json, pointer), value));
      }
      return exact.get(place);
    },
  };
}

/** The same of arguments that are read already. @param whole its numbers as `NumberToken` where reading rounds them */
export function argumentsOf(whole: unknown): ArgumentFacts {
  const folded = new WeakMap<object, Map<string, number>>();
  return { find: (pointer) => valueAt(whole, pointer, folded) };
}

/** JSON with its numbers as `NumberToken` where reading rounds them. */
export function parseExactly(json: string): unknown {
  return isKeptWhole(json) ? JSON.parse(json) : parseVerbatim(json);
}

/**
 * A number with more than 15 digits, or a large exponent: all others are what they were written as, and no two different
 * ones become the same (IEEE 754 doubles keep 15 decimal digits).
 */
const MAY_ROUND = /[0-9.]{16}|[eE][+-]?[0-9]{3}/;

/** Whether a number can be compared as what it was read as. */
export function isKeptWhole(text: string): boolean {
  return !MAY_ROUND.test(text);
}

function exactly(json: string, value: unknown): unknown {
  if (isKeptWhole(json)) return value;
  return json.length > MAX_EXACT_LENGTH ? UNCLEAR : parseVerbatim(json);
}

/** RFC 6901 §4. @returns undefined for what is not there */
function valueAt(root: unknown, pointer: readonly string[], folded: WeakMap<object, Map<string, number>>): unknown {
  let value = root;
  for (const token of pointer) {
    if (value === null || value === undefined) return undefined;
    if (value instanceof OmittedToken) return value;
    // Some servers take a text for the JSON in it.
    if (typeof value !== "object" || value instanceof ValueToken) return UNCLEAR;
    if (Array.isArray(value)) {
      if (!INDEX.test(token)) return value.some(mayHaveMembers) ? UNCLEAR : undefined;
    } else if (hasLookAlike(value, token, folded) || (token === "0" && isOnlyElement(value))) return UNCLEAR;
    // Own members alone: `/constructor` is in no message.
    if (!Object.hasOwn(value, token)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[token];
  }
  return value;
}

const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** Some servers take the only element of a list for what they expect, and a text for the JSON in it. */
function mayHaveMembers(element: unknown): boolean {
  if (typeof element === "string") return /^\s*["[{]/.test(element);
  return typeof element === "object" && element !== null && !(element instanceof ValueToken);
}

/** Some servers take what is no list for the only element of one. An object with a member called as an index is taken for a list. */
function isOnlyElement(object: object): boolean {
  const names = Object.keys(object);
  return names.length > 0 && !names.some((name) => INDEX.test(name));
}

/** Servers that read names without regard to case or separators take the last of `env` and `ENV`, or the one that is there. */
function hasLookAlike(object: object, name: string, folded: WeakMap<object, Map<string, number>>): boolean {
  let counts = folded.get(object);
  if (!counts) {
    folded.set(object, (counts = new Map()));
    for (const key of Object.keys(object)) counts.set(foldWords(key), (counts.get(foldWords(key)) ?? 0) + 1);
  }
  return (counts.get(foldWords(name)) ?? 0) > (Object.hasOwn(object, name) ? 1 : 0);
}

/** @returns the tokens of a JSON pointer (RFC 6901); undefined for what is none */
export function parsePointer(text: string): readonly string[] | undefined {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return undefined;
  // Each once, and in this order: "~01" is "~1".
  return text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
