import { describe, expect, test } from "vitest";

import {
  accept,
  allow,
  and,
  authenticatedUser,
  claim,
  corsPreflight,
  type Criterion,
  deny,
  domain,
  email,
  groups,
  httpMethod,
  httpPath,
  mcpTool,
  nor,
  not,
  or,
  reject,
  sourceIp,
  user,
} from "../../cdktf/index.ts";
import { CRITERIA } from "../../runtime/policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../runtime/policy/match.ts";
import { parsePolicy } from "../../runtime/policy/parse.ts";

const examples: Readonly<Record<string, Criterion>> = {
  accept: accept(),
  reject: reject(),
  authenticated_user: authenticatedUser(),
  user: user.is("u1"),
  email: email.is("a@example.com"),
  domain: domain.is("example.com"),
  groups: groups.has("admins"),
  claim: claim("department").has("sales"),
  mcp_tool: mcpTool.is("search"),
  http_method: httpMethod.in(["GET", "HEAD"]),
  http_path: httpPath.startsWith("/public/"),
  source_ip: sourceIp("10.0.0.0/8", "::1"),
  cors_preflight: corsPreflight(),
};

describe("criteria", () => {
  test("every criterion of the policy language has a factory", () => {
    expect(Object.keys(examples).toSorted()).toEqual(CRITERIA.map(({ name }) => name).toSorted());
  });

  test.each(Object.entries(examples))("%s gives data that the policy language takes", (name, criterion) => {
    const rule = allow(criterion);
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

  test("take several groups as alternatives", () => {
    expect(allow(and(accept()), or(reject()), not(reject()), nor(accept()))).toEqual({
      allow: {
        and: [{ accept: true }],
        or: [{ reject: true }],
        not: [{ reject: true }],
        nor: [{ accept: true }],
      },
    });
  });

  test("refuse what would lose a condition or match everything", () => {
    expect(() => allow(and(accept()), and(reject()))).toThrow("it has and(…) twice");
    expect(() => and()).toThrow("and() has no conditions");
    expect(() => deny(mcpTool.startsWith(""))).toThrow(
      '"deny.and[0].mcp_tool.starts_with" is empty and would match everything',
    );
    expect(() => allow(sourceIp("10.0.0.0/99"))).toThrow('"allow.and[0].source_ip');
  });
});
