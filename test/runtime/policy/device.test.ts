import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import { compilePolicy, evaluate } from "../../../runtime/policy/evaluate.ts";
import { denialDetails, explain } from "../../../runtime/policy/explain.ts";
import type { DeviceFacts, Facts } from "../../../runtime/policy/facts.ts";
import {
  MAX_REASONS,
  FALSE,
  packOutcome,
  outcomeOf,
  reasonAt,
  reasonNames,
  reasonsOf,
  TRUE,
  unite,
} from "../../../runtime/policy/packed-outcome.ts";
import { validatePolicy } from "../../../runtime/policy/validate-rules.ts";
import {
  canonicalPolicy,
  OPERATORS,
  parsePolicy,
  type Operator,
  type PolicyDoc,
} from "../../../runtime/policy/parse.ts";
import { mayReachSomething } from "../../../runtime/policy/reach.ts";
import { alice, anonymous, plainHttp } from "../../support/facts.ts";

const laptop: DeviceFacts = { id: "dev_laptop", isApproved: true, type: "enclave_only" };
const key: DeviceFacts = { id: "dev_key", isApproved: false, type: "any" };

function proving(...devices: readonly DeviceFacts[]): Facts {
  return devices.length === 0 ? { user: alice, http: plainHttp } : { user: alice, devices, http: plainHttp };
}

describe("device", () => {
  test.each<readonly [data: object, ofLaptop: boolean, ofKey: boolean, ofBoth: boolean]>([
    [{ is: "dev_laptop" }, true, false, true],
    [{ is: "DEV_LAPTOP" }, false, false, false],
    [{ is: "dev_lap" }, false, false, false],
    [{ approved: true }, true, false, true],
    [{ approved: false }, false, true, true],
    [{ type: "any" }, true, true, true],
    [{ type: "enclave_only" }, true, false, true],
    [{ is: "dev_laptop", approved: true, type: "enclave_only" }, true, false, true],
    [{ is: "dev_key", approved: true }, false, false, false],
    // Of one device: what another one has does not add to it.
    [{ type: "enclave_only", approved: false }, false, false, false],
    [{ is: "dev_key", type: "enclave_only" }, false, false, false],
  ])("%j", (data, ofLaptop, ofKey, ofBoth) => {
    const policy: PolicyDoc = { allow: { and: [{ device: data }] } };
    const compiled = compilePolicy(policy);
    for (const [facts, holds] of [
      [proving(laptop), ofLaptop],
      [proving(key), ofKey],
      [proving(key, laptop), ofBoth],
    ] as const) {
      const { allowed, allowWhyTrue, allowWhyFalse } = evaluate(compiled, facts);
      expect([allowed, allowWhyTrue, allowWhyFalse]).toEqual(
        holds ? [true, ["device-ok"], []] : [false, [], ["device-unauthorized"]],
      );
    }
    expect([compiled.needsDevice, compiled.mayAllowAnonymous]).toEqual([true, false]);
  });

  const data = { type: "any" };
  test.each(OPERATORS)("is unknown without a verified device, and permits nothing in %s", (operator) => {
    for (const [facts, reason] of [
      [proving(), "device-unauthenticated"],
      [anonymous(), "user-unauthenticated"],
      // A device of nobody is none.
      [{ devices: [laptop], http: plainHttp } satisfies Facts, "user-unauthenticated"],
    ] as const) {
      const allowing = evaluate(compilePolicy({ allow: { [operator]: [{ device: data }] } }), facts);
      expect(allowing).toMatchObject({ allowed: false, denied: false, allowWhyFalse: [reason] });
      const denying = evaluate(
        compilePolicy({ allow: { and: [{ accept: true }] }, deny: { [operator]: [{ device: data }] } }),
        facts,
      );
      expect(denying).toMatchObject({ allowed: false, denied: false, allowWhyFalse: [reason] });
    }
  });

  test.each<readonly [Operator, "allow" | "deny", allowedForLaptop: boolean, allowedForKey: boolean]>([
    ["and", "allow", true, false],
    ["or", "allow", true, false],
    ["not", "allow", false, true],
    ["nor", "allow", false, true],
    ["and", "deny", false, true],
    ["or", "deny", false, true],
    ["not", "deny", true, false],
    ["nor", "deny", true, false],
  ])("in %s under %s, its reasons speak for or against access", (operator, action, forLaptop, forKey) => {
    const rule = { [action]: { [operator]: [{ device: { approved: true } }] } };
    const policy: PolicyDoc = action === "allow" ? rule : { allow: { and: [{ accept: true }] }, ...rule };
    for (const [device, isAllowed] of [
      [laptop, forLaptop],
      [key, forKey],
    ] as const) {
      const decision = evaluate(compilePolicy(policy), proving(device));
      expect(decision.allowed).toBe(isAllowed);
      const why =
        action === "deny"
          ? [...decision.denyWhyTrue, ...decision.denyWhyFalse]
          : [...decision.allowWhyTrue, ...decision.allowWhyFalse];
      expect(why).toEqual([isAllowed ? "device-ok" : "device-unauthorized"]);
    }
  });

  test("a decision that is certain without a device needs none", () => {
    const needsBoth: PolicyDoc = { allow: { and: [{ domain: "evil.example" }, { device: data }] } };
    expect(evaluate(compilePolicy(needsBoth), proving()).allowWhyFalse).toEqual(["domain-unauthorized"]);
    const either: PolicyDoc = { allow: { or: [{ domain: "example.com" }, { device: data }] } };
    expect(evaluate(compilePolicy(either), proving()).allowed).toBe(true);
    const denied: PolicyDoc = { allow: { and: [{ device: data }] }, deny: { or: [{ domain: "example.com" }] } };
    expect(evaluate(compilePolicy(denied), proving())).toMatchObject({
      denied: true,
      denyWhyTrue: ["domain-unauthorized"],
    });
  });

  test.each<readonly [unknown, string]>([
    [true, "must be an object with is, approved, type"],
    ["dev_laptop", "must be an object with is, approved, type"],
    [[], "is a list, must be an object"],
    [{}, "is empty, must have at least one of is, approved, type"],
    [{ approve: true }, 'did you mean "approved"?'],
    [{ is: "" }, "must be the id of a device"],
    [{ is: ["dev_laptop"] }, "must be the id of a device"],
    [{ approved: "yes" }, "must be true or false"],
    [{ approved: null }, "must be true or false"],
    [{ type: "enclave" }, "must be one of any, enclave_only"],
    [{ type: undefined }, "must be one of any, enclave_only"],
    [{ constructor: true }, 'unknown member "constructor"'],
  ])("refuses %j, with its place and a wish", (written, message) => {
    const parsed = parsePolicy({ deny: { not: [{ accept: true }, { device: written }] } });
    if (parsed.ok) throw new Error("it was taken");
    expect(parsed.problems.map(({ path }) => path)).toEqual([expect.stringMatching(/^deny\.not\[1\]\.device/)]);
    expect(parsed.problems[0]?.message).toContain(message);
  });

  test("reports every problem", () => {
    const parsed = parsePolicy({ allow: { and: [{ device: { is: 1, approved: 1, type: 1, name: 1 } }] } });
    expect(parsed.ok ? 0 : parsed.problems.length).toBe(4);
  });

  test("has one canonical form", () => {
    const written = { allow: { and: [{ device: { type: "any", approved: false, is: "dev_key" } }] } };
    expect(JSON.stringify(canonicalPolicy(written))).toBe(
      '[{"allow":{"and":[{"device":{"is":"dev_key","approved":false,"type":"any"}}]}}]',
    );
    expect(validatePolicy(written)).toEqual([]);
  });

  test("is explained by the verified devices", () => {
    const policy = compilePolicy({ allow: { and: [{ device: { approved: true } }] } });
    expect(explain(policy, proving(key)).rules[0]?.criteria).toEqual([
      {
        criterion: "device",
        wanted: { approved: true },
        actual: '[{"is":"dev_key","approved":false,"type":"any"}]',
        outcome: "false",
        reasons: ["device-unauthorized"],
      },
    ]);
    expect(explain(policy, proving()).rules[0]?.criteria[0]).toMatchObject({ actual: "", outcome: "unknown" });
    expect(denialDetails(policy, proving(key))[0]).toEqual(["Reasons", "device-unauthorized"]);
  });

  test("an MCP server that requires one is out of reach, since no client of it has one", () => {
    expect(mayReachSomething(compilePolicy({ allow: { and: [{ device: data }] } }), alice)).toBe(false);
    expect(mayReachSomething(compilePolicy({ allow: { not: [{ device: data }] } }), alice)).toBe(false);
    const denying: PolicyDoc = { allow: { and: [{ accept: true }] }, deny: { or: [{ device: data }] } };
    expect(mayReachSomething(compilePolicy(denying), alice)).toBe(false);
    const either: PolicyDoc = { allow: { or: [{ domain: "example.com" }, { device: data }] } };
    expect(mayReachSomething(compilePolicy(either), alice)).toBe(true);
  });
});

