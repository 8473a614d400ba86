/** The arguments of a tool call as criteria read them: when the first one asks, and numbers as they were written. */
import type { ArgumentFacts } from "../facts.ts";

/** A number as the message wrote it, where reading it could have rounded it. */
export class NumberToken {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * @param text the arguments as JSON, an object, known to have no member twice at any depth; undefined: the call gives none,
 *             which servers read as an empty object
 */
export function readArguments(text: () => string | undefined): ArgumentFacts {
  let written: string | undefined;
  let plain: unknown;
  let exact: unknown;
  return {
    find(pointer, withNumbers) {
      written ??= text() ?? "{}";
      // Keeping numbers as they were written costs ten times the reading, and is seldom needed.
      if (withNumbers && MAY_ROUND.test(written)) return valueAt((exact ??= JSON.parse(written, keepNumber)), pointer);
      return valueAt((plain ??= JSON.parse(written)), pointer);
    },
  };
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

function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? new NumberToken(context?.source ?? "") : value;
}

/** RFC 6901 §4. @returns undefined for what is not there */
function valueAt(root: unknown, pointer: readonly string[]): unknown {
  let value = root;
  for (const token of pointer) {
    if (typeof value !== "object" || value === null || value instanceof NumberToken) return undefined;
    if (Array.isArray(value) && !/^(?:0|[1-9][0-9]*)$/.test(token)) return undefined;
    // Own members alone: `/constructor` is in no message.
    if (!Object.hasOwn(value, token)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[token];
  }
  return value;
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
