/**
 * Operators on a value: true, false, or unknown if they do not apply to the value's type.
 *
 * Combined by three-valued logic: false if any is false, else unknown if any is unknown.
 */
import { FALSE, TRUE, UNKNOWN, type Truth } from "../packed-outcome.ts";
import { NumberToken } from "../../shared/canonical-json.ts";
import { hasExactNumbers } from "./argument-values.ts";
import { compareDecimals, type Decimal, parseDecimal } from "./decimal.ts";

export type Scalar = string | number | boolean;

export type Find = (value: unknown) => Truth;

/** The value equals one of the operands, or none; unknown if no operand has its type. */
export function oneOf(operands: readonly Scalar[], isMember: boolean): Find {
  const composed = operands.map((each) => (typeof each === "string" ? each.normalize("NFC") : each));
  return ofComposed(composed, equalTo(composed, isMember));
}

function equalTo(scalars: readonly Scalar[], isMember: boolean): Find {
  const others = new Set(scalars.filter((each) => typeof each !== "number"));
  const numbers = new Set(scalars.filter((each) => typeof each === "number"));
  const decimals = new Set([...numbers].map((each) => decimalKey(parseDecimal(String(each)))));
  const arePlain = [...numbers].every((each) => hasExactNumbers(String(each)));
  const types = new Set<string>(scalars.map((each) => typeof each));
  return (value) => {
    if (typeof value === "number" || value instanceof NumberToken) {
      if (!types.has("number")) return UNKNOWN;
      if (typeof value === "number" && arePlain) return truth(numbers.has(value) === isMember);
      const number = parseDecimal(typeof value === "number" ? String(value) : value.text);
      return number ? truth(decimals.has(decimalKey(number)) === isMember) : UNKNOWN;
    }
    return types.has(typeof value) ? truth(others.has(value as string | boolean) === isMember) : UNKNOWN;
  };
}

/** Same text for equal numbers. */
function decimalKey(number: Decimal | undefined): string {
  return number ? `${number.sign} ${number.digits} ${number.exponent}` : "";
}

/** @returns undefined if the limit is not a number; its result is undefined for values that cannot be compared */
function inOrderTo(limit: string): ((value: number | NumberToken) => number | undefined) | undefined {
  const exact = parseDecimal(limit);
  if (!exact) return undefined;
  const plain = hasExactNumbers(limit) ? Number(limit) : undefined;
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

/** Unknown for an empty list: every condition would match it, and whether that was intended is unclear. */
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

function truth(isTrue: boolean): Truth {
  return isTrue ? TRUE : FALSE;
}

/** A number in this order to the limit. @param limit a JSON number; undefined: it is not one */
export function inOrder(name: "gt" | "gte" | "lt" | "lte", limit: string): Find | undefined {
  const orderTo = inOrderTo(limit);
  if (!orderTo) return undefined;
  return (value) => {
    const order = typeof value === "number" || value instanceof NumberToken ? orderTo(value) : undefined;
    if (order === undefined) return UNKNOWN;
    return truth(order === 0 ? name === "gte" || name === "lte" : order > 0 === name.startsWith("g"));
  };
}

export function ofText(test: (text: string) => boolean, maxLength = Infinity): Find {
  return (value) => (typeof value === "string" && value.length <= maxLength ? truth(test(value)) : UNKNOWN);
}

/**
 * An operand may have a letter with two Unicode forms (é as one character or as e with an accent). Then a text that is
 * not in composed form (NFC) is unknown, because servers may treat both as equal. @param operands texts among them in
 * NFC
 */
function ofComposed(operands: readonly Scalar[], find: Find): Find {
  if (operands.every((each) => typeof each !== "string" || each === each.normalize("NFD"))) return find;
  return (value) => (typeof value === "string" && !isComposed(value) ? UNKNOWN : find(value));
}

/** The same for one text. @param findFor operator for the text in composed form */
export function ofComposedText(operand: string, findFor: (composed: string) => Find | undefined): Find | undefined {
  const composed = operand.normalize("NFC");
  const find = findFor(composed);
  return find && ofComposed([composed], find);
}

/** Cache for one text that many criteria check. */
let lastText = "";
let wasComposed = true;

function isComposed(text: string): boolean {
  if (text !== lastText) {
    wasComposed = text === text.normalize("NFC");
    lastText = text;
  }
  return wasComposed;
}

/** Cache for lists, which are immutable once parsed: hundreds of criteria may use the same list of a call. */
const listWork = new WeakMap<readonly unknown[], number>();

/** Cost of inspecting a value: its characters, or its elements with theirs. */
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

/** Limits the total length of a list's texts: time grows with their sum and number. */
export function ofShortTexts(find: Find, maxLength: number): Find {
  return (value) => {
    return Array.isArray(value) && workOf(value) > maxLength ? UNKNOWN : find(value);
  };
}
