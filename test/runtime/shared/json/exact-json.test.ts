import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { canonicalText, parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";

function canonical(text: string): string | undefined {
  const value = parseExactJson(text);
  return value === undefined ? undefined : canonicalText(value);
}

describe("canonicalText() of parseExactJson()", () => {
  test("a text of nothing but escapes, as long as any answer is, does not run out of stack", () => {
    expect(parseExactJson(`"${"\\ud800".repeat(1_400_000)}"`)).toHaveLength(1_400_000);
  });

  test.each([
    ['{"b":1.0e2, "a":[ "x\\u0041" ,null,true,{ }]}', '{"a":["xA",null,true,{}],"b":1.0e2}'],
    ['{"__proto__":{"__proto__":-0},"constructor":1}', '{"__proto__":{"__proto__":-0},"constructor":1}'],
    ['{"\u{1f600}":1,"\uffff":2,"é":3}', '{"é":3,"\u{1f600}":1,"\uffff":2}'],
    ['"\\/\\u002f\\u2028\\ud83d\\ude00"', '"//\u2028\u{1f600}"'],
    ['"\\ud800"', '"\\ud800"'],
    ["9007199254740993", "9007199254740993"],
    [" 1e400 ", "1e400"],
  ])("%s", (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  test.each([
    ["a member twice", '{"a":1,"a":1}'],
    ["a member twice, once in escapes", '{"a":1,"\\u0061":1}'],
    ["a member twice, far below", '[{"x":{"__proto__":1,"__proto__":2}}]'],
    ["a trailing comma", "[1,]"],
    ["a leading zero", "01"],
    ["a lone minus", "-"],
    ["nothing", ""],
    ["two values", "1 1"],
    ["a control in a text", '"\u0001"'],
    ["an unknown escape", '"\\x41"'],
    ["another white space", "\u00a01"],
    ["a byte order mark", "\ufeff1"],
    ["a word", "NaN"],
    ["a deep value", `${"[".repeat(66)}${"]".repeat(66)}`],
  ])("refuses %s", (_, text) => {
    expect(canonical(text)).toBeUndefined();
  });

  /** JSON of a value in one of many spellings: members in another order, white space, escapes. */
  function spell(value: unknown, seed: readonly number[]): string {
    let at = 0;
    const next = (bound: number): number => (seed[at++ % seed.length] ?? 0) % bound;
    const space = (): string => ["", " ", "\n\t", "\r"][next(4)] ?? "";
    const text = (each: string): string =>
      next(2) === 0
        ? JSON.stringify(each)
        : `"${each
            .split("")
            .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
            .join("")}"`;
    const write = (each: unknown): string => {
      if (typeof each === "string") return text(each);
      if (Array.isArray(each)) return `[${space()}${each.map(write).join(`${space()},`)}]`;
      if (typeof each !== "object" || each === null) return JSON.stringify(each);
      const members = Object.entries(each).map(
        ([name, member]) => `${text(name)}${space()}:${space()}${write(member)}`,
      );
      if (next(2) === 0) members.reverse();
      return `{${members.join(`,${space()}`)}${space()}}`;
    };
    return `${space()}${write(value)}${space()}`;
  }
  const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });
  const seeds = fc.array(fc.nat(), { minLength: 1, maxLength: 20 });

  test("is one text for all spellings of a value, and reads as that value", () => {
    fc.assert(
      fc.property(json, seeds, seeds, (value, one, other) => {
        const first = canonical(spell(value, one));
        expect(first).toBe(canonical(spell(value, other)));
        // JSON has no negative zero that JavaScript would write.
        expect(JSON.parse(first ?? "")).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed: 16, numRuns: 500 },
    );
  });

  test("differs for values that differ", () => {
    const small = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(small, small, (one, other) => {
        const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
        const isSame = isDeepStrictEqual(JSON.parse(first), JSON.parse(second));
        expect(canonical(first) === canonical(second)).toBe(isSame);
      }),
      { seed: 16, numRuns: 1000 },
    );
  });

  test("differs for numbers that are written differently, however near", () => {
    const digits = fc.string({ unit: fc.constantFrom("0", "1", "2", "5", "9"), minLength: 1, maxLength: 25 });
    const number = fc.tuple(digits, digits).map(([whole, part]) => `${whole.replace(/^0+(?=.)/, "")}.${part}`);
    fc.assert(
      fc.property(number, number, (one, other) => {
        expect(canonical(`{"a":${one}}`) === canonical(`{"a":${other}}`)).toBe(one === other);
      }),
      { seed: 16, numRuns: 500 },
    );
  });

  test("accepts exactly what JSON.parse accepts, except repeated members", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      '"b"',
      "1",
      "-",
      "0",
      "e5",
      ".",
      "true",
      " ",
      "\\",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
        const text = pieces.join("");
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const read = canonical(text);
        if (read !== undefined) expect(isJson).toBe(true);
        else if (isJson) expect(text).toMatch(/"(a|b)"[^]*"\1"/);
      }),
      { seed: 16, numRuns: 3000 },
    );
  });
});
