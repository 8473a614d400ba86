import { describe, expect, test } from "vitest";

import { compilePolicy } from "../../../runtime/policy/evaluate.ts";
import { denialDetails, explain, formatExplanation } from "../../../runtime/policy/explain.ts";
import { anonymous, asAlice, asUser, toolCall } from "../../support/facts.ts";

const policy = compilePolicy({
  allow: { and: [{ domain: "example.com" }, { groups: "engineering" }], or: [{ email: "root@example.com" }] },
  deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] },
});

describe("explain()", () => {
  test("traces every rule and criterion of a denied call", () => {
    const explanation = explain(policy, asAlice(toolCall("delete_repo")));
    expect(explanation.decision.allowed).toBe(false);
    expect(explanation.rules).toEqual([
      {
        action: "deny",
        operator: "or",
        outcome: "true",
        criteria: [
          {
            criterion: "mcp_tool",
            wanted: { starts_with: "delete_" },
            actual: '"delete_repo"',
            outcome: "true",
            reasons: ["mcp-tool-unauthorized"],
          },
        ],
      },
      {
        action: "allow",
        operator: "and",
        outcome: "true",
        criteria: [
          {
            criterion: "domain",
            wanted: { is: "example.com" },
            actual: '"example.com"',
            outcome: "true",
            reasons: ["domain-ok"],
          },
          {
            criterion: "groups",
            wanted: { has: "engineering" },
            actual: '["engineering","on-call"]',
            outcome: "true",
            reasons: ["groups-ok"],
          },
        ],
      },
      {
        action: "allow",
        operator: "or",
        outcome: "false",
        criteria: [
          {
            criterion: "email",
            wanted: { is: "root@example.com" },
            actual: '"alice@example.com"',
            outcome: "false",
            reasons: ["email-unauthorized"],
          },
        ],
      },
    ]);
  });

  test("shows unknown without a user, and error if the facts cannot be checked", () => {
    const nobody = explain(policy, anonymous());
    expect(nobody.rules[1]?.criteria[0]).toMatchObject({
      outcome: "unknown",
      actual: "",
      reasons: ["user-unauthenticated"],
    });
    const odd = explain(policy, asUser({ email: "a@b@c" }));
    expect(odd.decision.allowWhyFalse).toEqual(["policy-error"]);
    expect(odd.rules[1]).toMatchObject({
      outcome: "error",
      criteria: [{ outcome: "error", actual: "" }, { outcome: "true" }],
    });
  });
});

describe("formatExplanation()", () => {
  test("is readable text", () => {
    const text = formatExplanation(
      "alice@example.com calls delete_repo on acme/github",
      explain(policy, asAlice(toolCall("delete_repo"))),
    );
    expect(text).toBe(
      [
        "alice@example.com calls delete_repo on acme/github: denied (mcp-tool-unauthorized)",
        "",
        "deny, any of: true",
        '  true    mcp_tool {"starts_with":"delete_"}, is "delete_repo" (mcp-tool-unauthorized)',
        "",
        "allow, all of: true",
        '  true    domain {"is":"example.com"}, is "example.com" (domain-ok)',
        '  true    groups {"has":"engineering"}, is ["engineering","on-call"] (groups-ok)',
        "",
        "allow, any of: false",
        '  false   email {"is":"root@example.com"}, is "alice@example.com" (email-unauthorized)',
      ].join("\n"),
    );
  });

  test("omits unknown values of the request", () => {
    const doc = { allow: { and: [{ accept: true }, { domain: "example.com" }] } };
    expect(
      formatExplanation("anybody", explain(compilePolicy(doc), anonymous()))
        .split("\n")
        .slice(3),
    ).toEqual(["  true    accept true (accept)", '  unknown domain {"is":"example.com"} (user-unauthenticated)']);
  });

  test("reports that all requests are denied", () => {
    expect(formatExplanation("anybody", explain(compilePolicy(undefined), anonymous()))).toBe(
      "anybody: denied\n\nno allow rule: all requests are denied",
    );
  });
});

test("denialDetails() shows the request's values, and nothing of the rules' operands", () => {
  const doc = { allow: { and: [{ reject: true }, { domain: "secret.example" }] } };
  expect(denialDetails(compilePolicy(doc), asAlice())).toEqual([
    ["Reasons", "domain-unauthorized, reject"],
    ["Allow rule 1", 'all of: reject → false; domain "example.com" → false'],
  ]);
});

test("denialDetails() shows only the deny rules that matched", () => {
  const doc = [
    { deny: { and: [{ email: "bob@example.com" }] } },
    { deny: { and: [{ domain: "example.com" }] } },
    { allow: { and: [{ accept: true }] } },
  ];
  expect(denialDetails(compilePolicy(doc), asAlice()).slice(1)).toEqual([
    ["Deny rule 1", 'all of: domain "example.com" → true'],
  ]);
});
