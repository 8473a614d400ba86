/** Rules that ask for an approval: where they stand among the others, and for whom. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePolicy, evaluate, isAmbiguous } from "../../../runtime/policy/evaluate.ts";
import { explain, formatExplanation } from "../../../runtime/policy/explain.ts";
import { APPROVAL_REQUIRED, APPROVED, mayApprove } from "../../../runtime/policy/mcp/approval.ts";
import { readArguments } from "../../../runtime/policy/mcp/argument-values.ts";
import { canonicalPolicy, parsePolicy, type PolicyDoc } from "../../../runtime/policy/parse.ts";
import { mayUse } from "../../../runtime/policy/reach.ts";
import { compileShadow, decideShadow } from "../../../runtime/policy/shadow.ts";
import { validatePolicy } from "../../../runtime/policy/validate-rules.ts";
import { alice, asAlice, toolCall } from "../../support/facts.ts";

const company = { allow: { and: [{ domain: "example.com" }] } };
const writes = { approve: { and: [{ mcp_tool: { starts_with: "write_" } }] } };
const deletes = { approve: { or: [{ mcp_tool: { starts_with: "delete_" } }] }, approvers: ["admins", "on-call"] };
const decide = (policy: PolicyDoc, tool: string) => evaluate(compilePolicy(policy), asAlice(toolCall(tool)));
const problems = (policy: unknown): readonly string[] => {
  const parsed = parsePolicy(policy);
  const found = parsed.ok ? validatePolicy(parsed.policy) : parsed.problems;
  return found.map(({ path, message }) => `${path} ${message}`);
};

describe("evaluate()", () => {
  test("requires an approval for what would pass otherwise", () => {
    const decision = decide([company, writes], "write_file");
    expect(decision).toMatchObject({ allowed: false, denied: false, allowWhyFalse: [APPROVAL_REQUIRED] });
    expect(decision.approval?.approvers).toEqual([]);
    expect(decision.approval?.approved).toMatchObject({ allowed: true, allowWhyFalse: [] });
    expect(decision.approval?.approved.allowWhyTrue).toContain(APPROVED);
    expect(decide([company, writes], "read_file")).toMatchObject({ allowed: true });
    expect(decide([company, writes], "read_file").approval).toBeUndefined();
  });

  test("deny wins over approve, and approve alone allows nothing", () => {
    const denied = decide([company, writes, { deny: { and: [{ mcp_tool: "write_file" }] } }], "write_file");
    expect([denied.denied, denied.approval]).toEqual([true, undefined]);
    const alone = decide([writes], "write_file");
    expect([alone.allowed, alone.approval]).toEqual([false, undefined]);
  });

  test("applies only to tool calls", () => {
    const policy = compilePolicy([company, { approve: { and: [{ accept: true }] } }]);
    for (const mcp of [{}, { method: "tools/list" }, { method: "prompts/get", prompt: "p" }])
      expect(evaluate(policy, asAlice(mcp))).toMatchObject({ allowed: true });
    expect(evaluate(policy, asAlice()).allowed).toBe(true);
    expect(evaluate(policy, asAlice(toolCall("any"))).approval).toBeDefined();
  });

  test("requires an approval if the outcome is unknown, and denies if a criterion fails", () => {
    const policy = compilePolicy([
      company,
      { approve: { and: [{ mcp_tool_argument: { tool: "pay", argument: "/amount", gt: 100 } }] } },
    ]);
    const pay = (json: string) =>
      evaluate(policy, asAlice({ ...toolCall("pay"), arguments: readArguments(() => json) })).approval !== undefined;
    expect([pay('{"amount":101}'), pay('{"amount":100}'), pay("{}"), pay('{"amount":"1"}')]).toEqual([
      true,
      false,
      true,
      true,
    ]);
    const broken = asAlice({
      ...toolCall("pay"),
      arguments: {
        find: () => {
          throw new Error("unreadable");
        },
      },
    });
    expect(evaluate(policy, broken)).toMatchObject({ allowed: false, allowWhyFalse: ["policy-error"] });
    expect(evaluate(policy, broken).approval).toBeUndefined();
  });

  test("requires a member of each matching list", () => {
    const both = { approve: { and: [{ mcp_tool: { contains: "_" } }] }, approvers: ["security"] };
    expect(decide([company, deletes, both, writes], "delete_all").approval?.approvers).toEqual([
      ["admins", "on-call"],
      ["security"],
    ]);
    expect(decide([company, both, { ...both }], "write_file").approval?.approvers).toEqual([["security"]]);
  });

  test("denies a path whose readings differ in it", () => {
    const policy = compilePolicy([
      { allow: { and: [{ accept: true }] } },
      { approve: { and: [{ http_path: { starts_with: "/safe" } }] }, approvers: ["admins"] },
    ]);
    const facts = asAlice(toolCall("x"));
    const at = (path: string, ...otherPaths: string[]) =>
      evaluate(policy, { ...facts, http: { ...facts.http, path, otherPaths } });
    for (const decision of [at("/safe;a", "/open"), at("/open;a", "/safe")]) expect(isAmbiguous(decision)).toBe(true);
    expect(at("/safe;a", "/safe").approval).toBeDefined();
  });

  test("never allows more than without the rules, and hides nothing", () => {
    const tool = fc.constantFrom("write_file", "delete_all", "read_file");
    const criterion = fc.oneof(
      fc.record({ mcp_tool: fc.record({ starts_with: fc.constantFrom("write_", "delete_", "r") }) }),
      fc.constantFrom({ groups: { has: "on-call" } }, { accept: true }, { reject: true }, { domain: "example.com" }),
    );
    const rules = fc.record({
      allow: fc.record({ or: fc.array(criterion, { minLength: 1, maxLength: 3 }) }),
      deny: fc.record({ and: fc.array(criterion, { minLength: 1, maxLength: 3 }) }),
    });
    const asks = fc.record({ approve: fc.record({ not: fc.array(criterion, { minLength: 1, maxLength: 3 }) }) });
    fc.assert(
      fc.property(rules, asks, tool, (rule, ask, name) => {
        const without = compilePolicy([rule]);
        const within = compilePolicy([rule, ask]);
        const decision = evaluate(within, asAlice(toolCall(name)));
        const before = evaluate(without, asAlice(toolCall(name)));
        expect(decision.allowed || decision.approval !== undefined).toBe(before.allowed);
        expect(decision.allowed && decision.approval !== undefined).toBe(false);
        const item = { kind: "tool", name } as const;
        expect(mayUse(within, alice, item)).toBe(mayUse(without, alice, item));
      }),
    );
  });
});

test("mayApprove(): the calling user, or another user from every list", () => {
  const user = (id: string, ...groups: string[]) => ({ id, email: `${id}@example.com`, groups });
  expect([mayApprove([], user("a"), user("a")), mayApprove([], user("a"), user("b", "admins"))]).toEqual([true, false]);
  const lists = [["admins", "on-call"], ["security"]];
  expect(mayApprove(lists, user("a"), user("b", "on-call", "security"))).toBe(true);
  expect(mayApprove(lists, user("a"), user("b", "on-call"))).toBe(false);
  expect(mayApprove(lists, user("a"), user("a", "on-call", "security"))).toBe(false);
  const twin = { ...user("b", "on-call", "security"), email: "A@example.com" };
  expect(mayApprove(lists, user("a"), twin)).toBe(false);
  expect(mayApprove(lists, { id: "a", email: "" }, { ...twin, email: "" })).toBe(true);
  const leftOut = { groups: true, claims: [] };
  expect(mayApprove(lists, user("a"), { ...user("b", "on-call", "security"), leftOut })).toBe(false);
});

test("documents: validated, and in canonical form", () => {
  expect(canonicalPolicy({ ...deletes, approvers: ["on-call", "admins", "admins"] })).toEqual([
    { approve: { or: [{ mcp_tool: { starts_with: "delete_" } }] }, approvers: ["admins", "on-call"] },
  ]);
  expect(problems([company, writes, deletes])).toEqual([]);
  expect(problems({ ...writes, approvers: [] })).toEqual([expect.stringMatching(/^approvers is an empty list/)]);
  expect(problems({ ...writes, approvers: ["", "x"] })).toEqual([expect.stringMatching(/must be a list of groups/)]);
  expect(problems({ ...company, approvers: ["x"] })).toEqual([
    expect.stringMatching(/requires "approve" in the same rule/),
  ]);
  expect(problems({ approve: { and: [{ reject: true }] } })).toEqual([expect.stringMatching(/requires no approval/)]);
  expect(problems({ approve: { and: [{ accept: true }] } })).toEqual([]);
});

test("explain() states who can approve", () => {
  const first = (policy: PolicyDoc): string | undefined =>
    formatExplanation("alice calls x_y", explain(compilePolicy(policy), asAlice(toolCall("delete_all")))).split(
      "\n",
    )[0];
  expect(first([company, deletes])).toBe(
    'alice calls x_y: allowed once another user approves the call: a member of "admins" or "on-call" (approval-required)',
  );
  expect(first([company, { approve: { and: [{ accept: true }] } }])).toBe(
    "alice calls x_y: allowed once the user confirms the call (approval-required)",
  );
});

test("a shadow policy that requires an approval loses against allow, and gains against deny", () => {
  const said = (policy: PolicyDoc, shadow_policy: PolicyDoc): readonly (readonly string[])[] => {
    const shadow = compileShadow({ policy, shadow_policy });
    const facts = asAlice(toolCall("write_file"));
    if (!shadow) return [];
    const enforced = evaluate(compilePolicy(policy), facts);
    return decideShadow(shadow, facts, enforced).map(({ outcome, flip }) => [outcome, flip]);
  };
  expect(said(company, [company, writes])).toEqual([["approve", "loses"]]);
  expect(said([], [company, writes])).toEqual([["approve", "gains"]]);
  expect(said([company, writes], company)).toEqual([["allow", "gains"]]);
  expect(said([company, writes], [company, writes])).toEqual([["approve", "none"]]);
  expect(said([company, { shadow: true, ...writes }], company)).toEqual([
    ["allow", "none"],
    ["approve", "loses"],
  ]);
});
