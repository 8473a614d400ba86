import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ScanError } from "../../../runtime/mcp/scan-error.ts";
import { JsonScanner, spanText } from "../../../runtime/mcp/scan.ts";

/** "ok", or why the text was refused. */
function scan(text: string | Buffer, scanner = new JsonScanner()): string {
  try {
    scanner.start(typeof text === "string" ? Buffer.from(text) : text);
    scanner.skipValue();
    scanner.finish();
    return "ok";
  } catch (error) {
    if (error instanceof ScanError) return error.reason;
    throw error;
  }
}

/** The first text of a list. */
function firstText(bytes: Buffer, scanner: JsonScanner): string {
  scanner.start(bytes);
  scanner.openArray();
  return spanText(bytes, scanner.take());
}

/** More than are compared one with the other. */
const MANY_KEYS = Array.from({ length: 60 }, (_, index) => `"k${index}":1`).join(",");

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("JsonScanner grammar (RFC 8259)", () => {
  const good = [
    "0",
    "-0",
    "1.5",
    "1e9",
    "1E+9",
    "-1.25e-7",
    "123456789012345678901234567890",
    '""',
    '"a\\"b\\\\c\\/d\\b\\f\\n\\r\\t\\u00e9"',
    '"\\ud800"',
    '"é € 😀"',
    "true",
    "false",
    "null",
    "[]",
    "[ ]",
    "[1,2 , 3]",
    "{}",
    "{ }",
    ' \t\r\n{ "a" : [ { "b" : null } ] , "c" : "d" } \n',
    '{"":1}',
  ];
  test.each(good)("accepts %s", (text) => {
    expect(scan(text)).toBe("ok");
    expect(parses(text)).toBe(true);
  });

  const bad = [
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    '"',
    '"a',
    '"\\"',
    "{}{}",
    "{} x",
    "1 2",
    "[1,]",
    "[,1]",
    "[1 2]",
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1 "b":2}',
    '{"a"}',
    '{"a":}',
    "{a:1}",
    "{'a':1}",
    "'a'",
    "01",
    "-",
    "-01",
    "+1",
    "1.",
    ".5",
    "1.e5",
    "1e",
    "1e+",
    "0x10",
    "NaN",
    "Infinity",
    "undefined",
    "tru",
    "truE",
    "nul",
    "True",
    '"\\x41"',
    '"\\u12g4"',
    '"\\u12"',
    '"a\nb"',
    '"a\tb"',
    '"a\u0000b"',
    '{"a\nb":1}',
    "// comment\n{}",
    "{} // comment",
    "/* comment */ {}",
    "\u00a0{}",
    "\f{}",
    "\ufeff{}",
    '{"a":1}}',
    "[[1]",
    "[}",
    "{]",
    "[1}",
    '{"a":1]',
    '[{"a":[1}]]',
    '{"a":[1}',
    '[1,"a":2]',
    '[{"a":1},"b":2]',
    '{"a":[],1}',
  ];
  test.each(bad)("refuses %j", (text) => {
    expect(scan(text)).toBe("malformed-json");
    expect(parses(text)).toBe(false);
  });
});

describe("JsonScanner duplicate keys", () => {
  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":1}',
    '{"x":{"a":1,"a":2}}',
    '[{"x":[{"a":1,"a":2}]}]',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"\\u0061":1,"\\u0061":2}',
    '{"é":1,"\\u00e9":2}',
    '{"\\u00e9":1,"\\u00E9":2}',
    '{"a/b":1,"a\\/b":2}',
    '{"😀":1,"\\ud83d\\ude00":2}',
    '{"":1,"":2}',
    '{"a":{"b":{}},"c":1,"a":1}',
    '{"__proto__":1,"__proto__":2}',
    // Two keys with the same hash beside a real duplicate.
    '{"Aa":1,"BB":2,"Aa":3}',
    `{${Array.from({ length: 100 }, (_, index) => `"k${index}":1`).join(",")},"k7":2}`,
    `{${Array.from({ length: 100 }, (_, index) => `"k${index}":1`).join(",")},"k\\u0037":2}`,
    `{${Array.from({ length: 100 }, (_, index) => `"k${index}":1`).join(",")},"k99":2}`,
    // The same hash among many keys, then a real duplicate of one before it, of one behind it, and of itself.
    ...["k3", "k50", "last", "Aa", "BB"].map(
      (again) => `{${MANY_KEYS},"Aa":1,"BB":1,"last":{${MANY_KEYS},"Aa":1,"BB":1},"${again}":1}`,
    ),
  ])("are refused: %s", (text) => {
    expect(scan(text)).toBe("duplicate-key");
    expect(parses(text)).toBe(true);
  });

  test.each([
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":{"x":1},"b":{"x":1}}',
    '{"Aa":1,"BB":2}',
    '{"AaAa":1,"AaBB":2,"BBAa":3,"BBBB":4}',
    '{"a":1,"A":2}',
    '{"a":1,"a ":2,"a\\u0000":3}',
    `{${MANY_KEYS},"Aa":{${MANY_KEYS},"Aa":1},"b":{${MANY_KEYS}},"BB":{${MANY_KEYS},"Aa":1,"BB":1},"Aa ":1}`,
    `[{${Array.from({ length: 40 }, (_, index) => `"k${index}":{"k0":1}`).join(",")}},{"k0":1}]`,
  ])("differ from keys that only resemble them: %s", (text) => {
    expect(scan(text)).toBe("ok");
  });

  test("keys with lone surrogates are refused, pairs are not", () => {
    expect(scan('{"\\ud800":1}')).toBe("malformed-json");
    expect(scan('{"\\udc00\\ud800":1}')).toBe("malformed-json");
    expect(scan('{"\\ud83d\\ude00":1}')).toBe("ok");
  });
});

