/** One text for equal values; numbers verbatim where that is asked for. */
import { describe, expect, test } from "vitest";

import { canonicalJson, digestOf, parseVerbatim } from "../../../runtime/shared/canonical-json.ts";

const verbatim = (json: string): string => canonicalJson(parseVerbatim(json));

describe("canonicalJson()", () => {
  test("is one text whatever the order and the spaces", () => {
    expect(canonicalJson({ b: [1, { d: null, c: undefined, a: "é\n" }], a: true })).toBe(
      '{"a":true,"b":[1,{"a":"é\\n","d":null}]}',
    );
    expect(digestOf({ a: 1, b: 2 })).toBe(digestOf({ b: 2, a: 1 }));
    // SHA-256 of {"a":[true],"b":1}: digests are kept, and compared with those of other versions.
    expect(digestOf({ b: 1, a: [true] })).toBe("708747538ba81fd60b5aac8c646370de5e24abf70ab1872f67458a5a4f3af05d");
  });

  test("of parseVerbatim() keeps every number as it was written", () => {
    for (const number of ["9007199254740993", "0.30000000000000000001", "1e400", "-0", "1.0", "1e0", "1"])
      expect(verbatim(`{ "n": [ ${number} ] }`)).toBe(`{"n":[${number}]}`);
  });

  test("of parseVerbatim() writes texts one way, and sorts by UTF-16 units", () => {
    expect(verbatim('{"\\u0062":"\\u00e9\\/","a":"\\ud83d\\ude00","\\ud83d\\ude00":1,"\\ufb01":2}')).toBe(
      '{"a":"😀","b":"é/","😀":1,"ﬁ":2}',
    );
    expect(verbatim('{"__proto__":{"x":1},"constructor":2}')).toBe('{"__proto__":{"x":1},"constructor":2}');
  });
});
