/**
 * What operators on a value find: true, false, or unknown where the value is of a type that they say nothing of.
 *
 * Several of them join as in three-valued logic: one that is false decides, else one that is unknown.
 */
import { FALSE, TRUE, UNKNOWN, type Outcome } from "../packed-outcome.ts";
import { NumberToken } from "./argument-values.ts";
import { type Decimal, compareDecimals, parseDecimal } from "./decimal.ts";

export type Scalar = string | number | boolean;

export type Find = (value: unknown) => Outcome;

/** The value equals one of these; of a type that none of them has it cannot be told. */
export function oneOf(scalars: readonly Scalar[], holds: boolean): Find {
  const others = new Set(scalars.filter((each) => typeof each !== "number"));
  const numbers = scalars
    .filter((each) => typeof each === "number")
    .map((each) => parseDecimal(String(each)))
    .filter((each) => each !== undefined);
  const types = new Set<string>(scalars.map((each) => typeof each));
  return (value) => {
    if (value instanceof NumberToken) {
      const number = types.has("number") ? parseDecimal(value.text) : undefined;
      return number ? truth(numbers.some((each) => compareDecimals(each, number) === 0) === holds) : UNKNOWN;
    }
    return types.has(typeof value) ? truth(others.has(value as string | boolean) === holds) : UNKNOWN;
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

export function all(finds: readonly Find[], value: unknown): Outcome {
  let outcome: Outcome = TRUE;
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
    let outcome: Outcome = FALSE;
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
    let outcome: Outcome = TRUE;
    for (const element of value as readonly unknown[]) {
      const one = all(finds, element);
      if (one === FALSE) return FALSE;
      if (one === UNKNOWN) outcome = UNKNOWN;
    }
    return outcome;
  };
}

function truth(holds: boolean): Outcome {
  return holds ? TRUE : FALSE;
}

/** A number in this order to the limit. */
export function inOrder(name: "gt" | "gte" | "lt" | "lte", limit: Decimal): Find {
  return (value) => {
    const number = value instanceof NumberToken ? parseDecimal(value.text) : undefined;
    if (!number) return UNKNOWN;
    const order = compareDecimals(number, limit);
    return (order === 0 ? name === "gte" || name === "lte" : order > 0 === name.startsWith("g")) ? TRUE : FALSE;
  };
}

export function ofText(holds: (text: string) => boolean, maxLength = Infinity): Find {
  return (value) => (typeof value === "string" && value.length <= maxLength ? truth(holds(value)) : UNKNOWN);
}
