/** What records, metrics and other people's programs know criteria by: words that stay. */
import { expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import type { CriterionDoc } from "../../../runtime/policy/parse.ts";
import { mayReachSomething } from "../../../runtime/policy/reach.ts";
import { alice, anonymous, asUser } from "../../support/facts.ts";

test("criteria, the subject of each, and its reasons in records", () => {
  expect(CRITERIA.map(({ name, about, reasons }) => [name, about, reasons.ok, reasons.no])).toEqual([
    ["accept", "nothing", "accept", "accept"],
    ["reject", "nothing", "reject", "reject"],
    ["authenticated_user", "user", "authenticated-user", "user-unauthorized"],
    ["user", "user", "user-ok", "user-unauthorized"],
    ["idp", "user", "idp-ok", "idp-unauthorized"],
    ["email", "user", "email-ok", "email-unauthorized"],
    ["domain", "user", "domain-ok", "domain-unauthorized"],
    ["groups", "user", "groups-ok", "groups-unauthorized"],
    ["claim", "user", "claim-ok", "claim-unauthorized"],
    ["device", "device", "device-ok", "device-unauthorized"],
    ["actor", "user", "user-ok", "user-unauthorized"],
    ["actor_claim", "user", "claim-ok", "claim-unauthorized"],
    ["mcp_tool", "tool", "mcp-tool-ok", "mcp-tool-unauthorized"],
    ["mcp_tool_class", "tool", "mcp-tool-ok", "mcp-tool-unauthorized"],
    ["mcp_tool_argument", "tool", "mcp-tool-argument-ok", "mcp-tool-argument-unauthorized"],
    ["mcp_prompt", "message", "mcp-prompt-ok", "mcp-prompt-unauthorized"],
    ["mcp_resource", "message", "mcp-resource-ok", "mcp-resource-unauthorized"],
    ["mcp_skill", "message", "mcp-resource-ok", "mcp-resource-unauthorized"],
    ["mcp_method", "message", "mcp-method-ok", "mcp-method-unauthorized"],
    ["http_method", "request", "http-method-ok", "http-method-unauthorized"],
    ["http_path", "request", "http-path-ok", "http-path-unauthorized"],
    ["source_ip", "request", "source-ip-ok", "source-ip-unauthorized"],
    ["cors_preflight", "request", "cors-request", "non-cors-request"],
    ["client_certificate", "certificate", "client-certificate-ok", "client-certificate-unauthorized"],
    ["invalid_client_certificate", "certificate", "invalid-client-certificate", "valid-client-certificate"],
  ]);
});

const actor = { id: "workload:pods/a", run: "r", claims: { pod: "p-1" } };

test.each<[data: CriterionDoc, user: boolean, agent: boolean]>([
  [{ actor: "workload:pods/a" }, false, true],
  [{ actor: "workload:pods/b" }, false, false],
  // Not about users without an agent, whatever the operator.
  [{ actor: { not: "workload:pods/b" } }, false, true],
  [{ actor: { not_in: [] } }, false, true],
  [{ "actor_claim/pod": "p-1" }, false, true],
  [{ "actor_claim/pod": { exclude: "p-2" } }, false, true],
  [{ "actor_claim/pod": "p-2" }, false, false],
])("%j holds for a user %s, for an agent %s", (criterion, ofUser, ofAgent) => {
  const [by, alone] = [asUser({ actor }), asUser({})];
  for (const [facts, holds] of [
    [alone, ofUser],
    [by, ofAgent],
  ] as const) {
    const allows = (operator: string): boolean =>
      evaluate(compilePolicy({ allow: { [operator]: [criterion] } }), facts).allowed;
    const passes = (operator: string): boolean =>
      evaluate(compilePolicy([{ allow: { and: [{ accept: true }] } }, { deny: { [operator]: [criterion] } }]), facts)
        .allowed;
    expect([allows("and"), allows("not"), passes("and"), passes("nor")]).toEqual([holds, !holds, !holds, holds]);
    const reach = compilePolicy({ allow: { and: [criterion] } });
    expect(mayReachSomething(reach, facts.user)).toBe(holds);
  }
});

test("a claim of an agent that its rule does not name allows nothing, whatever the operator, and an anonymous request neither", () => {
  const criterion = { "actor_claim/env": { exclude: "prod" } };
  for (const facts of [asUser({ actor }), anonymous()])
    for (const operator of ["and", "or", "not", "nor"]) {
      const allow = compilePolicy({ allow: { [operator]: [criterion] } });
      const deny = compilePolicy([{ allow: { and: [{ accept: true }] } }, { deny: { [operator]: [criterion] } }]);
      expect([evaluate(allow, facts).allowed, evaluate(deny, facts).allowed]).toEqual([false, false]);
    }
  const allow = compilePolicy({ allow: { not: [criterion] } });
  expect(mayReachSomething(allow, { ...alice, actor })).toBe(false);
});