describe("JsonScanner limits", () => {
  test("64 levels pass, 65 do not, whatever they are made of", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const nested = (depth: number): string => open.repeat(depth) + "1" + close.repeat(depth);
      expect(scan(nested(64))).toBe("ok");
      expect(scan(nested(65))).toBe("too-deep");
      expect(scan(nested(100_000))).toBe("too-deep");
    }
  });

  test("10,000 members of open objects pass, more do not", () => {
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(",")}}`;
    expect(scan(members(10_000))).toBe("ok");
    expect(scan(members(10_001))).toBe("too-many-members");
    // Objects that are closed count no more.
    expect(scan(`[${Array.from({ length: 30 }, () => members(1000)).join(",")}]`)).toBe("ok");
  });

  test("time is linear in the number of keys, also of keys made to collide", () => {
    const collide = (bits: number): string =>
      Array.from({ length: 13 }, (_, bit) => ((bits >> bit) & 1 ? "Aa" : "BB")).join("");
    const text = Buffer.from(`{${Array.from({ length: 8000 }, (_, index) => `"${collide(index)}":0`).join(",")}}`);
    const start = process.cpuUsage();
    expect(scan(text)).toBe("ok");
    const { user } = process.cpuUsage(start);
    // The square of 8,000 comparisons would take far longer than this.
    expect(user).toBeLessThan(400_000);
  });

  test("a scanner that was refused in the middle reads the next text as if new", () => {
    const scanner = new JsonScanner();
    for (const text of [
      '{"a":{"b":[{"c":',
      `{${Array.from({ length: 30 }, (_, i) => `"a${i}":1`).join(",")},"a0":1}`,
      "[[[[",
    ]) {
      scanner.start(Buffer.from(text));
      expect(() => scanner.skipValue()).toThrow(ScanError);
    }
    scanner.start(Buffer.from('{"a0":{"a0":1},"b":1}'));
    scanner.skipValue();
    scanner.finish();
  });
});

describe("JsonScanner against JSON.parse", () => {
  test("whatever JSON.stringify writes is accepted", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const isWhole =
          Buffer.from(text).toString() === text &&
          !/"(?:[^"\\]|\\.)*\\ud[89a-f][0-9a-f]{2}(?:[^"\\]|\\.)*":/i.test(text);
        if (isWhole) expect(scan(text)).toBe("ok");
      }),
      { numRuns: 500 },
    );
  });

  test("whatever is accepted, JSON.parse accepts; whatever JSON.parse refuses is refused", () => {
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"b"',
      '"\\u0061"',
      '"',
      "\\",
      "1",
      "-",
      "0",
      ".",
      "e",
      "true",
      "null",
      " ",
      "\n",
      "\t",
      "é",
      "/",
      "x",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 14 }), (tokens) => {
        const text = tokens.join("");
        const outcome = scan(text);
        if (outcome === "ok") expect(parses(text)).toBe(true);
        if (!parses(text)) expect(outcome).not.toBe("ok");
        else expect(["ok", "duplicate-key"]).toContain(outcome);
      }),
      { numRuns: 20_000 },
    );
  });

  test("long texts end where JSON.parse ends them, whatever is at any place in them", () => {
    const inserted = ['"', "\\\\", '\\"', "\\", "\\u0041", "\n", "\u001f", "\0", " ", "é", "\u007f"];
    const scanner = new JsonScanner();
    for (const length of [0, 15, 16, 17, 271, 272, 273, 600])
      for (let at = 0; at <= length; at += at > 32 && at < length - 32 ? 7 : 1)
        for (const each of inserted) {
          const text = `["${"x".repeat(at)}${each}${"é".repeat(at % 3)}${"x".repeat(length - at)}","${"y".repeat(at)}"]`;
          // At any place in memory.
          const bytes = Buffer.from(`${"z".repeat(at % 4)}${text}`).subarray(at % 4);
          const isValid = parses(text);
          if (scan(bytes, scanner) !== (isValid ? "ok" : "malformed-json")) throw new Error(text);
          if (isValid && firstText(bytes, scanner) !== (JSON.parse(text) as string[])[0]) throw new Error(text);
        }
  });

  test("accepts a valid text with one changed byte exactly if JSON.parse does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), fc.integer({ min: 0x20, max: 0x7e }), (value, at, byte) => {
        const bytes = Buffer.from(JSON.stringify(value));
        bytes[at % bytes.length] = byte;
        const text = bytes.toString();
        if (!Buffer.from(text).equals(bytes)) return;
        const outcome = scan(bytes);
        if (outcome === "ok") expect(parses(text)).toBe(true);
        if (outcome === "malformed-json" && parses(text)) {
          // Only keys with lone surrogates are refused beyond the grammar.
          expect(text).toMatch(/\\ud[89a-f]/i);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
