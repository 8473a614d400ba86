import { describe, expect, test } from "vitest";

import { compilePolicy } from "../../../runtime/policy/evaluate.ts";
import type { PolicyDoc } from "../../../runtime/policy/parse.ts";
import { mayReachSomething } from "../../../runtime/policy/reach.ts";
import { alice } from "../../support/facts.ts";

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

  test("a user whose facts cannot be judged reaches nothing", () => {
    const user = { ...alice, email: "a@b@example.com" };
    expect(mayReachSomething(compilePolicy({ allow: { or: [{ domain: "example.com" }] } }), user)).toBe(false);
    expect(mayReachSomething(compilePolicy({ allow: { not: [{ domain: "evil.example" }] } }), user)).toBe(false);
    const denyOthers: PolicyDoc = { allow: { or: [{ accept: true }] }, deny: { or: [{ domain: "evil.example" }] } };
    expect(mayReachSomething(compilePolicy(denyOthers), user)).toBe(false);
  });
});
