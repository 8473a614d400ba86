import { describe, expect, test } from "vitest";

import { isPlainToolName, lookAlikeFinder, toolNameCheck } from "../../../../runtime/policy/mcp/tool-names.ts";
import { compileStringMatch } from "../../../../runtime/policy/match.ts";
import { compilePolicy, evaluate } from "../../../../runtime/policy/evaluate.ts";
import { parsePolicy, type PolicyDoc } from "../../../../runtime/policy/parse.ts";

const REAL = ["Create CIFS Share", "notes/add", "a:b", "読む", "Café ☕", "Создать VM", "Slack通知", "x".repeat(200)];

describe("toolNameCheck()", () => {
  test.each([
    ["is", { is: "delete_secret" }],
    ["in", { in: ["delete_secret", "drop-table"] }],
    ["not_in", { not_in: ["delete_secret", "list"] }],
    ["a beginning", { starts_with: "delete_" }],
    ["an end", { ends_with: "_secret" }],
    ["without case", { is: "delete_secret", fold_case: true as const }],
  ])("takes real tools beside a rule with %s", (_how, match) => {
    const isClear = toolNameCheck([match]);
    for (const name of REAL) expect([name, isClear(name)]).toEqual([name, true]);
  });

  test.each([
    "delete_secret ",
    " delete_secret",
    "Delete Secret",
    "delete secret",
    "delete/secret",
    "./delete_secret",
    "x/../delete_secret",
    "ｄelete_secret",
    "délete_secret",
    "delete_ſecret",
    "delete_secret読",
    "delete\u200b_secret",
    "delete\u00a0secret",
    "delete%5Fsecret",
    "delete&#95;secret",
    "delete\\u005fsecret",
    "DELETE_SECRET!",
    "d\u0435lete_secret",
    "delete_secre\u03c4",
    `${" ".repeat(300)}delete_secret`,
  ])("rejects %j, which a server could read as the one that rules name", (name) => {
    expect(isPlainToolName(name)).toBe(false);
    for (const match of [
      { is: "delete_secret" },
      { in: ["delete_secret"] },
      { not_in: ["delete_secret"] },
      { not: "delete_secret" },
    ])
      expect([match, toolNameCheck([match])(name)]).toEqual([match, false]);
    // Where a rule about a part of names holds of it however it is read, that rule decides.
    for (const match of [{ starts_with: "delete_" }, { contains: "delete_secret" }, { ends_with: "_secret" }])
      expect(toolNameCheck([match])(name) && !compileStringMatch(match, (text) => text)(name)).toBe(false);
  });

  test("accepts a name that a rule names exactly, although another one resembles it", () => {
    const isClear = toolNameCheck([{ in: ["create_share", "Create Share"] }]);
    expect(isClear("Create Share")).toBe(true);
    expect(isClear("create share")).toBe(false);
    // Not where parts of names decide, which nobody wrote with this name in mind.
    expect(toolNameCheck([{ is: "Create Share" }, { starts_with: "create_" }])("Create Share")).toBe(false);
  });

  test("permits tools of servers that differ from those of rules by a segment", () => {
    const isClear = toolNameCheck([{ is: "admin/delete" }]);
    expect(isClear("notes/delete")).toBe(true);
    expect(isClear("admin:delete")).toBe(false);
  });
});

const policy: PolicyDoc = [
  { allow: { and: [{ accept: true }] } },
  { deny: { or: [{ mcp_tool: { is: "delete_secret", fold_case: true } }] } },
];

describe("fold_case", () => {
  const call = (tool: string): boolean =>
    evaluate(compilePolicy(policy), {
      http: { method: "POST", path: "/mcp", host: "h", ip: "127.0.0.1" },
      mcp: { method: "tools/call", tool },
    }).allowed;

  test("covers a name in any case", () => {
    expect(["delete_secret", "DELETE_SECRET", "Delete_Secret", "list"].map(call)).toEqual([false, false, false, true]);
  });

  test("is part of the canonical document, and omitted if false", () => {
    expect(compilePolicy(policy).toolMatches).toEqual([{ is: "delete_secret", fold_case: true }]);
    const plain = [{ deny: { or: [{ mcp_tool: { is: "a", fold_case: false } }] } }];
    expect(compilePolicy(plain).toolMatches).toEqual([{ is: "a" }]);
  });

  test.each([
    [{ mcp_tool: { fold_case: true } }, /has no operator/],
    [{ mcp_tool: { is: "a", fold_case: "yes" } }, /must be true or false/],
    [{ email: { is: "a@b", fold_case: true } }, /fold_case/],
    [{ mcp_prompt: { is: "a", fold_case: true } }, /fold_case/],
  ])("%j is refused", (criterion, message) => {
    const parsed = parsePolicy([{ deny: { or: [criterion] } }]);
    expect(parsed.ok ? "" : JSON.stringify(parsed.problems)).toMatch(message);
  });
});

describe("lookAlikeFinder()", () => {
  test("finds tools that a rule misses only because of case or spelling", () => {
    const ruleOf = lookAlikeFinder([{ is: "delete_secret" }]);
    expect(
      ["DELETE_SECRET", "delete-secret", "Delete Secret", "delete_secret", "list"].map((tool) => ruleOf?.(tool)),
    ).toEqual(["delete_secret", "delete_secret", "delete_secret", undefined, undefined]);
  });

  test("finds none that another rule covers", () => {
    expect(lookAlikeFinder([{ is: "delete_secret", fold_case: true }])).toBeUndefined();
    const folded = lookAlikeFinder([{ is: "delete_secret" }, { is: "delete_secret", fold_case: true }]);
    expect(folded?.("DELETE_SECRET")).toBeUndefined();
    expect(folded?.("delete-secret")).toBe("delete_secret");
    const all = lookAlikeFinder([{ in: ["delete_secret", "DELETE_SECRET"] }]);
    expect(all?.("DELETE_SECRET")).toBeUndefined();
    expect(lookAlikeFinder([{ starts_with: "delete_" }])).toBeUndefined();
  });
});
