import { describe, expect, test } from "vitest";

import {
  accept,
  allow,
  and,
  approve,
  approvedBy,
  authenticatedUser,
  actor,
  actorClaim,
  claim,
  clientCertificate,
  corsPreflight,
  type Criterion,
  deny,
  device,
  domain,
  email,
  groups,
  httpMethod,
  httpPath,
  invalidClientCertificate,
  idp,
  mcpMethod,
  mcpPrompt,
  mcpResource,
  mcpSkill,
  mcpTool,
  mcpToolArgument,
  mcpToolClass,
  nor,
  not,
  or,
  reject,
  shadow,
  sourceIp,
  user,
} from "../../cdktf/index.ts";
import { policyCode } from "../../runtime/config/write/write-policy.ts";
import { CRITERIA } from "../../runtime/policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../runtime/policy/match.ts";
import { enforcedRules, parsePolicy } from "../../runtime/policy/parse.ts";
import { validatePolicy } from "../../runtime/policy/validate-rules.ts";

const examples: Readonly<Record<string, Criterion>> = {
  accept: accept(),
  reject: reject(),
  authenticated_user: authenticatedUser(),
  user: user.is("u1"),
  idp: idp.is("partner"),
  email: email.is("a@example.com"),
  domain: domain.is("example.com"),
  groups: groups.has("admins"),
  claim: claim("department").has("sales"),
  device: device({ is: "dev_1", approved: true, type: "enclave_only" }),
  mcp_tool: mcpTool.is("search"),
  mcp_tool_class: mcpToolClass.has("write"),
  mcp_tool_argument: mcpToolArgument({ tool: { startsWith: "db_" }, argument: "/tables", every: { notIn: ["users"] } }),
  mcp_prompt: mcpPrompt.is("review"),
  mcp_resource: mcpResource.startsWith("file:///srv/"),
  mcp_skill: mcpSkill.startsWith("skill://acme/"),
  mcp_method: mcpMethod.in(["resources/read", "resources/list"]),
  http_method: httpMethod.in(["GET", "HEAD"]),
  http_path: httpPath.startsWith("/public/"),
  actor: actor.startsWith("workload:ci/"),
  actor_claim: actorClaim("/kubernetes.io/namespace").has("agents"),
  source_ip: sourceIp("10.0.0.0/8", "::1"),
  cors_preflight: corsPreflight(),
  client_certificate: clientCertificate({ fingerprint: "ab".repeat(32), sanDns: { endsWith: ".example.com" } }),
  invalid_client_certificate: invalidClientCertificate(),
};

describe("criteria", () => {
  test("names of tools without case have a factory, which files are written with", () => {
    const used = new Set<string>();
    const rule = { deny: { and: [mcpTool.foldCase.in(["delete_secret", "drop"]).data] } };
    expect(rule.deny.and).toEqual([{ mcp_tool: { in: ["delete_secret", "drop"], fold_case: true } }]);
    expect(parsePolicy([rule]).ok).toBe(true);
    expect(policyCode([rule], (name) => (used.add(name), name))).toBe(
      '[deny(mcpTool.foldCase.in(["delete_secret", "drop"]))]',
    );
    expect([...used]).toContain("mcpTool");
    const argument = mcpToolArgument({ tool: { is: "db", foldCase: true }, argument: "/a", exists: true });
    expect(argument.data).toEqual({
      mcp_tool_argument: { tool: { is: "db", fold_case: true }, argument: "/a", exists: true },
    });
  });

  test("every criterion of the policy language has a factory", () => {
    expect(Object.keys(examples).toSorted()).toEqual(CRITERIA.map(({ name }) => name).toSorted());
  });

  test.each(Object.entries(examples))("%s gives data that the policy language takes", (name, criterion) => {
    // A rule with only `reject` would allow no request, which is rejected.
    const rule = name === "reject" ? allow(or(criterion, email.is("a@example.com"))) : allow(criterion);
    expect(parsePolicy(rule).ok).toBe(true);
    expect(Object.keys(criterion.data)[0]?.split("/")[0]).toBe(name);
  });

  test("every operator on text and lists has a method", () => {
    const made = [
      email.is("x"),
      email.isNot("x"),
      email.contains("x"),
      email.startsWith("x"),
      email.endsWith("x"),
      email.in(["x"]),
      email.notIn(["x"]),
    ];
    expect(made.flatMap(({ data }) => Object.keys(data["email"] as object))).toEqual([...STRING_OPERATORS]);
    const lists = [groups.has("x"), groups.is("x"), groups.exclude("x")];
    expect(lists.flatMap(({ data }) => Object.keys(data["groups"] as object))).toEqual([...LIST_OPERATORS]);
  });
});

describe("allow and deny", () => {
  test("give the data of a configuration file", () => {
    expect(allow(domain.is("example.com"))).toEqual({ allow: { and: [{ domain: { is: "example.com" } }] } });
    expect(deny(mcpTool.notIn(["read", "list"]))).toEqual({
      deny: { and: [{ mcp_tool: { not_in: ["read", "list"] } }] },
    });
    expect(allow(or(groups.has("a"), email.endsWith("@b.example")))).toEqual({
      allow: { or: [{ groups: { has: "a" } }, { email: { ends_with: "@b.example" } }] },
    });
  });

  test("are marked by shadow(…), and are then never active", () => {
    const tried = shadow(deny(mcpTool.startsWith("delete_")));
    expect(tried).toEqual({ shadow: true, deny: { and: [{ mcp_tool: { starts_with: "delete_" } }] } });
    expect(validatePolicy([allow(domain.is("example.com")), tried])).toEqual([]);
    expect(enforcedRules([allow(domain.is("example.com")), tried])).toEqual([allow(domain.is("example.com"))]);
  });

  test("ask for an approval by approve(…), of another user by approvedBy(…)", () => {
    const data = { and: [{ mcp_tool: { starts_with: "delete_" } }] };
    expect(approve(mcpTool.startsWith("delete_"))).toEqual({ approve: data });
    expect(approvedBy(["admins"], mcpTool.startsWith("delete_"))).toEqual({ approve: data, approvers: ["admins"] });
    expect(() => approvedBy([], mcpTool.startsWith("delete_"))).toThrow('"approvers" is an empty list');
  });

  test("take several groups as alternatives", () => {
    const one = domain.is("example.com");
    expect(allow(and(one), or(one), not(one), nor(one))).toEqual({
      allow: { and: [one.data], or: [one.data], not: [one.data], nor: [one.data] },
    });
  });

  test("reject rules that would lose a condition or match everything", () => {
    expect(() => allow(and(accept()), and(reject()))).toThrow("it has and(…) twice");
    expect(() => allow(accept(), reject())).toThrow(
      "Cannot make allow(…): it has several conditions, join with and(…) or or(…)",
    );
    expect(() => deny(and(accept()), reject())).toThrow("Cannot make deny(…)");
    expect(() => deny(accept())).toThrow("matches every request, so all are denied");
    expect(() => allow(and(email.is("a@b.c"), email.is("d@b.c")))).toThrow("can never match");
    expect(() => deny(mcpTool.is("delete_*"))).toThrow('use { starts_with: "delete_" }');
    expect(() => and()).toThrow("and() has no conditions");
    expect(() => deny(mcpTool.startsWith(""))).toThrow(
      '"deny.and[0].mcp_tool.starts_with" is empty and would match everything',
    );
    expect(() => allow(sourceIp("10.0.0.0/99"))).toThrow('"allow.and[0].source_ip');
  });
});
