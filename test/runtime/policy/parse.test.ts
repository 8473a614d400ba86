import { describe, expect, test } from "vitest";

import { canonicalPolicy, parsePolicy } from "../../../runtime/policy/parse.ts";
import type { CriterionDoc, PolicyDoc } from "../../../runtime/policy/parse.ts";

function problemsOf(value: unknown): string[] {
  const parsed = parsePolicy(value);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("parsePolicy()", () => {
  test.each<[string, unknown]>([
    ["one rules object", { allow: { or: [{ domain: { is: "example.com" } }] } }],
    ["a list of rules", [{ allow: { and: [{ groups: { has: "admin" } }] } }, { deny: { or: [{ mcp_tool: "x" }] } }]],
    [
      "rules in shadow",
      [
        { shadow: true, deny: { or: [{ mcp_tool: "x" }] } },
        { shadow: false, allow: {} },
      ],
    ],
    ["an empty list", []],
    ["an empty object", {}],
    ["empty operators", { allow: { and: [] } }],
    [
      "criteria without data",
      { allow: { or: [{ accept: true }, { authenticated_user: null }, { reject: {} }, { accept: 1 }] } },
    ],
    ["addresses", { allow: { or: [{ source_ip: "10.0.0.0/8" }, { source_ip: ["::1", "192.0.2.1"] }] } }],
    ["claims with slashes in their path", { allow: { or: [{ "claim/https://example.com/role": "lead" }] } }],
  ])("accepts %s", (_, value) => {
    expect(parsePolicy(value)).toEqual({ ok: true, policy: value });
  });

  test.each<[unknown, string]>([
    [undefined, ": is empty, must be an object with allow, deny"],
    ["allow", ': is "allow", must be an object with allow, deny'],
    [{ alow: {} }, 'alow: unknown action "alow", did you mean "allow"?'],
    [[{}, { block: {} }], '[1].block: unknown action "block", must be one of allow, deny'],
    [[{ shadow: "yes" }], '[0].shadow: is "yes", must be true or false'],
    [{ shadow: null }, "shadow: is empty, must be true or false"],
    [{ allow: { shadow: true } }, 'allow.shadow: unknown operator "shadow"'],
    [{ allow: [] }, "allow: is a list, must be an object with and, or, not, nor"],
    [{ allow: null }, "allow: is empty, must be an object with and, or, not, nor"],
    [{ allow: { xor: [] } }, 'allow.xor: unknown operator "xor", did you mean "or"?'],
    [{ allow: { and: {} } }, "allow.and: is an object, must be a list of criteria"],
    [{ allow: { and: ["accept"] } }, 'allow.and[0]: is "accept", must be an object with exactly one criterion'],
    [{ allow: { and: [{}] } }, "allow.and[0]: has 0 keys, must be an object with exactly one criterion"],
    [{ allow: { and: [{ email: "a", domain: "b" }] } }, "allow.and[0]: has 2 keys"],
    [
      { deny: { or: [{ mcp_tools: "x" }] } },
      'deny.or[0].mcp_tools: unknown criterion "mcp_tools", did you mean "mcp_tool"?',
    ],
    [{ deny: { or: [{ mcp_tool: { matches: "x" } }] } }, 'deny.or[0].mcp_tool.matches: unknown operator "matches"'],
    [{ deny: { or: [{ "mcp_tool/x": "x" }] } }, "deny.or[0].mcp_tool/x: takes no path"],
    [{ allow: { or: [{ claim: "x" }] } }, "allow.or[0].claim: has no path"],
    [{ allow: { or: [{ "claim/": "x" }] } }, "allow.or[0].claim/: has no path"],
    [{ allow: { or: [{ accept: false }] } }, "allow.or[0].accept: is the boolean false, must be true"],
    [{ allow: { or: [{ accept: { is: true } }] } }, "allow.or[0].accept: is an object, must be true"],
    [
      { allow: { or: [{ source_ip: "10.1" }] } },
      'allow.or[0].source_ip: is "10.1", must be an IP address or CIDR range',
    ],
    [{ allow: { or: [{ source_ip: "010.0.0.1" }] } }, "must be an IP address or CIDR range"],
    [{ allow: { or: [{ source_ip: ["10.0.0.0/33"] }] } }, "allow.or[0].source_ip[0]: "],
    [{ allow: { or: [{ source_ip: "10.0.0.0/" }] } }, "must be an IP address or CIDR range"],
    [{ allow: { or: [{ source_ip: [] }] } }, "allow.or[0].source_ip: is an empty list"],
    [
      { allow: { or: [{ source_ip: 10 }] } },
      "allow.or[0].source_ip: is the number 10, must be an IP address or CIDR range",
    ],
    [{ allow: { or: [{ source_ip: ["10.0.0.1:80"] }] } }, 'allow.or[0].source_ip[0]: is "10.0.0.1:80", must be'],
    [{ allow: { or: [{ __proto__: null, constructor: "x" }] } }, 'unknown criterion "constructor"'],
  ])("refuses %j", (value, problem) => {
    const problems = problemsOf(value);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  test("reports all problems at once, each with its path", () => {
    const value = [{ allow: { and: [{ emial: "a" }, { domain: { in: "x" } }] }, dney: {} }, 7];
    expect(problemsOf(value).map((problem) => problem.split(": ")[0])).toEqual([
      "[0].dney",
      "[0].allow.and[0].emial",
      "[0].allow.and[1].domain.in",
      "[1]",
    ]);
  });
});

describe("cost limits of one policy", () => {
  const heavy = (index: number): string => `(?:[a-z]{1,30}[0-9a-z]{1,30}){1,6}!${index}`;
  const about = (tool: unknown, index: number): CriterionDoc => ({
    mcp_tool_argument: { tool, argument: "/q", matches: heavy(index) },
  });
  const problemsIn = (criteria: readonly CriterionDoc[]): string[] => problemsOf({ deny: { or: criteria } });

  test("patterns are counted by tool, and the first one over the limit is named, once", () => {
    const one = [about("a", 0), about("a", 1), about("b", 2), about({ in: ["b", "c"] }, 3)];
    expect(problemsIn(one)).toEqual([]);
    expect(problemsIn([...one, about("b", 4), about("b", 5), about("b", 6)])).toEqual([
      expect.stringMatching(
        /^deny\.or\[4\]\.mcp_tool_argument: is one pattern too many: all patterns for one tool have 2[0-9]{3} instructions together, must have at most 2000/,
      ),
    ]);
    // Any tool may be meant.
    expect(problemsIn([...one.slice(2), about({ starts_with: "d" }, 4)])).toHaveLength(1);
  });

  test("a list and its elements count together", () => {
    const match = { tool: "a", argument: "/q", some: { matches: heavy(0) }, every: { matches: heavy(1) } };
    expect(problemsIn([{ mcp_tool_argument: match }])).toEqual([]);
    expect(problemsIn([{ mcp_tool_argument: match }, about("a", 2)])).toHaveLength(1);
  });

  test("5,000 criteria", () => {
    const rules = (length: number): CriterionDoc[] => Array.from({ length }, (_, index) => ({ user: `u${index}` }));
    expect(problemsIn(rules(5000))).toEqual([]);
    expect(problemsIn(rules(5001))).toEqual([
      ': has 5001 criteria, must have at most 5000; many values fit into one "in"',
    ]);
  });
});

describe("canonicalPolicy()", () => {
  const canonical: PolicyDoc = [
    {
      allow: { and: [{ email: { is: "a@b.c" } }, { groups: { has: "admin" } }] },
      deny: { or: [{ mcp_tool: { not_in: ["a", "b"] } }] },
    },
  ];

  test.each<[string, PolicyDoc]>([
    ["itself", canonical],
    [
      "one object with shorthands, keys and sets in another order, and empty lists",
      {
        deny: { or: [{ mcp_tool: { not_in: ["b", "a", "b"] } }], and: [] },
        allow: { nor: [], and: [{ email: "a@b.c" }, { groups: "admin" }] },
      },
    ],
    ["additional rules without effect", [{}, ...canonical, { allow: { or: [] } }]],
  ])("is one spelling for %s", (_, doc) => {
    expect(JSON.stringify(canonicalPolicy(doc))).toBe(JSON.stringify(canonical));
  });

  test("keeps the order of criteria and parses again", () => {
    const doc: PolicyDoc = {
      allow: { or: [{ user: "b" }, { user: "a" }, { source_ip: ["::1", "10.0.0.1"] }, { accept: null }] },
    };
    const once = canonicalPolicy(doc);
    expect(once).toEqual([
      {
        allow: {
          or: [
            { user: { is: "b" } },
            { user: { is: "a" } },
            { source_ip: ["10.0.0.1/32", "::1/128"] },
            { accept: true },
          ],
        },
      },
    ]);
    expect(parsePolicy(once).ok).toBe(true);
    expect(canonicalPolicy(once)).toEqual(once);
  });
});
