/**
 * JSON in which nothing is lost: numbers stay as they were written, every text keeps its exact units, and a member that
 * stands twice is refused instead of one of them being chosen (`parseVerbatim` takes the last). For digests of what others wrote, and for showing it.
 *
 * Untrusted input: the text. Promises: texts with the same canonical form say the same to every reader of JSON, and two that
 * say something else have different ones (`1` and `1.0` count as different); time is linear but for the sorting of members,
 * depth is bounded. Pure.
 */
import { NumberToken } from "../canonical-json.ts";
import { MAX_JSON_DEPTH } from "./foreign-json.ts";

/** Objects are maps: no member's name means anything to this program. */
export type ExactJson = null | boolean | string | NumberToken | readonly ExactJson[] | ExactObject;
export type ExactObject = ReadonlyMap<string, ExactJson>;

/** How many values may still be read, over several texts: small ones take far more time than their bytes. */
export interface ValueBudget {
  values: number;
}

/** @returns undefined for what is no JSON, is deeper than 64, has a member twice, or more values than the budget */
export function parseExactJson(text: string, budget: ValueBudget = { values: Infinity }): ExactJson | undefined {
  try {
    const reader = new Reader(text, budget);
    const value = reader.value(0);
    return reader.isAtEnd() ? value : undefined;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
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

class Unreadable extends Error {}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// oxlint-disable-next-line no-control-regex -- exactly these must not stand in texts
const PLAIN_TEXT = /[^"\\\x00-\x1f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\n\r]*/y;
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

class Reader {
  readonly #text: string;
  readonly #budget: ValueBudget;
  #at = 0;

  constructor(text: string, budget: ValueBudget) {
    this.#text = text;
    this.#budget = budget;
  }

  value(depth: number): ExactJson {
    this.#budget.values -= 1;
    if (depth > MAX_JSON_DEPTH || this.#budget.values < 0) throw new Unreadable();
    this.#take(SPACE);
    const first = this.#text[this.#at];
    if (first === '"') return this.#textValue();
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return new NumberToken(this.#take(NUMBER));
  }

  isAtEnd(): boolean {
    this.#take(SPACE);
    return this.#at === this.#text.length;
  }

  #object(depth: number): ExactObject {
    const members = new Map<string, ExactJson>();
    this.#at += 1;
    if (this.#skips("}")) return members;
    do {
      this.#take(SPACE);
      const name = this.#textValue();
      if (members.has(name) || !this.#skips(":")) throw new Unreadable();
      members.set(name, this.value(depth + 1));
    } while (this.#skips(","));
    if (!this.#skips("}")) throw new Unreadable();
    return members;
  }

  #array(depth: number): readonly ExactJson[] {
    const items: ExactJson[] = [];
    this.#at += 1;
    if (this.#skips("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.#skips(","));
    if (!this.#skips("]")) throw new Unreadable();
    return items;
  }

  #textValue(): string {
    const start = this.#at;
    if (this.#text[start] !== '"') throw new Unreadable();
    this.#at += 1;
    let isEscaped = false;
    // Piece by piece: one pattern for all of a long text runs out of stack.
    for (;;) {
      this.#take(PLAIN_TEXT);
      if (this.#text[this.#at] === '"') break;
      this.#take(ESCAPE);
      isEscaped = true;
    }
    this.#at += 1;
    const token = this.#text.slice(start, this.#at);
    return isEscaped ? (JSON.parse(token) as string) : token.slice(1, -1);
  }

  #skips(char: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) throw new Unreadable();
    this.#at += found[0].length;
    return found[0];
  }
}
