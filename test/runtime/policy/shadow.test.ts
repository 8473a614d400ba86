import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import type { Facts } from "../../../runtime/policy/facts.ts";
import { canonicalPolicy, type RulesDoc } from "../../../runtime/policy/parse.ts";
import { routePolicy } from "../../../runtime/policy/access-keys.ts";
import { candidatesOf, compileShadow, decideShadow, type ShadowKeys } from "../../../runtime/policy/shadow.ts";
import { anonymous, asAlice, asUser, toolCall } from "../../support/facts.ts";

const inCompany = { allow: { and: [{ domain: "example.com" }] } };
const noDeletes = { deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] } };
const noWrites = { deny: { or: [{ mcp_tool: { starts_with: "write_" } }] } };
const partners = { allow: { and: [{ domain: "partner.example" }] } };

/** What is said of the candidates: name, outcome, flip, reasons. */
function said(route: ShadowKeys, facts: Facts): readonly (readonly [string, string, string, string])[] {
  const shadow = compileShadow(route);
  if (!shadow) return [];
  const enforced = evaluate(compilePolicy(routePolicy(route)), facts);
  return decideShadow(shadow, facts, enforced).map(({ candidate, outcome, flip, reasons }) => [
    candidate.name,
    outcome,
    flip,
    reasons.join(" "),
  ]);
}

describe("compilePolicy()", () => {
  test("omits shadow rules", () => {
    const policy = compilePolicy([inCompany, { shadow: true, ...noDeletes }, { shadow: true, ...partners }]);
    expect(policy.doc).toEqual(canonicalPolicy(inCompany));
    expect(policy.needsTool).toBe(false);
    expect(evaluate(policy, asAlice(toolCall("delete_all"))).allowed).toBe(true);
    expect(evaluate(policy, asUser({ email: "x@partner.example" })).allowed).toBe(false);
    expect(compilePolicy({ shadow: true, allow: { and: [{ accept: true }] } }).mayAllowAnonymous).toBe(false);
  });
});

describe("canonicalPolicy()", () => {
  test("keeps the mark, and drops one without effect", () => {
    expect(
      canonicalPolicy([
        { ...noDeletes, shadow: true },
        { shadow: false, ...inCompany },
      ]),
    ).toEqual([
      { shadow: true, deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] } },
      { allow: { and: [{ domain: { is: "example.com" } }] } },
    ]);
    expect(canonicalPolicy([{ shadow: true }])).toEqual([]);
  });
});

describe("candidatesOf()", () => {
  test("returns the shadow policy with the same access keys, and each shadow rule with all enforced ones", () => {
    const route: ShadowKeys = {
      allowed_domains: ["a.example"],
      policy: [inCompany, { shadow: true, ...noDeletes }, noWrites, { shadow: true, ...partners }],
      shadow_policy: [partners],
    };
    const key = { allow: { and: [{ domain: { in: ["a.example"] } }] } };
    expect(candidatesOf(route)).toEqual([
      { name: "shadow_policy", kind: "shadow_policy", policy: [key, partners] },
      { name: "policy[1]", kind: "rule", policy: [key, inCompany, noWrites, noDeletes] },
      { name: "policy[3]", kind: "rule", policy: [key, inCompany, noWrites, partners] },
    ]);
    expect(candidatesOf({ policy: { shadow: true, ...partners } })).toEqual([
      { name: "policy[0]", kind: "rule", policy: [partners] },
    ]);
  });
});

