import { parse } from "yaml";
import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { compilePolicy } from "../../../runtime/policy/evaluate.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../../runtime/policy/match.ts";
import { OPERATORS, type CriterionDoc, type PolicyDoc } from "../../../runtime/policy/parse.ts";
import { criterionWords } from "../../../runtime/policy/words/criterion-words.ts";
import { policyLine, policyWords, ruleSentence } from "../../../runtime/policy/words/policy-words.ts";

const wordsOf = (doc: CriterionDoc): string => {
  const [leaf] = compilePolicy({ allow: { and: [doc] } }).allow[0]?.leaves ?? [];
  return leaf ? criterionWords(leaf) : "";
};
const sentences = (doc: PolicyDoc): readonly string[] => policyWords(compilePolicy(doc)).map(ruleSentence);

describe("criterionWords()", () => {
  test.each<[string, CriterionDoc, string]>([
    ["accept", { accept: true }, "the request is any request"],
    ["reject", { reject: true }, "never"],
    ["authenticated_user", { authenticated_user: true }, "the user is signed in"],
    ["user", { user: "alice" }, 'the user ID is "alice"'],
    ["idp", { idp: { in: ["a", "b"] } }, 'the identity provider is "a" or "b"'],
    ["idp, for service accounts and workloads", { idp: "" }, "the caller is a service account or workload"],
    ["email", { email: { not: "a@b.c" } }, 'the email is not "a@b.c"'],
    ["domain", { domain: "example.com" }, 'the email domain is "example.com"'],
    ["groups", { groups: "staff" }, 'the user is in group "staff"'],
    ["groups, none", { groups: { exclude: "staff" } }, 'the user is not in group "staff"'],
    ["claim", { "claim/a/b": { is: 5 } }, 'the user\'s claim "a/b" has "5" and nothing else'],
    [
      "device",
      { device: { approved: true, type: "enclave_only" } },
      "the browser has a verified device that is approved and that is bound to its hardware",
    ],
    ["actor", { actor: "workload:ci/a" }, 'the workload that acts for the user is "workload:ci/a"'],
    [
      "actor_claim",
      { "actor_claim//kubernetes.io/namespace": { has: "agents" } },
      'the acting workload\'s claim "/kubernetes.io/namespace" has "agents"',
    ],
    ["mcp_tool", { mcp_tool: { starts_with: "get_" } }, 'the tool starts with "get_"'],
    ["mcp_tool_class", { mcp_tool_class: { has: "write" } }, 'the tool has the class "write"'],
    [
      "mcp_tool_argument",
      { mcp_tool_argument: { tool: "pay", argument: "/sum", lte: "500.00", gt: 0 } },
      'the tool is "pay" and its argument "sum" is above 0 and is at most 500.00',
    ],
    [
      "mcp_tool_argument, of lists",
      { mcp_tool_argument: { tool: "t", argument: "", some: { in: [true, 2] }, every: { matches: "a+" } } },
      'the tool is "t" and the whole of its arguments is a list with an element that is 2 or true and is a list of which every element matches the pattern "a+"',
    ],
    ["mcp_prompt", { mcp_prompt: "x" }, 'the prompt is "x"'],
    ["mcp_resource", { mcp_resource: "file:///a" }, 'the resource URI is "file:///a"'],
    ["mcp_method", { mcp_method: "ping" }, 'the MCP method is "ping"'],
    ["http_method", { http_method: { not_in: ["PUT", "POST"] } }, 'the HTTP method is none of "POST" and "PUT"'],
    ["http_path", { http_path: { starts_with: "/a", not: "/a/b" } }, 'the path is not "/a/b" and starts with "/a"'],
    ["source_ip", { source_ip: ["10.0.0.1"] }, 'the client IP is in "10.0.0.1/32"'],
    ["cors_preflight", { cors_preflight: true }, "the request is a CORS preflight"],
    [
      "client_certificate",
      { client_certificate: { spki_hash: `${"A".repeat(43)}=`, san_dns: { ends_with: ".b" } } },
      `the client presents a valid certificate: its key's hash is "${"A".repeat(43)}=", and one of its host names ends with ".b"`,
    ],
    ["invalid_client_certificate", { invalid_client_certificate: true }, "the client presents no valid certificate"],
  ])("says %s", (_, doc, words) => {
    expect(wordsOf(doc)).toBe(words);
  });

  const data = (name: string, operator: string, operand: unknown): CriterionDoc =>
    name === "mcp_tool_argument"
      ? { [name]: { tool: "t", argument: "/a", [operator]: operand } }
      : {
          [name.endsWith("claim") ? `${name}/c` : name]: {
            ...(operator === "fold_case" && { is: "x" }),
            [operator]: operand,
          },
        };

  test("has a clause for every criterion, with every operator", () => {
    const cases = CRITERIA.flatMap(({ name, schema }) => {
      const forms = [schema, ...((schema["anyOf"] ?? []) as readonly (typeof schema)[])];
      const properties = forms.find((each) => each["properties"])?.["properties"] ?? {};
      return Object.keys(properties).flatMap(
        (operator) => SAMPLES[operator]?.(name).map((of) => data(name, operator, of)) ?? [{ name, operator }],
      );
    });
    expect(cases.length).toBeGreaterThan(60);
    for (const doc of cases) {
      const words = wordsOf(doc);
      expect(words).not.toBe("");
      // As it is written would be "name: {…}".
      expect(words).not.toMatch(/^[a-z_/]+: /);
    }
  });

  test("shows as YAML what has no clause, and unknown parts of known criteria", () => {
    const unknown = { key: "moon/phase", subPath: "phase", data: { is: ["full", 1] }, criterion: { name: "moon" } };
    expect(parse(criterionWords(unknown))).toEqual({ "moon/phase": { is: ["full", 1] } });
    const odd = { key: "email", subPath: "", data: { is: "a", sounds_like: "b" }, criterion: { name: "email" } };
    expect(parse(criterionWords(odd))).toEqual({ email: { is: "a", sounds_like: "b" } });
    const wild = { key: "claim/a: b\n", subPath: "a: b\n", data: 1, criterion: { name: "none" } };
    expect(parse(criterionWords(wild))).toEqual({ "claim/a: b\n": 1 });
    const calls = { tool: { is: "pay" }, argument: "/amount" };
    const nested = [{ some: { odd: 1 } }, { some: null }, { every: { odd: 1 } }, { every: [1] }];
    for (const more of [
      { exists: "perhaps" },
      { gt: true },
      { only: "id" },
      { only: ["id", 1] },
      { odd: 1 },
      ...nested,
    ]) {
      const call = {
        key: "mcp_tool_argument",
        subPath: "",
        data: { ...calls, ...more },
        criterion: { name: "mcp_tool_argument" },
      };
      expect(parse(criterionWords(call))).toEqual({ mcp_tool_argument: { ...calls, ...more } });
    }
  });

  test("states the number of further items in a long list", () => {
    const names = Array.from({ length: 25 }, (_, index) => `u${String(index).padStart(2, "0")}`);
    expect(wordsOf({ user: { in: names } })).toMatch(/"u19" or 5 more$/);
  });
});

