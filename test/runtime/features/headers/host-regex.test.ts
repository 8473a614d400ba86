import { describe, expect, test } from "vitest";

import { compileHostRegex } from "../../../../runtime/features/headers/host-regex.ts";

describe("compileHostRegex()", () => {
  test.each([
    // The example of the requirements.
    ["^/(.+)/.+$", "\\1", "/host.internal/rest", "host.internal"],
    ["^/([^/]+).*$", "\\1.internal:8080", "/team/a/b", "team.internal:8080"],
    ["^/([a-z]+)/([a-z]+).*$", "\\2.\\1", "/a/b/c", "b.a"],
    ["^(/[a-z]+)$", "h\\0", "/abc", "h/abc"],
    ["^/.*$", "$1 \\\\", "/abc", "$1 \\"],
    // Only the first match is replaced.
    ["/", "-", "/a/b", "-a/b"],
    ["^/(a)?.*$", "x\\1", "/b", "x"],
  ])("pattern %s, substitution %s, path %s: %s", (pattern, substitution, path, host) => {
    expect(compileHostRegex(pattern, substitution)(path)).toBe(host);
  });

  test("returns undefined if nothing matches", () => {
    expect(compileHostRegex("^/only$", "x")("/other")).toBeUndefined();
  });

  test("stays linear on input that makes backtracking engines hang", () => {
    const apply = compileHostRegex("^(/a+)+$", "x");
    const started = performance.now();

    apply(`/${"a".repeat(2000)}!`);

    expect(performance.now() - started).toBeLessThan(2000);
  });

  test("matches no path longer than 2,048 characters, so that no client can make it slow", () => {
    const apply = compileHostRegex("^/a*$", "x");

    expect(apply(`/${"a".repeat(2047)}`)).toBe("x");
    expect(apply(`/${"a".repeat(2048)}`)).toBeUndefined();
  });

  test.each(["(", "(?=a)", "(?<!a)b", "\\1", "a{99999}", "[a-z]{500}".repeat(50)])(
    "rejects the pattern %j",
    (pattern) => {
      expect(() => compileHostRegex(pattern, "x")).toThrow(TypeError);
    },
  );

  test.each(["\\", "\\k", "a\\n"])("refuses the substitution %j", (substitution) => {
    expect(() => compileHostRegex("a", substitution)).toThrow(TypeError);
  });
});
