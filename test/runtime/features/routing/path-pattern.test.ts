import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePatterns, parsePathPattern, startOf } from "../../../../runtime/features/routing/path-pattern.ts";
import { crowdedPatterns, patternWork } from "../../../../runtime/features/routing/pattern-conflicts.ts";
import { compilePathRewrite } from "../../../../runtime/features/routing/path-rewrite.ts";

describe("startOf()", () => {
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
  ])("%s begins with the segments %j", (pattern, beginning) => {
    expect(startOf(pattern).beginning).toBe(beginning);
  });

  test.each([
    ["/team/[a-z]+/x", "/", "[a-z]+/x"],
    ["^/team-7-[a-z]+$", "/team-7-", "[a-z]+$"],
    ["/a/v[0-9]+", "/v", "[0-9]+"],
    ["/a/b", "/b", ""],
    ["/a/b?/c", "/", "b?/c"],
    [String.raw`/a\.b.*`, "/a.b", ".*"],
    ["/a/[^/]+", "/", "[^/]+"],
    [".*", "", ".*"],
    // What looks at the text before it means something else without it.
    ["/a^/b", "/a", undefined],
    ["/a(^|x)b", "/a", undefined],
    [String.raw`/a\b.*`, "/a", undefined],
    [String.raw`/a\Bb`, "/a", undefined],
    [String.raw`/a(\A|b)`, "/a", undefined],
    [String.raw`/a([b\Q])`, "/a", undefined],
    ["/a|/b/c", "", undefined],
    // A quantifier behind flags is about the character before them.
    ["/b(?)?", "/", "b(?)?"],
    ["/ab(?i)+c", "/a", "b(?i)+c"],
    ["/(?){2}", "", "/(?){2}"],
  ])("%s goes on with %j, then %j", (pattern, stem, rest) => {
    expect(startOf(pattern)).toMatchObject({ stem, rest });
  });

  test("the split parts match the same as the whole pattern", () => {
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
      "\\b",
      "(?:^|a)",
      "(?i)",
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
          const { beginning, stem, rest } = startOf(pattern);
          const find = rest === undefined ? undefined : compilePatterns([rest]);
          for (const text of paths) {
            const fixed = beginning + stem;
            if (matches(text)) {
              expect(text === beginning || text.startsWith(`${beginning}/`)).toBe(true);
              expect(text.startsWith(fixed)).toBe(true);
            }
            if (!find) continue;
            expect(text.startsWith(fixed) && find(text.slice(fixed.length)) === 0).toBe(matches(text));
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe("compilePatterns()", () => {
  test("matches whole paths and returns the first of several", () => {
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

  test("alternatives at the top are also anchored", () => {
    const find = compilePatterns(["/a|/b"]);
    expect(["/a", "/b", "/ax", "x/b"].map(find)).toEqual([0, 0, undefined, undefined]);
  });

  test.each([["(/a+)+"], ["(a|a)*b"], ["/(.*)*x"], ["(.*a){12}b"]])(
    "%s is linear on input that makes backtracking engines hang",
    (pattern) => {
      const find = compilePatterns([pattern]);
      const started = performance.now();
      for (let round = 0; round < 5; round += 1) find(`/${"a".repeat(2000)}${round}!`);
      expect(performance.now() - started).toBeLessThan(2000);
    },
  );
});

describe("crowdedPatterns()", () => {
  const crowded = (...patterns: readonly (readonly [host: string, regex: string])[]): readonly string[] =>
    [...crowdedPatterns(patterns.map(([host, regex]) => ({ ...patternWork(regex), host, owner: undefined })))].map(
      ({ regex }) => regex,
    );

  test("adds up the patterns that one path may be matched against, along all its prefixes", () => {
    const nested = ["/a/.{900}", "/a/b/.{900}", "/a/b/c/.{900}", "/a/b/c/d/.{900}"].map((each) => ["h", each] as const);
    expect(crowded(...nested.slice(0, 2))).toEqual([]);
    expect(crowded(...nested)).toEqual(["/a/b/c/.{900}"]);
    expect(crowded(...nested.toReversed())).toEqual(["/a/b/c/.{900}"]);
    expect(crowded(["h", ".{900}x"], ["h", "/p-.{900}"], ["h", "/p-q.{900}"])).toEqual(["/p-q.{900}"]);
  });

  test("patterns of which no path can match two are not too many, in any number", () => {
    const many = Array.from({ length: 3_000 }, (_, index) => ["h", `/team-${index}-.{200}`] as const);
    expect(crowded(...many)).toEqual([]);
    expect(crowded(["h", "/a.{900}"], ["h", "/b.{900}"], ["h", "/c.{900}"])).toEqual([]);
    expect(crowded(["h", ".{900}"], ["i", ".{900}"], ["j", ".{900}"])).toEqual([]);
  });

  test("adds up across wildcard hosts, which fall back to each other", () => {
    const hosts = ["*.example.com", "*.b.example.com", "*.a.b.example.com"] as const;
    const alike = hosts.map((host) => [host, `/${"x".repeat(host.length)}?.{900}`] as const);
    expect(crowded(...alike)).toHaveLength(1);
    expect(crowded(...alike.toReversed())).toHaveLength(1);
    expect(crowded(...alike.slice(0, 2))).toEqual([]);
    // Of which no path meets more than two.
    expect(crowded(...hosts.map((host, index) => [host, `/${index}/.{900}`] as const))).toEqual([]);
    // Neither beside each other, nor on other ports, nor of hosts that are named and fall back on nothing.
    expect(crowded(...["*.a.com", "*.b.com", "*.c.com"].map((host) => [host, ".{900}"] as const))).toEqual([]);
    expect(crowded(...["*.a.com:1", "*.b.a.com:2", "*.c.b.a.com:3"].map((host) => [host, ".{900}"] as const))).toEqual(
      [],
    );
    expect(crowded(...["a.com", "*.b.a.com", "b.a.com"].map((host) => [host, ".{900}"] as const))).toEqual([]);
  });

  test("counts patterns that only match whole paths where they are tried", () => {
    const looking = ["x", "y", "z"].map((text) => ["h", String.raw`/a/${text}\b.{900}`] as const);
    expect(crowded(...looking)).toHaveLength(1);
  });
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

  test("rejects results that grow too long", () => {
    expect(compilePathRewrite("a", "aaaaaaaaaaaaaaaaaaaa")(`/${"a".repeat(1000)}`)).toBeUndefined();
    expect(compilePathRewrite("a", "b")(`/${"a".repeat(3000)}`)).toBeUndefined();
  });
});