describe("a packed outcome", () => {
  test("holds more reasons than an integer has bits", () => {
    const names = Array.from({ length: MAX_REASONS }, (_, index) => `reason-${index}`);
    let all = 0;
    for (const position of names.keys()) {
      const one = packOutcome(TRUE, reasonAt(position));
      expect([outcomeOf(one), reasonNames(reasonsOf(one), names)]).toEqual([TRUE, [`reason-${position}`]]);
      all = unite(all, reasonsOf(one));
      expect(unite(all, reasonAt(position))).toBe(all);
      expect(reasonNames(reasonsOf(packOutcome(FALSE, all)), names)).toEqual(names.slice(0, position + 1));
    }
  });

  test("of a policy with every criterion names them all", () => {
    const data: Readonly<Record<string, unknown>> = {
      device: { type: "any" },
      client_certificate: { san_dns: "x" },
      source_ip: "10.0.0.0/8",
      "claim/a": "x",
      mcp_tool_argument: { tool: "x", argument: "/x", is: "x" },
      mcp_tool_class: "write",
    };
    const presence = ["accept", "reject", "authenticated_user", "cors_preflight", "invalid_client_certificate"];
    const criteria = CRITERIA.map(({ name, takesPath }) => {
      const written = takesPath ? `${name}/a` : name;
      return { [written]: data[written] ?? (presence.includes(name) ? true : "x") };
    });
    const both: PolicyDoc = [{ allow: { and: criteria } }, { deny: { and: criteria } }, { allow: { not: criteria } }];
    const compiled = compilePolicy(both);
    expect(compiled.reasons.length).toBeGreaterThan(31);
    const decision = evaluate(compiled, proving());
    expect(decision.allowed).toBe(false);
    expect(decision.allowWhyFalse).toEqual(
      expect.arrayContaining(["accept", "email-unauthorized", "http-path-unauthorized", "source-ip-unauthorized"]),
    );
  });
});
