import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePatterns, literalBeginning, parsePathPattern } from "../../../runtime/config/path-pattern.ts";
import { compilePathRewrite } from "../../../runtime/config/path-rewrite.ts";

describe("literalBeginning()", () => {
  test.each([
    ["/team/[a-z]+/x", "/team"],
    ["^/a/b/.*$", "/a/b"],
    ["/a/b", "/a"],
    ["/a/b?/c", "/a"],
    ["/a/b/?", "/a"],
    ["/a/b{2}/c", "/a"],
    [String.raw`/a\.b/c`, "/a.b"],
    ["/a|/b/c", ""],
    ["/a/(b|c)/d", "/a"],
    ["/a/(?:b|c)/d|/x", ""],
    ["/a/[(]b|/c", ""],
    ["/a/[]|]/c|/d", ""],
    ["/a/[]|(]/c", "/a"],
    ["/a/[[:alpha:]|]/c", "/a"],
    ["(?i)/a/b", ""],
    [".*", ""],
    [String.raw`/a/\Q|\E`, ""],
  ])("%s → %j", (pattern, beginning) => {
    expect(literalBeginning(pattern)).toBe(beginning);
  });

  test("is a beginning of every path that the pattern matches", () => {
    const piece = fc.constantFrom(
      "/",
      "a",
      "b",
      ".",
      "*",
      "+",
      "?",
      "|",
      "(",
      ")",
      "[",
      "]",
      "^",
      "\\",
      "{2}",
      "$",
      "-",
    );
    const path = fc
      .array(fc.constantFrom("/", "a", "b", ".", "-", "["), { maxLength: 6 })
      .map((chars) => `/${chars.join("")}`);
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 10 }),
        fc.array(path, { minLength: 5, maxLength: 20 }),
        (pieces, paths) => {
          const pattern = `/${pieces.join("")}`;
          let matches: (path: string) => boolean;
          try {
            const compiled = parsePathPattern(pattern);
            matches = (text) => compiled.matches(text);
          } catch {
            return;
          }
          const beginning = literalBeginning(pattern);
          for (const text of paths) {
            if (!matches(text)) continue;
            expect(text === beginning || text.startsWith(`${beginning}/`)).toBe(true);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe("compilePatterns()", () => {
  test("matches whole paths and tells the first of several", () => {
    const find = compilePatterns(["/a/.*", "/a/b", "/[a-z]+"]);
    expect(["/a/b", "/a/", "/abc", "/a/b/c", "/A", "x/abc", "/abc/"].map(find)).toEqual([
      0,
      0,
      2,
      0,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("alternatives at the top are anchored too", () => {
    const find = compilePatterns(["/a|/b"]);
    expect(["/a", "/b", "/ax", "x/b"].map(find)).toEqual([0, 0, undefined, undefined]);
  });

  test.each([["(/a+)+"], ["(a|a)*b"], ["/(.*)*x"], ["(.*a){12}b"]])(
    "%s is linear on what makes backtracking engines hang",
    (pattern) => {
      const find = compilePatterns([pattern]);
      const started = performance.now();
      for (let round = 0; round < 5; round += 1) find(`/${"a".repeat(2000)}${round}!`);
      expect(performance.now() - started).toBeLessThan(2000);
    },
  );
});

describe("compilePathRewrite()", () => {
  test.each([
    ["one", "two", "/xxx/one/yyy/one/zzz", "/xxx/two/yyy/two/zzz"],
    ["^/service/([^/]+)(/.*)$", String.raw`\2/instance/\1`, "/service/foo/v1/api", "/v1/api/instance/foo"],
    ["(?i)/xxx/", "/yyy/", "/aaa/XxX/bbb", "/aaa/yyy/bbb"],
    ["b*", "x", "/abc", "x/xaxcx"],
    ["^/only$", "/other", "/more", "/more"],
    ["^/(a)?.*$", String.raw`/x\1`, "/b", "/x"],
  ])("%s by %s: %s → %s", (pattern, substitution, path, rewritten) => {
    expect(compilePathRewrite(pattern, substitution)(path)).toBe(rewritten);
  });

  test("gives up on what grows too long", () => {
    expect(compilePathRewrite("a", "aaaaaaaaaaaaaaaaaaaa")(`/${"a".repeat(1000)}`)).toBeUndefined();
    expect(compilePathRewrite("a", "b")(`/${"a".repeat(3000)}`)).toBeUndefined();
  });
});