describe("policyWords()", () => {
  test.each<[string, PolicyDoc, readonly string[]]>([
    ["nothing", [], []],
    ["one criterion", { allow: { and: [{ authenticated_user: true }] } }, ["Allowed when the user is signed in"]],
    [
      "deny rules first",
      { allow: { or: [{ accept: true }] }, deny: { not: [{ groups: "a" }] } },
      ['Denied when this is not true: the user is in group "a"', "Allowed when the request is any request"],
    ],
    ...OPERATORS.map((operator): [string, PolicyDoc, readonly string[]] => [
      operator,
      { allow: { [operator]: [{ user: "a" }, { user: "b" }] } },
      [
        `Allowed when ${{ and: "all of these are true", or: "one of these is true", not: "none of these is true", nor: "at least one of these is not true" }[operator]}: the user ID is "a"; the user ID is "b"`,
      ],
    ]),
    [
      "approvals",
      [
        { approve: { or: [{ mcp_tool: "pay" }] }, approvers: ["b", "a"] },
        { approve: { or: [{ mcp_tool: "mail" }] }, allow: { or: [{ user: "x" }] } },
      ],
      [
        'A tool call needs approval by another user in one of the groups "a" or "b" when the tool is "pay"',
        'A tool call needs confirmation by its user when the tool is "mail"',
        'Allowed when the user ID is "x"',
      ],
    ],
  ])("says %s", (_, doc, expected) => {
    expect(sentences(doc)).toEqual(expected);
  });
});

describe("policyLine()", () => {
  test("shows the whole policy in one line, truncated with a mark at its length", () => {
    const line = (doc: PolicyDoc): string => policyLine(compilePolicy(doc));
    expect(line([])).toBe("all requests are denied: no allow rule");
    expect(
      line([
        { allow: { or: [{ groups: "a" }, { groups: "b" }] }, deny: { or: [{ mcp_tool: "x" }] } },
        { allow: { nor: [{ user: "u" }, { user: "v" }], not: [{ user: "w" }] } },
      ]),
    ).toBe(
      `the user is in group "a" or the user is in group "b", or not: the user ID is "w", or not all of (the user ID is "u"; the user ID is "v"); never when the tool is "x"`,
    );
    const long = line({ allow: { or: [{ user: { in: Array.from({ length: 99 }, (_, at) => `user-${at}`) } }] } });
    expect(long).toHaveLength(241);
    expect(long).toMatch(/…$/);
  });
});

/** By operator, what it is given; by criterion where that differs. */
const TEXT = (criterion: string): readonly unknown[] => [criterion === "mcp_tool_class" ? "write" : "x"];
const SAMPLES: Readonly<Record<string, (criterion: string) => readonly unknown[]>> = {
  ...Object.fromEntries([...STRING_OPERATORS, ...LIST_OPERATORS].map((name) => [name, TEXT])),
  in: () => [["x"], ["x", "y"]],
  not_in: () => [["x"], ["x", "y"]],
  matches: TEXT,
  fold_case: () => [true],
  ...Object.fromEntries(["gt", "gte", "lt", "lte"].map((name) => [name, () => [5, "5.0"]])),
  only: () => [[], ["a", "b"]],
  some: () => [{ is: "x" }],
  every: () => [{ gt: 4, lt: 6 }],
  exists: () => [true, false],
  approved: () => [true, false],
  type: () => ["any", "enclave_only"],
  fingerprint: () => ["a".repeat(64)],
  spki_hash: () => [`${"A".repeat(43)}=`],
  san_email: () => [{ is: "a@b.c" }],
  san_dns: () => [{ in: ["a", "b"] }],
  san_uri: () => [{ starts_with: "spiffe://" }],
  // Not by themselves: each case of an argument has them.
  tool: () => [],
  argument: () => [],
};
