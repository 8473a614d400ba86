import { describe, expect, test } from "vitest";

import {
  compileListMatch,
  compileStringMatch,
  parseListMatch,
  parseStringMatch,
} from "../../../runtime/policy/match.ts";

const asIs = (text: string): string => text;

function problemsOf(parse: typeof parseStringMatch | typeof parseListMatch, value: unknown): string[] {
  const problems: string[] = [];
  const match = parse(value, "at", (path, message) => problems.push(`${path}: ${message}`));
  expect(match === undefined).toBe(problems.length > 0);
  return problems;
}

describe("compileStringMatch()", () => {
  const cases: readonly (readonly [match: unknown, subject: string, holds: boolean])[] = [
    ["search", "search", true],
    ["search", "Search", false],
    ["search", "search ", false],
    [{ is: "search" }, "search", true],
    [{ not: "search" }, "search", false],
    [{ not: "search" }, "", true],
    [{ contains: "repo" }, "delete_repo_now", true],
    [{ contains: "repo" }, "delete_REPO", false],
    [{ starts_with: "delete_" }, "delete_repo", true],
    [{ starts_with: "delete_" }, "undelete_repo", false],
    [{ ends_with: "_repo" }, "delete_repo", true],
    [{ ends_with: "_repo" }, "delete_repos", false],
    [{ in: ["a", "b"] }, "b", true],
    [{ in: ["a", "b"] }, "c", false],
    [{ in: [] }, "", false],
    [{ not_in: ["a", "b"] }, "b", false],
    [{ not_in: ["a", "b"] }, "c", true],
    [{ not_in: [] }, "anything", true],
    [{ starts_with: "get_", not_in: ["get_secret"] }, "get_user", true],
    [{ starts_with: "get_", not_in: ["get_secret"] }, "get_secret", false],
    [{ starts_with: "get_", ends_with: "_user" }, "get_repo", false],
    // Canonically equal, not the same code points: names are compared as they are.
    [{ is: "café" }, "cafe\u0301", false],
  ];
  test.each(cases)("%j evaluates %j as %s", (value, subject, holds) => {
    const match = parseStringMatch(value, "", () => {});
    expect(match && compileStringMatch(match, asIs)(subject)).toBe(holds);
  });

  test("folds the operands of every operator", () => {
    const lower = (text: string): string => text.toLowerCase();
    for (const value of ["A@B.C", { in: ["A@B.C"] }, { starts_with: "A@" }, { ends_with: "B.C" }, { contains: "@B" }]) {
      const match = parseStringMatch(value, "", () => {});
      expect(match && compileStringMatch(match, lower)("a@b.c")).toBe(true);
    }
  });
});

describe("parseStringMatch()", () => {
  test("expands shorthands and sorts sets", () => {
    expect(parseStringMatch("x", "", () => {})).toEqual({ is: "x" });
    expect(parseStringMatch({ not_in: ["b", "a", "b"], is: "x" }, "", () => {})).toEqual({
      is: "x",
      not_in: ["a", "b"],
    });
  });

  const refused: readonly (readonly [value: unknown, problem: string])[] = [
    [1, "at: is the number 1, must be text or an object with is, not, contains, starts_with, ends_with, in, not_in"],
    [null, "at: is empty, must be text or an object with"],
    [["a"], "at: is a list, must be text or an object with"],
    [{}, "at: has no operator"],
    [{ start_with: "a" }, 'at.start_with: unknown operator "start_with", did you mean "starts_with"?'],
    [{ IN: ["a"] }, 'at.IN: unknown operator "IN", did you mean "in"?'],
    [{ in: "a" }, 'at.in: is "a", must be a list of texts'],
    [{ not_in: ["a", 2] }, "at.not_in[1]: is the number 2, must be text"],
    [{ is: ["a"] }, "at.is: is a list, must be text"],
    [{ contains: "" }, "at.contains: is empty and would match everything"],
    [{ starts_with: "" }, "at.starts_with: is empty and would match everything"],
    [{ ends_with: "" }, "at.ends_with: is empty and would match everything"],
  ];
  test.each(refused)("rejects %j", (value, problem) => {
    const problems = problemsOf(parseStringMatch, value);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test("reports every problem together", () => {
    expect(problemsOf(parseStringMatch, { is: 1, in: "a", contains: "" })).toHaveLength(3);
  });
});

describe("compileListMatch()", () => {
  const cases: readonly (readonly [match: unknown, subject: readonly string[], holds: boolean])[] = [
    ["admin", ["admin", "dev"], true],
    ["admin", ["dev"], false],
    ["admin", [], false],
    [{ has: "admin" }, ["admin"], true],
    [{ is: "admin" }, ["admin"], true],
    [{ is: "admin" }, ["admin", "dev"], false],
    [{ is: "admin" }, [], false],
    [{ exclude: "admin" }, ["dev"], true],
    [{ exclude: "admin" }, ["dev", "admin"], false],
    [{ exclude: "admin" }, [], true],
    [{ has: "dev", exclude: "admin" }, ["dev", "admin"], false],
    [{ has: "dev", exclude: "admin" }, ["dev"], true],
  ];
  test.each(cases)("%j evaluates %j as %s", (value, subject, holds) => {
    const match = parseListMatch(value, "", () => {});
    expect(match && compileListMatch(match)(subject)).toBe(holds);
  });
});

test.each([
  [{ in: ["a"] }, 'at.in: unknown operator "in"'],
  [{ has: ["a"] }, "at.has: is a list, must be text"],
  [{ has: 5 }, "at.has: is the number 5, must be text"],
  [{ exclude: true }, "at.exclude: is the boolean true, must be text"],
  [5, "at: is the number 5, must be text or an object"],
  [["a"], "at: is a list"],
  [{}, "at: has no operator"],
])("parseListMatch() refuses %j", (value, problem) => {
  expect(problemsOf(parseListMatch, value)[0]).toContain(problem);
});

describe("parseListMatch() of claims", () => {
  test.each([
    [5, { has: "5" }],
    [true, { has: "true" }],
    [{ is: -1.5 }, { is: "-1.5" }],
    [{ exclude: false }, { exclude: "false" }],
  ])("takes %j by its text", (value, match) => {
    expect(parseListMatch(value, "", () => {}, true)).toEqual(match);
  });

  test.each([[2 ** 53], [Number.NaN], [Number.POSITIVE_INFINITY], [{ has: 2 ** 60 }], [null], [{ has: null }]])(
    "rejects %j",
    (value) => {
      const reported: string[] = [];
      expect(
        parseListMatch(value, "", (path, message) => void reported.push(`${path} ${message}`), true),
      ).toBeUndefined();
      expect(reported).toHaveLength(1);
      expect(reported[0]).toContain("must be text");
    },
  );
});
