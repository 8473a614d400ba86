import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import { readArguments } from "../../../runtime/policy/mcp/argument-values.ts";
import { OPERATORS, type CriterionDoc, type PolicyDoc } from "../../../runtime/policy/parse.ts";
import {
  findReach,
  findToolReach,
  mayReachFrom,
  mayReachSomething,
  mayUse,
  type ListedItem,
} from "../../../runtime/policy/reach.ts";
import { alice, asAlice } from "../../support/facts.ts";

describe("findToolReach()", () => {
  const policy = compilePolicy([
    { deny: { and: [{ mcp_tool: { starts_with: "delete_" } }] } },
    { deny: { and: [{ mcp_tool_argument: { tool: "send", argument: "/to", is: "all" } }] } },
    { approve: { and: [{ mcp_tool: { in: ["merge"] } }] } },
    { approve: { and: [{ mcp_tool_argument: { tool: "pay", argument: "/amount", gt: 100 } }] } },
    { allow: { and: [{ groups: "on-call" }, { mcp_tool: { not_in: ["hidden"] } }] } },
  ]);
  test.each([
    ["read", "allowed", false],
    ["delete_repo", "denied", false],
    ["send", "allowed", true],
    ["merge", "approval", false],
    ["pay", "approval", true],
    ["hidden", "unmatched", false],
  ] as const)("%s: %s", (tool, outcome, isPartial) => {
    const found = findToolReach(policy, alice, tool);
    expect(found).toMatchObject({ outcome, isPartial });
    const rules = { allowed: policy.allow, denied: policy.deny, approval: policy.approve, unmatched: [undefined] };
    expect(rules[outcome]).toContain(found.rule);
    expect(mayUse(policy, alice, { kind: "tool", name: tool })).toBe(outcome === "allowed" || outcome === "approval");
  });
});

describe("mayReachSomething()", () => {
  test.each<[string, PolicyDoc, boolean]>([
    ["no rule", [], false],
    ["an allow rule that fits the user", { allow: { or: [{ domain: "example.com" }] } }, true],
    ["an allow rule that does not", { allow: { or: [{ domain: "evil.example" }] } }, false],
    ["a negated allow rule that does not", { allow: { not: [{ domain: "example.com" }] } }, false],
    [
      "a deny rule that fits the user",
      { allow: { or: [{ accept: true }] }, deny: { or: [{ groups: "on-call" }] } },
      false,
    ],
    [
      "a deny rule for some tool",
      { allow: { or: [{ domain: "example.com" }] }, deny: { or: [{ mcp_tool: "x" }] } },
      true,
    ],
    [
      "an allowlist of tools",
      { allow: { or: [{ domain: "example.com" }] }, deny: { and: [{ mcp_tool: { not_in: ["x"] } }] } },
      true,
    ],
    ["only one tool allowed", { allow: { and: [{ domain: "example.com" }, { mcp_tool: "x" }] } }, true],
    ["one tool allowed to others", { allow: { and: [{ domain: "evil.example" }, { mcp_tool: "x" }] } }, false],
    [
      "a tool, or the user",
      { deny: { or: [{ mcp_tool: "x" }, { domain: "example.com" }] }, allow: { or: [{ accept: true }] } },
      false,
    ],
    ["from one network", { allow: { and: [{ domain: "example.com" }, { source_ip: "10.0.0.0/8" }] } }, true],
    ["never", { allow: { or: [{ accept: true }] }, deny: { or: [{ accept: true }] } }, false],
    [
      "not denied twice over",
      { allow: { or: [{ accept: true }] }, deny: { nor: [{ mcp_tool: "x" }, { reject: true }] } },
      false,
    ],
  ])("%s", (_, doc, reachable) => {
    expect(mayReachSomething(compilePolicy(doc), alice)).toBe(reachable);
  });

  test("a user whose facts cannot be checked reaches nothing", () => {
    const user = { ...alice, email: "a@b@example.com" };
    expect(mayReachSomething(compilePolicy({ allow: { or: [{ domain: "example.com" }] } }), user)).toBe(false);
    expect(mayReachSomething(compilePolicy({ allow: { not: [{ domain: "evil.example" }] } }), user)).toBe(false);
    const denyOthers: PolicyDoc = { allow: { or: [{ accept: true }] }, deny: { or: [{ domain: "evil.example" }] } };
    expect(mayReachSomething(compilePolicy(denyOthers), user)).toBe(false);
  });

  test("claims that the provider omitted permit nothing, and block nothing else", () => {
    const user = { ...alice, groups: [], leftOut: { groups: true, claims: [] } };
    const anybody = { or: [{ accept: true }] };
    expect(mayReachSomething(compilePolicy({ allow: { or: [{ groups: "on-call" }] } }), user)).toBe(false);
    expect(mayReachSomething(compilePolicy({ allow: anybody, deny: { or: [{ groups: "eve" }] } }), user)).toBe(false);
    expect(mayReachSomething(compilePolicy({ allow: { or: [{ domain: "example.com" }] } }), user)).toBe(true);
  });
});

