import { describe, expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../runtime/config/load.ts";
import { type AccessKeys, routePolicy } from "../../../runtime/policy/access-keys.ts";
import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import type { PolicyDoc } from "../../../runtime/policy/parse.ts";
import { anonymous, asAlice, asUser, plainHttp } from "../../support/facts.ts";

function allowed(keys: AccessKeys & { readonly policy?: PolicyDoc }, facts = asAlice()): boolean {
  return evaluate(compilePolicy(routePolicy(keys)), facts).allowed;
}

describe("access keys of a route", () => {
  test("allow_public_unauthenticated_access allows every request", () => {
    expect(allowed({ allow_public_unauthenticated_access: true }, anonymous())).toBe(true);
    expect(allowed({ allow_public_unauthenticated_access: false }, anonymous())).toBe(false);
  });

  test("allow_any_authenticated_user allows only signed-in users", () => {
    expect(allowed({ allow_any_authenticated_user: true })).toBe(true);
    expect(allowed({ allow_any_authenticated_user: true }, anonymous())).toBe(false);
  });

  test("allowed_users accepts email addresses and user IDs", () => {
    expect(allowed({ allowed_users: ["ALICE@example.com"] })).toBe(true);
    expect(allowed({ allowed_users: ["user-1"] })).toBe(true);
    expect(allowed({ allowed_users: ["user-10", "alice@example.org"] })).toBe(false);
  });

  test.each(["user-2", "service-account:ci", "issuer:corp/1", "issuer:corp/a@example.com"])(
    "allowed_users: the ID %s does not match a user whose address has the same text",
    (id) => {
      expect(allowed({ allowed_users: [id] }, asUser({ email: id }))).toBe(false);
      expect(allowed({ allowed_users: [id] }, asUser({ id }))).toBe(true);
    },
  );

  test("allowed_domains are exact", () => {
    expect(allowed({ allowed_domains: ["example.com"] })).toBe(true);
    expect(allowed({ allowed_domains: ["example.com"] }, asUser({ email: "a@sub.example.com" }))).toBe(false);
    expect(allowed({ allowed_domains: ["example.com"] }, asUser({ email: "a@evil.com@example.com" }))).toBe(false);
  });

  test("allowed_idp_claims: one value of one claim is enough", () => {
    expect(allowed({ allowed_idp_claims: { department: ["sales", "platform"] } })).toBe(true);
    expect(allowed({ allowed_idp_claims: { department: ["sales"], level: ["3"] } })).toBe(true);
    expect(allowed({ allowed_idp_claims: { department: ["sales"] } })).toBe(false);
    expect(allowed({ allowed_idp_claims: { constructor: ["x"] } })).toBe(false);
  });

  test("cors_allow_preflight lets preflights pass and nothing else", () => {
    const preflight = { http: { ...plainHttp, method: "OPTIONS", isCorsPreflight: true } };
    expect(allowed({ cors_allow_preflight: true }, preflight)).toBe(true);
    expect(allowed({ cors_allow_preflight: true }, anonymous())).toBe(false);
    expect(allowed({ cors_allow_preflight: true })).toBe(false);
  });

  test("they add to the policy, and its deny rules win over them", () => {
    const policy: PolicyDoc = { deny: { or: [{ groups: "on-call" }] } };

    expect(allowed({ allow_public_unauthenticated_access: true, policy })).toBe(false);
    expect(allowed({ allowed_domains: ["example.org"], policy: { allow: { and: [{ groups: "on-call" }] } } })).toBe(
      true,
    );
  });

  test("without any of them and without a policy every request is denied", () => {
    expect(routePolicy({})).toBeUndefined();
    expect(allowed({})).toBe(false);
  });
});

describe("loadSlices() validates them", () => {
  const problemsOf = (settings: string, boot = ""): readonly string[] =>
    loadSlices([
      {
        file: "gateway.yaml",
        boot: true,
        text: `insecure_server: true\n${boot}\nroutes:\n  - { name: r, from: "http://a.example", to: "http://b.example", ${settings} }\n`,
      },
    ])
      .problems.map(formatProblem)
      .filter((text) => text.includes("routes"));

  test.each<readonly [string, string, string]>([
    [
      "public and a list",
      "allow_public_unauthenticated_access: true, allowed_users: [a@b.c]",
      '"allow_public_unauthenticated_access", which allows these users',
    ],
    [
      "anybody and a list",
      "allow_any_authenticated_user: true, allowed_idp_claims: { a: [b] }",
      '"allow_any_authenticated_user", which allows these users',
    ],
    [
      "public and anybody",
      "allow_public_unauthenticated_access: true, allow_any_authenticated_user: true",
      'cannot be combined with "allow_public_unauthenticated_access"',
    ],
    ["an empty list", "allowed_domains: []", "is empty and matches no user"],
    ["a claim without values", "allowed_idp_claims: { a: [] }", "is empty and matches no user"],
    ["a domain with a wildcard", 'allowed_domains: ["*.example.com"]', "must be a domain without wildcard"],
    ["a claim that is no list", "allowed_idp_claims: { a: b }", "must be a list of texts"],
    [
      "a tool rule where no tools are",
      "policy: { allow: { and: [{ mcp_tool: x }, { domain: example.com }] } }",
      "the route is not an MCP server route",
    ],
    [
      "certificates that no client is asked for",
      "policy: { allow: { and: [{ client_certificate: { san_dns: x } }] } }",
      'requires "downstream_mtls"',
    ],
    ["deny accept", "policy: { deny: { and: [{ accept: true }] } }", "so all are denied"],
    ["an empty and", "policy: { allow: { and: [] } }", "is an empty list"],
  ])("%s", (_, settings, message) => {
    const found = problemsOf(settings);

    expect(found.join("\n")).toContain(message);
    expect(found.every((text) => text.includes("r"))).toBe(true);
  });

  test("only warns of a deny rule about tools, which one policy may have for routes of both kinds", () => {
    const { problems } = loadSlices([
      {
        file: "gateway.yaml",
        boot: true,
        text: 'insecure_server: true\nroutes: [{ from: "http://a.example", to: "http://b.example", policy: [{ allow: { and: [{ authenticated_user: true }] } }, { deny: { or: [{ mcp_tool: x }] } }] }]\n',
      },
    ]);

    expect(problems.filter(({ path }) => path.includes("mcp_tool"))).toMatchObject([
      { severity: "warning", message: expect.stringContaining("can never match") as unknown },
    ]);
  });

  test("reports a policy for certificates as valid, but rules about invalid ones as never matching", () => {
    const boot = "insecure_server: false\ncertificates: [{ certificate_file: a, certificate_key_file: b }]";
    const policy =
      "policy: { deny: { or: [{ invalid_client_certificate: true }] }, allow: { and: [{ authenticated_user: true }] } }";
    const load = (mtls: string) =>
      loadSlices([
        {
          file: "gateway.yaml",
          boot: true,
          text: `${boot}\ndownstream_mtls: ${mtls}\nroutes:\n  - { from: "https://a.example", to: "http://b.example", ${policy} }\n`,
        },
      ]).problems.filter(({ path }) => path.includes("invalid_client_certificate"));

    expect(load("{ ca_file: c, enforcement: policy }")).toEqual([]);
    expect(load("{ ca_file: c }")).toMatchObject([{ severity: "warning" }]);
  });

  test("a route with only access keys is not reported as closed", () => {
    expect(problemsOf("allowed_users: [a@b.c]")).toEqual([]);
    expect(problemsOf("timeout: 3s").join()).toContain('has no "policy", so everything is denied');
  });
});
