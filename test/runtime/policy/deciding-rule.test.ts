/** Which rule stands in the record. */
import { expect, test } from "vitest";

import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import { findDecidingRule } from "../../../runtime/policy/recorded/deciding-rule.ts";
import type { PolicyDoc } from "../../../runtime/policy/parse.ts";
import { anonymous, asAlice, toolCall } from "../../support/facts.ts";

const policy: PolicyDoc = [
  { allow: { and: [{ domain: "nobody.example" }], or: [{ email: "alice@example.com" }] }, shadow: true },
  { allow: { and: [{ domain: "nobody.example" }], or: [{ email: "alice@example.com" }] } },
  {
    allow: { and: [{ domain: "example.com" }] },
    deny: { or: [{ mcp_tool: "drop" }], nor: [{ domain: "example.com" }] },
  },
];

test.each([
  ["the first of those that let it pass", policy, asAlice(toolCall("read")), "/0/allow/or"],
  ["the one that forbids it, whatever lets it pass", policy, asAlice(toolCall("drop")), "/1/deny/or"],
  ["no rule if none allows the request", policy, anonymous(toolCall("read")), undefined],
  ["the only one there is", [{ allow: { or: [{ domain: "example.com" }] } }], asAlice(), "/0/allow/or"],
  [
    "the one that asks for an approval",
    [{ allow: { or: [{ domain: "example.com" }] } }, { approve: { or: [{ mcp_tool: "drop" }] } }],
    asAlice(toolCall("drop")),
    "/1/approve/or",
  ],
  [
    "the one that is unknown, and denies for that",
    [
      { allow: { or: [{ domain: "example.com" }] } },
      {
        deny: {
          and: [{ mcp_tool: "pay" }],
          or: [{ mcp_tool_argument: { tool: "drop", argument: "/env", is: "prod" } }],
        },
      },
    ],
    asAlice(toolCall("drop")),
    "/1/deny/or",
  ],
  ["no rule without a policy", [], asAlice(), undefined],
] satisfies readonly (readonly [string, PolicyDoc, ReturnType<typeof asAlice>, string | undefined])[])(
  "findDecidingRule() names %s",
  (_, doc, facts, expected) => {
    const compiled = compilePolicy(doc);
    expect(findDecidingRule(compiled, facts, evaluate(compiled, facts))).toBe(expected);
  },
);
