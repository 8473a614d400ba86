/** Arguments of a tool call for criteria: parsed at first use, with numbers as written. */
import { foldWords } from "./fold-case.ts";
import { OmittedToken, parseVerbatim, ValueToken } from "../../shared/canonical-json.ts";
import type { ArgumentFacts, ArgumentWork } from "../facts.ts";
import { textAt } from "./argument-span.ts";

/** A value that servers read differently, or that is too long to inspect. */
export const UNCLEAR = Symbol("unclear");

/** Exact numbers cost a hundred times as much as normal parsing. */
const MAX_EXACT_LENGTH = 16_384;

/** Some 0.1 s at worst: 32 criteria on texts of 1 MiB, thousands on ordinary ones. */
const MAX_CALL_WORK = 33_554_432;

/**
 * @param text the arguments as a JSON object without duplicate members at any depth; undefined: the call has none,
 *   which servers read as an empty object
 */
export function readArguments(text: () => string | undefined): ArgumentFacts {
  return new CallArguments(text);
}

/** Most calls are decided without a look at their arguments, so nothing is made before. */
class CallArguments implements ArgumentFacts {
  readonly #text: () => string | undefined;
  #whole: { readonly json: string; readonly value: unknown; readonly isExact: boolean } | undefined;
  #exact: Map<string, unknown> | undefined;
  #folded: WeakMap<object, Map<string, number>> | undefined;
  #work: ArgumentWork | undefined;

  constructor(text: () => string | undefined) {
    this.#text = text;
  }

  get work(): ArgumentWork {
    return (this.#work ??= { left: MAX_CALL_WORK, found: new Map() });
  }

  find(pointer: readonly string[], withNumbers: boolean): unknown {
    const whole = (this.#whole ??= wholeOf(this.#text() ?? "{}"));
    const value = valueAt(whole.value, pointer, (this.#folded ??= new WeakMap()));
    const mayHaveNumbers = typeof value === "number" || (typeof value === "object" && value !== null);
    // Keeping numbers as written costs ten times as much as parsing, and is seldom needed.
    if (!withNumbers || !mayHaveNumbers || whole.isExact) return value;
    const exact = (this.#exact ??= new Map());
    const key = pointer.join("\0");
    if (!exact.has(key)) {
      const { work } = this;
      work.left -= whole.json.length;
      exact.set(key, work.left < 0 ? UNCLEAR : exactly(textAt(whole.json, pointer), value));
    }
    return exact.get(key);
  }
}

function wholeOf(json: string): { readonly json: string; readonly value: unknown; readonly isExact: boolean } {
  return { json, value: JSON.parse(json), isExact: hasExactNumbers(json) };
}

/** The same for parsed arguments. @param whole its numbers are `NumberToken` where parsing would round them */
export function argumentsOf(whole: unknown): ArgumentFacts {
  const folded = new WeakMap<object, Map<string, number>>();
  return { find: (pointer) => valueAt(whole, pointer, folded) };
}

/** Parses JSON, with numbers as `NumberToken` where parsing would round them. */
export function parseExactly(json: string): unknown {
  return hasExactNumbers(json) ? JSON.parse(json) : parseVerbatim(json);
}

/**
 * A number with more than 15 digits, or a large exponent. All others keep their written value and stay distinct (IEEE
 * 754 doubles keep 15 decimal digits).
 */
const MAY_ROUND = /[0-9.]{16}|[eE][+-]?[0-9]{3}/;

/** Whether no number of the text is rounded when parsed. */
export function hasExactNumbers(text: string): boolean {
  return !MAY_ROUND.test(text);
}

function exactly(json: string, value: unknown): unknown {
  if (hasExactNumbers(json)) return value;
  return json.length > MAX_EXACT_LENGTH ? UNCLEAR : parseVerbatim(json);
}

/** RFC 6901 §4. @returns undefined if absent */
function valueAt(root: unknown, pointer: readonly string[], folded: WeakMap<object, Map<string, number>>): unknown {
  let value = root;
  for (const token of pointer) {
    if (value === null || value === undefined) return undefined;
    if (value instanceof OmittedToken) return value;
    // Some servers parse a text as JSON.
    if (typeof value !== "object" || value instanceof ValueToken) return UNCLEAR;
    if (Array.isArray(value)) {
      if (!INDEX.test(token)) return value.some(mayHaveMembers) ? UNCLEAR : undefined;
    } else if (hasLookAlike(value, token, folded) || (token === "0" && isOnlyElement(value))) return UNCLEAR;
    // Own members only: no message contains `/constructor`.
    if (!Object.hasOwn(value, token)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[token];
  }
  return value;
}

const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** Some servers accept a list of one for its element, and parse a text as JSON. */
function mayHaveMembers(element: unknown): boolean {
  if (typeof element === "string") return /^\s*["[{]/.test(element);
  return typeof element === "object" && element !== null && !(element instanceof ValueToken);
}

/**
 * Some servers accept a value that is not a list for a list of one. An object with an index as a member name is read as
 * a list.
 */
function isOnlyElement(object: object): boolean {
  const names = Object.keys(object);
  return names.length > 0 && !names.some((name) => INDEX.test(name));
}

/** Servers that ignore case or separators in names read the last of `env` and `ENV`, or the one that exists. */
function hasLookAlike(object: object, name: string, folded: WeakMap<object, Map<string, number>>): boolean {
  let counts = folded.get(object);
  if (!counts) {
    folded.set(object, (counts = new Map()));
    for (const key of Object.keys(object)) counts.set(foldWords(key), (counts.get(foldWords(key)) ?? 0) + 1);
  }
  return (counts.get(foldWords(name)) ?? 0) > (Object.hasOwn(object, name) ? 1 : 0);
}

/** @returns the tokens of a JSON pointer (RFC 6901); undefined if it is not one */
export function parsePointer(text: string): readonly string[] | undefined {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return undefined;
  // One pass each, in this order: "~01" is "~1".
  return text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