describe("mayUse()", () => {
  const tool = (name: string): ListedItem => ({ kind: "tool", name });
  const about = (match: object): CriterionDoc => ({
    mcp_tool_argument: { tool: "deploy", argument: "/env", ...match },
  });
  const people = { allow: { and: [{ domain: "example.com" }] } };
  test.each<readonly [what: string, doc: PolicyDoc, item: ListedItem, shown: boolean]>([
    ["a tool of the allowlist", [people, { deny: { and: [{ mcp_tool: { not_in: ["a", "b"] } }] } }], tool("b"), true],
    ["another tool", [people, { deny: { and: [{ mcp_tool: { not_in: ["a", "b"] } }] } }], tool("c"), false],
    [
      "a tool of another group",
      [people, { deny: { and: [{ mcp_tool: "a" }, { groups: { exclude: "x" } }] } }],
      tool("a"),
      false,
    ],
    [
      "allowed with some arguments",
      { allow: { and: [{ domain: "example.com" }, about({ is: "dev" })] } },
      tool("deploy"),
      true,
    ],
    [
      "the same for another tool",
      { allow: { and: [{ domain: "example.com" }, about({ is: "dev" })] } },
      tool("list"),
      false,
    ],
    ["denied with some arguments", [people, { deny: { and: [about({ is: "prod" })] } }], tool("deploy"), true],
    [
      "denied whatever they are",
      [
        people,
        { deny: { and: [about({ is: "prod" }), { mcp_tool: "deploy" }] } },
        { deny: { and: [{ mcp_tool: "deploy" }] } },
      ],
      tool("deploy"),
      false,
    ],
    ["from one network", { allow: { and: [{ domain: "example.com" }, { source_ip: "10.0.0.0/8" }] } }, tool("a"), true],
    ["by GET alone", { allow: { and: [{ domain: "example.com" }, { http_method: "GET" }] } }, tool("a"), false],
    ["by POST", { allow: { and: [{ domain: "example.com" }, { http_method: "POST" }] } }, tool("a"), true],
    ["with a device", { allow: { and: [{ domain: "example.com" }, { device: { type: "any" } }] } }, tool("a"), false],
    ["methods of tools denied", [people, { deny: { and: [{ mcp_method: "tools/call" }] } }], tool("a"), false],
    ["methods of prompts denied", [people, { deny: { and: [{ mcp_method: "prompts/get" }] } }], tool("a"), true],
    [
      "a prompt",
      [people, { deny: { and: [{ mcp_prompt: { not: "review" } }] } }],
      { kind: "prompt", name: "review" },
      true,
    ],
    [
      "another prompt",
      [people, { deny: { and: [{ mcp_prompt: { not: "review" } }] } }],
      { kind: "prompt", name: "x" },
      false,
    ],
    [
      "rules on tools and a prompt",
      [people, { deny: { and: [{ mcp_tool: { not_in: [] } }] } }],
      { kind: "prompt", name: "x" },
      true,
    ],
    [
      "a resource",
      [people, { deny: { not: [{ mcp_resource: { starts_with: "ui://" } }] } }],
      { kind: "resource", uri: "UI://a" },
      true,
    ],
    [
      "another resource",
      [people, { deny: { and: [{ mcp_resource: { starts_with: "ui://" } }] } }],
      { kind: "resource", uri: "ui://a" },
      false,
    ],
    [
      "a resource without one reading",
      [people, { deny: { and: [{ mcp_resource: "x:y" }] } }],
      { kind: "resource", uri: "file:///a/../b" },
      false,
    ],
    [
      "a template below",
      [people, { deny: { and: [{ mcp_resource: { starts_with: "file:///etc/" } }] } }],
      { kind: "template", uriTemplate: "file:///etc/{name}" },
      false,
    ],
    [
      "a template above",
      [people, { deny: { and: [{ mcp_resource: { starts_with: "file:///etc/" } }] } }],
      { kind: "template", uriTemplate: "file:///{+path}" },
      true,
    ],
    [
      "a template beside",
      { allow: { and: [{ mcp_resource: { starts_with: "file:///srv/" } }] } },
      { kind: "template", uriTemplate: "file:///etc/{name}" },
      false,
    ],
    [
      "a template of anything",
      { allow: { and: [{ mcp_resource: { starts_with: "file:///srv/" } }] } },
      { kind: "template", uriTemplate: "{scheme}:{rest}" },
      true,
    ],
    [
      "a template of one",
      { allow: { and: [{ mcp_resource: { in: ["db://a/1", "db://b/1"] } }] } },
      { kind: "template", uriTemplate: "db://b/{id}" },
      true,
    ],
  ])("%s", (_, doc, item, shown) => {
    expect(mayUse(compilePolicy(doc), alice, item)).toBe(shown);
  });

  test("hides nothing that some call could use, whatever the policy", () => {
    const tools = ["deploy", "list"];
    const leaf = fc.oneof(
      fc.constantFrom<CriterionDoc>(
        { accept: true },
        { domain: "example.com" },
        { groups: "admins" },
        { http_method: "POST" },
      ),
      fc.constantFrom(...tools, "other").map((name): CriterionDoc => ({ mcp_tool: name })),
      fc.constantFrom("is", "not").map((operator): CriterionDoc => about({ [operator]: "dev" })),
      fc.boolean().map((exists): CriterionDoc => about({ exists })),
      fc.constantFrom(1, 2).map((limit): CriterionDoc => about({ lt: limit })),
    );
    const block = fc.record({
      operator: fc.constantFrom(...OPERATORS),
      leaves: fc.array(leaf, { minLength: 1, maxLength: 3 }),
    });
    const rule = fc.record({ action: fc.constantFrom("allow", "deny"), block });
    const args = fc.constantFrom(undefined, "{}", '{"env":"dev"}', '{"env":"prod"}', '{"env":1}', '{"env":null}');
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...tools),
        args,
        (rules, name, text) => {
          const policy = compilePolicy(
            rules.map(({ action, block: { operator, leaves } }) => ({ [action]: { [operator]: leaves } })),
          );
          const mcp = { method: "tools/call", tool: name, arguments: readArguments(() => text) };
          if (evaluate(policy, asAlice(mcp)).allowed) expect(mayUse(policy, alice, tool(name))).toBe(true);
        },
      ),
      { numRuns: 5000 },
    );
  });
});

