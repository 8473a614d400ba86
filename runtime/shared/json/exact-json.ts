/**
 * JSON in which nothing is lost: numbers stay as they were written, every text keeps its exact units, and a member that
 * stands twice is refused instead of one of them being chosen (`parseVerbatim` takes the last). For digests of what others wrote, and for showing it.
 *
 * Untrusted input: the text. Promises: texts with the same canonical form say the same to every reader of JSON, and two that
 * say something else have different ones (`1` and `1.0` count as different); time is linear but for the sorting of members,
 * depth is bounded. Pure.
 */
import { NumberToken, parseNumbers } from "../canonical-json.ts";
import { MAX_JSON_DEPTH, measureJson } from "./foreign-json.ts";

/** Objects are maps: no member's name means anything to this program. */
export type ExactJson = null | boolean | string | NumberToken | readonly ExactJson[] | ExactObject;
export type ExactObject = ReadonlyMap<string, ExactJson>;

/** How many values may still be read, over several texts: small ones take far more time than their bytes. */
export interface ValueBudget {
  values: number;
}

/** @returns undefined for what is no JSON, is deeper than 64, has a member twice, or more values than the budget */
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
    // JSON.parse keeps the last of repeated members: there are as many colons outside texts as members were written.
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

/** The order of members in canonical text; every name stands once. */
export function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
