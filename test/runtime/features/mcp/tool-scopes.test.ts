import { describe, expect, test } from "vitest";

import { compileToolScopes, scopesOfTool } from "../../../../runtime/features/mcp/tool-scopes.ts";
import type { Principal } from "../../../../runtime/identity/principal.ts";
import { missingScopes } from "../../../../runtime/proxy/answers/require-scopes.ts";
import type { RequestContext } from "../../../../runtime/proxy/request-context.ts";
import { chooseScope } from "../../../../runtime/oauth/server/grants/id-jag-claims.ts";
import { checkedFrom, snapshotFrom } from "../../../support/config.ts";
import { testPrincipal } from "../../../support/pipeline.ts";

const yaml = (scopes: string): string => `
runtime_flags: { mcp: true }
routes: [{ from: https://app.example, to: http://127.0.0.1:9, policy: [], mcp: { server: { tool_scopes: ${scopes} } } }]`;

describe("tool_scopes", () => {
  test("scopesOfTool() returns the scopes of all entries that match a tool", () => {
    const scopes = compileToolScopes({ add: ["write"], "delete_*": ["write", "admin"], "*": ["use"], none: [] });
    if (!scopes) throw new Error("none");
    expect(scopesOfTool(scopes, "add")).toEqual(["use", "write"]);
    expect(scopesOfTool(scopes, "delete_all")).toEqual(["admin", "use", "write"]);
    expect(scopesOfTool(scopes, "none")).toEqual(["use"]);
    expect([...scopes.tools]).toEqual([
      ["admin", ["delete_*"]],
      ["use", ["*"]],
      ["write", ["add", "delete_*"]],
    ]);
    expect(compileToolScopes({ none: [] })).toBeUndefined();
  });

  test.each([
    ['{ "a b": [x] }', 'must be the name of a tool, or a prefix followed by "*"'],
    ['{ "a*b": [x] }', "must be the name of a tool"],
    ["{ add: [mcp] }", "must be another name"],
    ["{ add: [offline_access] }", "must be another name"],
    ['{ add: ["a b"] }', "must be a scope"],
    ["{ add: ['a\"b'] }", "must be a scope"],
    [`{ add: [${Array.from({ length: 51 }, (_, each) => `s${each}`).join(", ")}] }`, "has 51 scopes"],
  ])("%s is refused", (scopes, problem) => {
    expect(() => checkedFrom(yaml(scopes))).toThrow(problem);
  });
});

describe("missingScopes()", () => {
  const [route] = snapshotFrom(yaml("{ add: [write] }")).routes;
  const ask = (principal: Partial<Principal>, message: object = { facts: { method: "tools/call", tool: "add" } }) => {
    const context = { prepared: { route }, principal: testPrincipal("alice", 0, principal), message };
    return missingScopes(context as unknown as RequestContext);
  };

  test.each<[string, Partial<Principal>, readonly string[] | undefined]>([
    ["a client without it", { kind: "grant", clientId: "c" }, ["write"]],
    ["one with another", { kind: "grant", clientId: "c", scopes: ["read"] }, ["write"]],
    ["one with it", { kind: "grant", clientId: "c", scopes: ["read", "write"] }, undefined],
    ["a workload", { kind: "workload" }, ["write"]],
    ["the client of a service account", { kind: "service-account", clientId: "c" }, ["write"]],
    ["a service account by its printed token", { kind: "service-account" }, undefined],
    ["an application", { kind: "application" }, undefined],
  ])("%s", (_name, principal, missing) => expect(ask(principal)).toEqual(missing));

  test("applies to tools that need one, and to tasks of them", () => {
    expect(ask({ kind: "grant" }, { facts: { method: "tools/call", tool: "list" } })).toBeUndefined();
    expect(ask({ kind: "grant" }, { facts: { method: "tools/list" } })).toBeUndefined();
  });
});

test("chooseScope(): an issuer's assertion is the upper limit, and one without scopes permits no tool", () => {
  const supported = ["mcp", "admin", "write"];
  const choose = (claim: string | undefined, requested: string | undefined): unknown => {
    const chosen = chooseScope({ ...(claim !== undefined && { scope: claim }) }, requested, supported);
    return chosen.ok ? chosen.value : chosen.refusal.error;
  };
  expect(choose(undefined, undefined)).toBe("mcp");
  expect(choose(undefined, "mcp admin")).toBe("mcp");
  expect(choose("mcp write other", undefined)).toBe("mcp write");
  expect(choose("mcp write", "mcp admin")).toBe("mcp");
  expect(choose("mcp write", "admin")).toBe("invalid_scope");
  expect(choose("other", undefined)).toBe("invalid_grant");
});
