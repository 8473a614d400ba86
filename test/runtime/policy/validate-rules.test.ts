import { describe, expect, test } from "vitest";

import { policyWarnings, validatePolicy } from "../../../runtime/policy/validate-rules.ts";
import { parsePolicy, type PolicyDoc } from "../../../runtime/policy/parse.ts";

function problemsOf(policy: unknown): readonly string[] {
  const parsed = parsePolicy(policy);
  if (!parsed.ok) throw new Error(`Does not parse: ${JSON.stringify(parsed.problems)}`);
  return validatePolicy(parsed.policy).map(({ path, message }) => `${path}: ${message}`);
}

const x = "a@example.com";

describe("validatePolicy() rejects a rule that can never match", () => {
  test.each<readonly [title: string, policy: PolicyDoc, place: string]>([
    ["an empty and", { allow: { and: [] } }, "allow.and"],
    ["an empty action", { deny: {} }, "deny"],
    ["empty rules", [{ allow: { and: [{ email: x }] } }, {}], "[1]"],
    ["two e-mail addresses at once", { allow: { and: [{ email: x }, { email: "b@example.com" }] } }, "allow.and"],
    [
      "is and not of one text, in another case",
      { allow: { and: [{ email: { is: x, not: x.toUpperCase() } }] } },
      "allow.and[0].email",
    ],
    [
      "is that does not begin like starts_with",
      { allow: { or: [{ user: { is: "ab", starts_with: "b" } }] } },
      "allow.or[0].user",
    ],
    [
      "in without its not_in",
      { deny: { or: [{ mcp_tool: { in: ["a"], not_in: ["a", "b"] } }] } },
      "deny.or[0].mcp_tool",
    ],
    ["in of nothing", { deny: { or: [{ mcp_tool: { in: [] } }] } }, "deny.or[0].mcp_tool"],
    ["an address outside of its domain", { allow: { and: [{ email: x }, { domain: "example.org" }] } }, "allow.and"],
    ["a domain with an @", { allow: { or: [{ domain: `@example.com` }] } }, "allow.or[0].domain"],
    ["a path without slash", { allow: { or: [{ http_path: { starts_with: "admin" } }] } }, "allow.or[0].http_path"],
    ["a path with a query", { deny: { or: [{ http_path: "/admin?x=1" }] } }, "deny.or[0].http_path"],
    ["a group that is excluded", { allow: { and: [{ groups: "a" }, { groups: { exclude: "a" } }] } }, "allow.and"],
    [
      "a claim with operators against each other",
      { allow: { or: [{ "claim/a": { has: "x", exclude: "x" } }] } },
      "allow.or[0].claim/a",
    ],
    ["only two groups", { allow: { and: [{ groups: { is: "a" } }, { groups: { is: "b" } }] } }, "allow.and"],
    ["reject among all", { allow: { and: [{ reject: true }, { email: x }] } }, "allow.and"],
    ["none of everybody", { allow: { not: [{ accept: true }] } }, "allow.not"],
    ["a deny rule of reject", { deny: { or: [{ reject: true }] } }, "deny.or"],
    [
      "a preflight with another method",
      { allow: { and: [{ cors_preflight: true }, { http_method: "GET" }] } },
      "allow.and",
    ],
    [
      "a valid certificate that is invalid",
      { deny: { and: [{ client_certificate: { san_dns: "a" } }, { invalid_client_certificate: true }] } },
      "deny.and",
    ],
  ])("%s", (_, policy, place) => {
    const found = problemsOf(policy);

    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${place.replaceAll(/[[\]./]/g, "\\$&")}: .*(never|empty)`));
  });
});

describe("validatePolicy() rejects a rule that always matches", () => {
  test.each<readonly [title: string, policy: PolicyDoc, place: string, says: string]>([
    ["deny accept", { deny: { and: [{ accept: true }] } }, "deny.and", "all are denied"],
    [
      "accept next to criteria that it makes redundant",
      { allow: { or: [{ accept: true }, { email: x }] } },
      "allow.or",
      "matches every request",
    ],
    ["none of nobody", { allow: { not: [{ reject: true }] } }, "allow.not", "matches every request"],
    [
      "not all of a contradiction",
      { allow: { nor: [{ email: x }, { email: "b@c" }] } },
      "allow.nor",
      "matches every request",
    ],
    [
      "an address and every other one",
      { allow: { or: [{ email: x }, { email: { not: x } }] } },
      "allow.or",
      "matches every request",
    ],
    [
      "a group and its absence",
      { deny: { or: [{ groups: "a" }, { groups: { exclude: "a" } }] } },
      "deny.or",
      "all are denied",
    ],
    ["not_in of nothing", { deny: { or: [{ mcp_tool: { not_in: [] } }] } }, "deny.or[0].mcp_tool", "excludes nothing"],
  ])("%s", (_, policy, place, says) => {
    const found = problemsOf(policy);

    expect(found).toHaveLength(1);
    expect(found[0]?.startsWith(`${place}: `)).toBe(true);
    expect(found[0]).toContain(says);
  });
});

describe("operands that never occur", () => {
  const OPERANDS: readonly (readonly [criterion: object, meant: string])[] = [
    [{ mcp_tool: "delete_*" }, 'use { starts_with: "delete_" }'],
    [{ mcp_tool: { in: ["read", "*_repo"] } }, 'use { ends_with: "_repo" }'],
    [{ mcp_tool: { is: "*secret*", fold_case: true } }, 'use { contains: "secret" }'],
    [{ mcp_tool: "del*_repo" }, 'use { starts_with: "del", ends_with: "_repo" }'],
    [{ mcp_tool: "*" }, "leave the criterion out"],
    [{ mcp_tool: { starts_with: "delete_*" } }, 'use { starts_with: "delete_" }'],
    [{ mcp_tool_argument: { tool: "pay_*", argument: "/a", gt: 1 } }, 'use { starts_with: "pay_" }'],
    [{ mcp_prompt: "sum*" }, 'use { starts_with: "sum" }'],
    [{ mcp_resource: "file:///etc/*" }, 'use { starts_with: "file:///etc/" }'],
    [{ http_path: "/admin/*" }, 'use { starts_with: "/admin/" }'],
    [{ domain: "*.evil.com" }, 'use { ends_with: ".evil.com" }, and "evil.com" for the domain itself'],
    [{ domain: { ends_with: "*.evil.com" } }, 'use { ends_with: ".evil.com" }'],
    [{ domain: "https://evil.com" }, 'must be the part of an address after the "@"'],
    [{ email: "mallory" }, '{ starts_with: "mallory@" }'],
    [{ email: { in: ["*@evil.com"] } }, 'use { domain: "evil.com" }'],
    [{ groups: { has: "" } }, "must be a name"],
    [{ user: "" }, "must be a name"],
  ];

  test.each(OPERANDS)(
    "are errors under deny and warnings under allow, and name the intention: %j",
    (criterion, meant) => {
      const [key] = Object.keys(criterion);
      for (const operator of ["and", "or", "not", "nor"] as const) {
        const denied = problemsOf({ deny: { [operator]: [criterion] } });
        expect(denied).toHaveLength(1);
        expect(denied[0]).toContain(`deny.${operator}[0].${key}: `);
        expect(denied[0]).toContain(meant);
      }
      const doc = [{ allow: { and: [criterion, { authenticated_user: true }] } }] as PolicyDoc;
      expect(problemsOf(doc)).toEqual([]);
      const [warning, ...more] = policyWarnings(doc);
      expect([warning?.path, more]).toEqual([`[0].allow.and[0].${key}`, []]);
      expect(warning?.message).toContain(meant);
    },
  );

  test("are errors under allow if they admit all others", () => {
    for (const policy of [
      { allow: { not: [{ mcp_tool: "delete_*" }] } },
      { allow: { and: [{ mcp_tool: { not: "delete_*" } }] } },
      { allow: { and: [{ mcp_tool: { not_in: ["delete_*"] } }] } },
      { allow: { and: [{ groups: { exclude: "" } }] } },
      { allow: { nor: [{ domain: "*.evil.com" }, { email: "a@b.example" }] } },
    ])
      expect(problemsOf(policy)).toHaveLength(1);
    expect(policyWarnings({ allow: { not: [{ mcp_tool: "delete_*" }] } })).toEqual([]);
  });

  test.each([
    { mcp_tool: { contains: "*" } },
    { mcp_tool: { starts_with: "*a" } },
    { http_path: "/a*b" },
    { mcp_resource: "file:///a*b" },
    { domain: "" },
    { email: "" },
    { email: { starts_with: "mallory" } },
    { email: { contains: "+" } },
    { "claim/level": "*" },
    { "claim/level": "" },
    { groups: "a*" },
    { mcp_tool: "${TfToken[TOKEN.1]}*" },
  ])("are not what may occur: %j", (criterion) => {
    expect(problemsOf({ deny: { or: [criterion] } })).toEqual([]);
    expect(policyWarnings({ allow: { or: [criterion] } })).toEqual([]);
  });
});

test.each<readonly [title: string, policy: PolicyDoc]>([
  ["a policy that is plainly closed", []],
  ["a public route, said plainly", { allow: { or: [{ accept: true }] } }],
  [
    "a list of allowed tools",
    { allow: { and: [{ domain: "example.com" }] }, deny: { or: [{ mcp_tool: { not_in: ["a"] } }] } },
  ],
  ["all tools, but not all messages", { deny: { or: [{ mcp_tool: "a" }, { mcp_tool: { not: "a" } }] } }],
  ["several users", { allow: { or: [{ email: x }, { email: "b@example.com" }] } }],
  ["both of two groups", { allow: { and: [{ groups: "a" }, { groups: "b" }] } }],
  ["one group, not another", { allow: { and: [{ groups: "a" }, { groups: { exclude: "b" } }] } }],
  ["all but two", { allow: { and: [{ email: { not: x } }, { email: { not: "b@example.com" } }] } }],
  ["an empty `or` next to another operator", { allow: { and: [{ email: x }], or: [] } }],
  ["a value that only Terraform knows", { allow: { and: [{ http_path: "${TfToken[TOKEN.1]}" }] } }],
])("judgePolicy() takes %s", (_, policy) => {
  expect(problemsOf(policy)).toEqual([]);
});
