/**
 * Lossless JSON: numbers stay as written, every text keeps its exact units, and a repeated member is an error
 * (`parseVerbatim` takes the last one). For digests of foreign JSON, and for showing it.
 *
 * Untrusted input: the text. Promises: texts with the same canonical form mean the same to every JSON reader, and texts
 * with different meanings have different forms (`1` and `1.0` count as different). Time is linear except for sorting
 * members, depth is bounded. Pure.
 */
import { NumberToken, parseNumbers } from "../canonical-json.ts";
import { MAX_JSON_DEPTH, measureJson } from "./foreign-json.ts";

/** Objects are maps: no member name has a meaning to this code. */
export type ExactJson = null | boolean | string | NumberToken | readonly ExactJson[] | ExactObject;
export type ExactObject = ReadonlyMap<string, ExactJson>;

/**
 * Number of values that may still be read, over several texts: small ones take far more time than their bytes suggest.
 */
export interface ValueBudget {
  values: number;
}

/**
 * @returns undefined for anything but JSON, or when it is deeper than 64, has a member twice, or more values than the
 *   budget
 */
export function parseExactJson(text: string, budget: ValueBudget = { values: Infinity }): ExactJson | undefined {
  const { colons, values, depth } = measureJson(text, MAX_JSON_DEPTH, budget.values);
  // The value itself is one more.
  budget.values -= values + 1;
  if (depth > MAX_JSON_DEPTH || budget.values < 0) return undefined;
  let names = 0;
  const mapOf = (value: object): unknown => {
    if (Array.isArray(value)) return value;
    const members = Object.entries(value);
    names += members.length;
    return new Map(members);
  };
  try {
    const value = parseNumbers(text, (number) => new NumberToken(number), mapOf) as ExactJson;
    // JSON.parse keeps the last of repeated members: the number of colons outside texts is the number of written
    // members.
    return names === colons ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Members sorted by UTF-16 units, no white space, texts escaped where they must be, numbers as they were written. */
export function canonicalText(value: ExactJson): string {
  if (value instanceof NumberToken) return value.text;
  if (Array.isArray(value)) return `[${(value as readonly ExactJson[]).map(canonicalText).join(",")}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  const members = [...(value as ExactObject)]
    .sort(byName)
    .map(([name, each]) => `${JSON.stringify(name)}:${canonicalText(each)}`);
  return `{${members.join(",")}}`;
}

/** The order of members in canonical text; names are unique. */
export function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