describe("decideShadow()", () => {
  const route: ShadowKeys = {
    policy: [inCompany, { shadow: true, ...noDeletes }, { shadow: true, ...partners }],
    shadow_policy: [],
  };

  test.each<[string, Facts, readonly (readonly [string, string, string, string])[]]>([
    [
      "a call that one rule would deny",
      asAlice(toolCall("delete_all")),
      [
        ["shadow_policy", "deny", "loses", ""],
        ["policy[1]", "deny", "loses", "mcp-tool-unauthorized"],
        ["policy[2]", "allow", "none", "domain-ok mcp-tool-ok"],
      ],
    ],
    [
      "a user whom one rule would allow",
      asUser({ email: "x@partner.example" }),
      [
        ["shadow_policy", "deny", "none", ""],
        ["policy[1]", "deny", "none", "domain-unauthorized"],
        ["policy[2]", "allow", "gains", "domain-ok"],
      ],
    ],
    [
      "nobody",
      anonymous(),
      [
        ["shadow_policy", "deny", "none", ""],
        ["policy[1]", "deny", "none", "user-unauthenticated"],
        ["policy[2]", "deny", "none", "user-unauthenticated"],
      ],
    ],
  ])("of %s", (_, facts, expected) => {
    expect(said(route, facts)).toEqual(expected);
  });

  test("G-18: a shadow policy that throws is an error, another one a denial, and the enforced decision stays", () => {
    // An address with two "@" cannot be evaluated, see subjects.ts; criteria on ids do not look at it.
    const broken = asUser({ email: "alice@x@example.com" });
    const both: ShadowKeys = {
      policy: [{ allow: { and: [{ user: "user-1" }] } }, { shadow: true, deny: { or: [{ user: "user-1" }] } }],
      shadow_policy: inCompany,
    };
    expect(evaluate(compilePolicy(routePolicy(both)), broken).allowed).toBe(true);
    expect(said(both, broken)).toEqual([
      ["shadow_policy", "error", "none", "policy-error"],
      ["policy[1]", "deny", "loses", "user-unauthorized"],
    ]);
  });

  test("the enforced policy cannot be evaluated, the shadow policy can", () => {
    const broken = asUser({ email: "alice@x@example.com" });
    const mended: ShadowKeys = { policy: inCompany, shadow_policy: { allow: { and: [{ user: "user-1" }] } } };
    expect(said(mended, broken)).toEqual([["shadow_policy", "allow", "gains", "user-ok"]]);
  });
});

const criterion = fc.constantFrom<Readonly<Record<string, unknown>>>(
  { domain: "example.com" },
  { domain: "partner.example" },
  { email: "alice@example.com" },
  { groups: "engineering" },
  { authenticated_user: true },
  { mcp_tool: { starts_with: "delete_" } },
  { mcp_method: "tools/call" },
);
const block = fc.dictionary(
  fc.constantFrom("and", "or", "not", "nor"),
  fc.array(criterion, { minLength: 1, maxLength: 3 }),
  { minKeys: 1, maxKeys: 2, noNullPrototype: true },
);
const rules: fc.Arbitrary<RulesDoc> = fc
  .tuple(fc.constantFrom("allow", "deny"), block)
  .map(([action, body]) => ({ [action]: body }));
const someFacts = fc.constantFrom<Facts>(
  asAlice(),
  asAlice(toolCall("delete_all")),
  asAlice(toolCall("read")),
  asUser({ email: "x@partner.example" }),
  asUser({ email: "two@at@signs" }),
  anonymous(),
);

describe("properties", () => {
  test("a route without shadow policies has nothing to decide, and its compiled policy is unchanged", () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 4 }), fc.array(rules, { maxLength: 3 }), (enforced, tried) => {
        expect(compileShadow({ policy: enforced })).toBeUndefined();
        const marked = tried.map((each) => ({ ...each, shadow: true }));
        const { known: _, ...mixed } = compilePolicy([...marked, ...enforced]);
        const { known: __, ...plain } = compilePolicy(enforced);
        expect(JSON.stringify(mixed)).toBe(JSON.stringify(plain));
      }),
    );
  });

  test("a shadow policy decides as the policy does once it is enforced", () => {
    fc.assert(
      fc.property(
        fc.array(rules, { maxLength: 3 }),
        rules,
        fc.array(rules, { maxLength: 2 }),
        someFacts,
        (enforced, tried, others, facts) => {
          const marked = others.map((each) => ({ ...each, shadow: true }));
          const found = said({ policy: [{ ...tried, shadow: true }, ...enforced, ...marked] }, facts)[0];
          const after = evaluate(compilePolicy([...enforced, tried]), facts);
          const now = evaluate(compilePolicy(enforced), facts);
          const isError = after.allowWhyFalse.includes("policy-error");
          const flip = after.allowed === now.allowed ? "none" : after.allowed ? "gains" : "loses";
          expect(found?.slice(1, 3)).toEqual(isError ? ["error", "none"] : [after.allowed ? "allow" : "deny", flip]);
        },
      ),
    );
  });
});
