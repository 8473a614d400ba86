/**
 * What operators on a value find: true, false, or unknown where the value is of a type that they say nothing of.
 *
 * Several of them join as in three-valued logic: one that is false decides, else one that is unknown.
 */
import { FALSE, TRUE, UNKNOWN, type Truth } from "../packed-outcome.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { isKeptWhole } from "./argument-values.ts";
import { compareDecimals, type Decimal, parseDecimal } from "./decimal.ts";

export type Scalar = string | number | boolean;

export type Find = (value: unknown) => Truth;

/** The value equals one of these, or none; of a type that none of them has it cannot be told. */
export function oneOf(operands: readonly Scalar[], holds: boolean): Find {
  const composed = operands.map((each) => (typeof each === "string" ? each.normalize("NFC") : each));
  return ofComposed(composed, equalTo(composed, holds));
}

function equalTo(scalars: readonly Scalar[], holds: boolean): Find {
  const others = new Set(scalars.filter((each) => typeof each !== "number"));
  const numbers = new Set(scalars.filter((each) => typeof each === "number"));
  const decimals = new Set([...numbers].map((each) => spelled(parseDecimal(String(each)))));
  const arePlain = [...numbers].every((each) => isKeptWhole(String(each)));
  const types = new Set<string>(scalars.map((each) => typeof each));
  return (value) => {
    if (typeof value === "number" || value instanceof NumberToken) {
      if (!types.has("number")) return UNKNOWN;
      if (typeof value === "number" && arePlain) return truth(numbers.has(value) === holds);
      const number = parseDecimal(typeof value === "number" ? String(value) : value.text);
      return number ? truth(decimals.has(spelled(number)) === holds) : UNKNOWN;
    }
    return types.has(typeof value) ? truth(others.has(value as string | boolean) === holds) : UNKNOWN;
  };
}

/** Alike for equal numbers. */
function spelled(number: Decimal | undefined): string {
  return number ? `${number.sign} ${number.digits} ${number.exponent}` : "";
}

/** @returns undefined when the limit is no number; what it gives is undefined for what cannot be compared */
function inOrderTo(limit: string): ((value: number | NumberToken) => number | undefined) | undefined {
  const exact = parseDecimal(limit);
  if (!exact) return undefined;
  const plain = isKeptWhole(limit) ? Number(limit) : undefined;
  return (value) => {
    if (typeof value === "number" && plain !== undefined) return value < plain ? -1 : value > plain ? 1 : 0;
    const number = parseDecimal(typeof value === "number" ? String(value) : value.text);
    return number && compareDecimals(number, exact);
  };
}

export function onlyMembers(names: readonly string[]): Find {
  const known = new Set(names);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof NumberToken)
      return UNKNOWN;
    return truth(Object.keys(value).every((name) => known.has(name)));
  };
}

export function all(finds: readonly Find[], value: unknown): Truth {
  let outcome: Truth = TRUE;
  for (const find of finds) {
    const one = find(value);
    if (one === FALSE) return FALSE;
    if (one === UNKNOWN) outcome = UNKNOWN;
  }
  return outcome;
}

export function some(finds: readonly Find[]): Find {
  return (value) => {
    if (!Array.isArray(value)) return UNKNOWN;
    let outcome: Truth = FALSE;
    for (const element of value as readonly unknown[]) {
      const one = all(finds, element);
      if (one === TRUE) return TRUE;
      if (one === UNKNOWN) outcome = UNKNOWN;
    }
    return outcome;
  };
}

/** Of an empty list everything would hold: whether that was meant cannot be told. */
export function every(finds: readonly Find[]): Find {
  return (value) => {
    if (!Array.isArray(value) || value.length === 0) return UNKNOWN;
    let outcome: Truth = TRUE;
    for (const element of value as readonly unknown[]) {
      const one = all(finds, element);
      if (one === FALSE) return FALSE;
      if (one === UNKNOWN) outcome = UNKNOWN;
    }
    return outcome;
  };
}

function truth(holds: boolean): Truth {
  return holds ? TRUE : FALSE;
}

/** A number in this order to the limit. @param limit a number, as JSON writes it; undefined: it is none */
export function inOrder(name: "gt" | "gte" | "lt" | "lte", limit: string): Find | undefined {
  const orderTo = inOrderTo(limit);
  if (!orderTo) return undefined;
  return (value) => {
    const order = typeof value === "number" || value instanceof NumberToken ? orderTo(value) : undefined;
    if (order === undefined) return UNKNOWN;
    return truth(order === 0 ? name === "gte" || name === "lte" : order > 0 === name.startsWith("g"));
  };
}

export function ofText(holds: (text: string) => boolean, maxLength = Infinity): Find {
  return (value) => (typeof value === "string" && value.length <= maxLength ? truth(holds(value)) : UNKNOWN);
}

/**
 * With an operand that has a letter Unicode can write in two ways (é as one character or as e with an accent), a text that is not
 * in the composed form (NFC) is unknown: servers may take both for the same. @param operands texts among them in NFC
 */
function ofComposed(operands: readonly Scalar[], find: Find): Find {
  if (operands.every((each) => typeof each !== "string" || each === each.normalize("NFD"))) return find;
  return (value) => (typeof value === "string" && !isComposed(value) ? UNKNOWN : find(value));
}

/** The same for one text. @param findFor what is to be found of it in its composed form */
export function ofComposedText(operand: string, findFor: (composed: string) => Find | undefined): Find | undefined {
  const composed = operand.normalize("NFC");
  const find = findFor(composed);
  return find && ofComposed([composed], find);
}

/** Many criteria look at one text. */
let lastText = "";
let wasComposed = true;

function isComposed(text: string): boolean {
  if (text !== lastText) {
    wasComposed = text === text.normalize("NFC");
    lastText = text;
  }
  return wasComposed;
}

/** Of lists, which do not change once they are read: hundreds of criteria may ask for the same list of a call. */
const listWork = new WeakMap<readonly unknown[], number>();

/** How long looking at a value takes: its characters, or its elements with theirs. */
export function workOf(value: unknown): number {
  if (!Array.isArray(value)) return workOfOne(value);
  const list = value as readonly unknown[];
  let sum = listWork.get(list);
  if (sum === undefined) {
    sum = 0;
    for (const element of list) sum += workOfOne(element);
    listWork.set(list, sum);
  }
  return sum;
}

function workOfOne(value: unknown): number {
  if (typeof value === "string") return value.length + 1;
  return value instanceof NumberToken ? value.text.length + 1 : 1;
}

/** Of lists whose texts are short together: time grows with their sum, and with their number. */
export function ofShortTexts(find: Find, maxLength: number): Find {
  return (value) => {
    return Array.isArray(value) && workOf(value) > maxLength ? UNKNOWN : find(value);
  };
}
