/** What is left out of lists cannot be used, and what can be used is in them: over random policies. */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import { readArguments } from "../../../runtime/policy/mcp/argument-values.ts";
import { OPERATORS, type CriterionDoc } from "../../../runtime/policy/parse.ts";
import { mayUse, type ListedItem } from "../../../runtime/policy/reach.ts";
import type { McpFacts } from "../../../runtime/policy/facts.ts";
import { asAlice } from "../../support/facts.ts";

const TOOLS = ["read", "delete_a", "delete_b"];
const URIS = ["file:///srv/a", "file:///etc/x", "file:/etc/x", "file:///srv/../etc", "note:gr%C3%B6"];
const ARGUMENTS = ["{}", '{"env":"dev"}', '{"env":"prod"}', '{"env":1}', '{"Env":"dev","env":"prod"}'];

const criterion = fc.constantFrom<CriterionDoc>(
  { accept: true },
  { domain: "example.com" },
  { email: "bob@example.com" },
  { mcp_tool: { starts_with: "delete_" } },
  { mcp_tool: { not_in: ["read"] } },
  { mcp_tool_argument: { tool: { starts_with: "delete_" }, argument: "/env", is: "dev" } },
  { mcp_tool_argument: { tool: "read", argument: "/env", exists: false } },
  { mcp_resource: { starts_with: "file:///etc/" } },
  { mcp_resource: { in: ["note:grö", "file:///srv/a"] } },
  { mcp_prompt: "ask" },
  { mcp_method: { in: ["tools/call", "resources/read"] } },
);
const rules = fc.record({
  operator: fc.constantFrom(...OPERATORS),
  criteria: fc.array(criterion, { minLength: 1, maxLength: 3 }),
});

test("a policy that allows some use lists the item, and one that lists no item allows no use", () => {
  const uses = (item: ListedItem): readonly McpFacts[] => {
    if (item.kind === "tool")
      return ARGUMENTS.map((text) => ({
        method: "tools/call",
        tool: item.name,
        arguments: readArguments(() => text),
      }));
    if (item.kind === "prompt") return [{ method: "prompts/get", prompt: item.name }];
    return item.kind === "resource" ? [{ method: "resources/read", resource: item.uri }] : [];
  };
  const items: readonly ListedItem[] = [
    ...TOOLS.map((name) => ({ kind: "tool" as const, name })),
    ...["ask", "tell"].map((name) => ({ kind: "prompt" as const, name })),
    ...URIS.map((uri) => ({ kind: "resource" as const, uri })),
  ];
  fc.assert(
    fc.property(rules, fc.option(rules), (allow, deny) => {
      const policy = compilePolicy({
        allow: { [allow.operator]: allow.criteria },
        ...(deny && { deny: { [deny.operator]: deny.criteria } }),
      });
      for (const item of items) {
        const isUsable = uses(item).some((mcp) => evaluate(policy, asAlice(mcp)).allowed);
        if (isUsable) expect(mayUse(policy, asAlice().user, item), JSON.stringify(item)).toBe(true);
        // Nothing of a prompt's or a resource's use is open.
        if (!isUsable && item.kind !== "tool" && allow.criteria.length === 1 && deny === null)
          expect(mayUse(policy, asAlice().user, item), JSON.stringify(item)).toBe(false);
      }
    }),
    { seed: 15, numRuns: 300 },
  );
});