describe("mayReachFrom()", () => {
  const staff = { idp: "default" };
  const partner = { idp: "partner" };
  test.each<[string, PolicyDoc, boolean, boolean]>([
    ["no rule", [], false, false],
    ["every signed-in user", { allow: { and: [{ authenticated_user: true }] } }, true, true],
    ["everybody", { allow: { and: [{ accept: true }] } }, true, true],
    ["one of them", { allow: { and: [partner] } }, false, true],
    ["both", { allow: { or: [partner, staff] } }, true, true],
    ["a list", { allow: { and: [{ idp: { in: ["partner", "other"] } }] } }, false, true],
    ["not one of them", { allow: { not: [partner] } }, true, false],
    ["one of them, with more", { allow: { and: [partner, { groups: "admins" }] } }, false, true],
    ["one of them, or more", { allow: { or: [partner, { domain: "example.com" }] } }, true, true],
    ["one of them, at a path", { allow: { and: [partner, { http_path: "/x" }] } }, false, true],
    ["one of them, with a device", { allow: { and: [staff, { device: { approved: true } }] } }, true, false],
    ["a deny rule", { allow: { and: [{ authenticated_user: true }] }, deny: { or: [partner] } }, true, false],
    [
      "a deny rule with more",
      { allow: { and: [{ authenticated_user: true }] }, deny: { and: [partner, { groups: "x" }] } },
      true,
      true,
    ],
    ["several rules", [{ allow: { and: [staff, { reject: true }] } }, { allow: { and: [partner] } }], false, true],
  ])("%s", (_, doc, fromFirst, fromPartner) => {
    const policy = compilePolicy(doc);
    expect([mayReachFrom(policy, "default"), mayReachFrom(policy, "partner")]).toEqual([fromFirst, fromPartner]);
  });
});

describe("findReach()", () => {
  const allow = { groups: "on-call" };
  test.each<[string, PolicyDoc, "all" | "some" | "none", "allow" | "deny" | undefined]>([
    ["no rule", [], "none", undefined],
    ["an allow rule that fits the user", { allow: { or: [allow] } }, "all", "allow"],
    ["one that does not", { allow: { or: [{ groups: "other" }] } }, "none", undefined],
    ["one that depends on the request", { allow: { and: [allow, { source_ip: "10.0.0.0/8" }] } }, "some", "allow"],
    ["a tool that is denied", { allow: { or: [allow] }, deny: { or: [{ mcp_tool: "x" }] } }, "some", "allow"],
    [
      "a deny rule that fits the user",
      { allow: { or: [allow] }, deny: { or: [{ domain: "example.com" }] } },
      "none",
      "deny",
    ],
    ["a proven device", { allow: { and: [allow, { device: { approved: true } }] } }, "some", "allow"],
    [
      "the rule that surely lets in before one that may",
      { allow: { and: [allow, { http_path: "/a" }], or: [allow] } },
      "all",
      "allow",
    ],
  ])("tells what %s comes to", (_, doc, may, action) => {
    const policy = compilePolicy(doc);
    const found = findReach(policy, alice, true);
    expect([found.may, found.by?.action]).toEqual([may, action]);
    // The same answer as everywhere else, but for devices, which only browsers prove.
    if (!policy.needsDevice) expect(found.may !== "none").toBe(mayReachSomething(policy, alice));
  });

  test("an anonymous request and a program have no verified device", () => {
    const policy = compilePolicy({ allow: { or: [{ device: { approved: true } }] } });
    expect(findReach(policy, undefined, true).may).toBe("none");
    expect(findReach(policy, alice, false).may).toBe("none");
  });
});
