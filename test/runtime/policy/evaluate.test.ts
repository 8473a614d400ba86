import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { CRITERIA } from "../../../runtime/policy/criteria.ts";
import {
  POLICY_ERROR,
  compilePolicy,
  evaluate,
  isAmbiguous,
  refusedDecision,
} from "../../../runtime/policy/evaluate.ts";
import type { Decision, Facts } from "../../../runtime/policy/facts.ts";
import {
  FALSE,
  MAX_REASONS,
  outcomeOf,
  packOutcome,
  reasonsOf,
  TRUE,
  unite,
} from "../../../runtime/policy/packed-outcome.ts";
import type { PolicyDoc, RulesDoc } from "../../../runtime/policy/parse.ts";
import { findAny, findRule, type OperatorRule } from "../../../runtime/policy/tree.ts";
import { anonymous, asAlice, asUser, plainHttp, toolCall } from "../../support/facts.ts";

function decide(doc: PolicyDoc | undefined, facts: Facts): Decision {
  return evaluate(compilePolicy(doc), facts);
}

function allows(doc: PolicyDoc, facts: Facts): boolean {
  return decide(doc, facts).allowed;
}

const yes = { accept: true };
const no = { reject: true };

describe("evaluate() operators", () => {
  test.each<[string, RulesDoc["allow"], boolean]>([
    ["and of true", { and: [yes, yes] }, true],
    ["and with one false", { and: [yes, no] }, false],
    ["or with one true", { or: [no, yes] }, true],
    ["or of false", { or: [no, no] }, false],
    ["not of false", { not: [no, no] }, true],
    ["not with one true", { not: [no, yes] }, false],
    ["nor with one false", { nor: [yes, no] }, true],
    ["nor of true", { nor: [yes, yes] }, false],
    ["several operators are joined by or", { and: [no], or: [yes] }, true],
    ["no operator", {}, false],
    ["empty lists", { and: [], or: [], not: [], nor: [] }, false],
  ])("%s", (_, allow, allowed) => {
    expect(allows({ allow: allow ?? {} }, asAlice())).toBe(allowed);
  });

  test("rules of one action are joined by or", () => {
    expect(allows([{ allow: { or: [no] } }, { allow: { or: [yes] } }], asAlice())).toBe(true);
    expect(allows([{ allow: { or: [yes] } }, { deny: { or: [no] } }, { deny: { or: [yes] } }], asAlice())).toBe(false);
  });
});

describe("evaluate() verdict", () => {
  test.each<[string, PolicyDoc | undefined, boolean]>([
    ["no policy allows nothing", undefined, false],
    ["an empty policy allows nothing", [], false],
    ["deny rules without allow rules allow nothing", { deny: { or: [no] } }, false],
    ["deny wins over allow", { allow: { or: [yes] }, deny: { or: [yes] } }, false],
    ["deny wins whatever the order", [{ deny: { or: [yes] } }, { allow: { or: [yes] } }], false],
    ["an empty deny denies nothing", { allow: { or: [yes] }, deny: { or: [] } }, true],
  ])("%s", (_, doc, allowed) => {
    expect(decide(doc, asAlice()).allowed).toBe(allowed);
  });
});

describe("evaluate() criteria about the user", () => {
  test.each<[criterion: Record<string, unknown>, holds: boolean]>([
    [{ user: "user-1" }, true],
    [{ user: "USER-1" }, false],
    [{ user: "alice@example.com" }, false],
    [{ email: "Alice@Example.com" }, true],
    [{ email: { ends_with: "@example.com" } }, true],
    [{ email: { in: ["bob@example.com"] } }, false],
    [{ domain: "example.com" }, true],
    [{ domain: "EXAMPLE.com" }, true],
    [{ domain: "ample.com" }, false],
    [{ domain: { ends_with: ".example.com" } }, false],
    [{ groups: "engineering" }, true],
    [{ groups: { has: "Engineering" } }, false],
    [{ groups: { exclude: "contractors" } }, true],
    [{ "claim/department": "platform" }, true],
    [{ "claim/level": "3" }, true],
    [{ "claim/nested/team": { has: "infra" } }, true],
    [{ "claim/nested": "core" }, false],
    [{ "claim/https://example.com/role": "lead" }, true],
    [{ "claim/missing": { exclude: "x" } }, true],
    [{ "claim/constructor": { exclude: "x" } }, true],
    [{ "claim/__proto__/x": "y" }, false],
    [{ authenticated_user: true }, true],
    [{ accept: true }, true],
    [{ reject: true }, false],
  ])("%j", (criterion, holds) => {
    expect(allows({ allow: { or: [criterion] } }, asAlice())).toBe(holds);
  });

  test("email and domain compare in lower case on both sides", () => {
    const loud = asUser({ email: "ALICE@EXAMPLE.COM" });
    expect(allows({ allow: { and: [{ email: "alice@example.com" }, { domain: "example.com" }] } }, loud)).toBe(true);
  });

  test("domain of an address without @ is empty and matches no domain", () => {
    expect(allows({ allow: { or: [{ domain: "example.com" }] } }, asUser({ email: "example.com" }))).toBe(false);
    expect(allows({ allow: { or: [{ domain: "example.com" }] } }, asUser({ email: "" }))).toBe(false);
  });

  test.each(["a@evil.example@example.com", '"a@example.com"@evil.example', "@@"])(
    "email and domain are undecidable for %j: denied under every operator and action",
    (email) => {
      const facts = asUser({ email });
      for (const operator of ["and", "or", "not", "nor"]) {
        for (const criterion of [
          { domain: "example.com" },
          { domain: { not: "example.com" } },
          // How people write a domain rule who do not know the other one.
          { email: { ends_with: "@example.com" } },
          { email: { contains: "@example.com" } },
        ]) {
          const inAllow = { allow: { [operator]: [criterion] } };
          const inDeny = { allow: { or: [yes] }, deny: { [operator]: [criterion] } };
          expect(decide(inAllow, facts)).toEqual(refusedDecision(POLICY_ERROR));
          expect(decide(inDeny, facts)).toEqual(refusedDecision(POLICY_ERROR));
        }
      }
    },
  );
});

describe("evaluate() criteria about the request", () => {
  const at = (http: Partial<Facts["http"]>): Facts => ({ http: { ...plainHttp, ...http } });
  test.each<[criterion: Record<string, unknown>, http: Partial<Facts["http"]>, holds: boolean]>([
    [{ http_method: "get" }, { method: "GET" }, true],
    [{ http_method: { in: ["GET", "HEAD"] } }, { method: "POST" }, false],
    [{ http_path: "/healthz" }, { path: "/healthz" }, true],
    [{ http_path: "/healthz" }, { path: "/HEALTHZ" }, false],
    [{ http_path: { starts_with: "/public/" } }, { path: "/private/public/" }, false],
    [{ source_ip: "192.0.2.7" }, { ip: "192.0.2.7" }, true],
    [{ source_ip: "192.0.2.0/24" }, { ip: "192.0.2.255" }, true],
    [{ source_ip: "192.0.2.9/24" }, { ip: "192.0.2.1" }, true],
    [{ source_ip: "192.0.2.0/24" }, { ip: "::ffff:192.0.2.1" }, true],
    [{ source_ip: "192.0.2.0/24" }, { ip: "192.0.3.1" }, false],
    [{ source_ip: "0.0.0.0/0" }, { ip: "2001:db8::1" }, false],
    [{ source_ip: ["10.0.0.0/8", "2001:db8::/32"] }, { ip: "2001:db8::1" }, true],
    [{ source_ip: "0.0.0.0/0" }, { ip: "unix" }, false],
    [{ cors_preflight: true }, { isCorsPreflight: true }, true],
    [{ cors_preflight: true }, {}, false],
  ])("%j at %j", (criterion, http, holds) => {
    expect(allows({ allow: { or: [criterion] } }, at(http))).toBe(holds);
  });

  test("an invalid address denies even where it would support access", () => {
    expect(allows({ allow: { not: [{ source_ip: "10.0.0.0/8" }] } }, at({ ip: "?" }))).toBe(false);
    expect(allows({ allow: { or: [yes] }, deny: { or: [{ source_ip: "10.0.0.0/8" }] } }, at({ ip: "" }))).toBe(false);
  });
});

describe("evaluate() mcp_tool reasons (D9)", () => {
  const underAllow: PolicyDoc = {
    allow: { and: [{ domain: "example.com" }, { mcp_tool: { in: ["search", "fetch"] } }] },
  };
  const underDeny: PolicyDoc = {
    allow: { and: [{ domain: "example.com" }] },
    deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] },
  };
  const allowList: PolicyDoc = {
    allow: { or: [{ authenticated_user: true }] },
    deny: { and: [{ mcp_tool: { not_in: ["search"] } }] },
  };
  const none: PolicyDoc = { allow: { or: [{ domain: "example.com" }] } };

  test.each<[string, PolicyDoc, Facts, Partial<Decision>]>([
    [
      "under allow, match",
      underAllow,
      asAlice(toolCall("search")),
      { allowed: true, denied: false, allowWhyTrue: ["domain-ok", "mcp-tool-ok"], allowWhyFalse: [] },
    ],
    [
      "under allow, no match",
      underAllow,
      asAlice(toolCall("delete_repo")),
      { allowed: false, denied: false, allowWhyTrue: [], allowWhyFalse: ["mcp-tool-unauthorized"] },
    ],
    [
      "under allow, another method",
      underAllow,
      asAlice({ method: "tools/list" }),
      { allowed: false, denied: false, allowWhyTrue: [], allowWhyFalse: ["mcp-not-a-tool-call"] },
    ],
    [
      "under deny, match",
      underDeny,
      asAlice(toolCall("delete_repo")),
      {
        allowed: false,
        denied: true,
        allowWhyTrue: [],
        allowWhyFalse: ["mcp-tool-unauthorized"],
        denyWhyTrue: ["mcp-tool-unauthorized"],
        denyWhyFalse: [],
      },
    ],
    [
      "under deny, no match",
      underDeny,
      asAlice(toolCall("search")),
      {
        allowed: true,
        denied: false,
        allowWhyTrue: ["domain-ok", "mcp-tool-ok"],
        allowWhyFalse: [],
        denyWhyTrue: [],
        denyWhyFalse: ["mcp-tool-ok"],
      },
    ],
    [
      "under deny, another method",
      underDeny,
      asAlice({ method: "resources/list" }),
      { allowed: true, denied: false, allowWhyTrue: ["domain-ok"], denyWhyFalse: ["mcp-not-a-tool-call"] },
    ],
    [
      "allowlist by deny and not_in, listed tool",
      allowList,
      asAlice(toolCall("search")),
      { allowed: true, allowWhyTrue: ["authenticated-user", "mcp-tool-ok"], denyWhyFalse: ["mcp-tool-ok"] },
    ],
    [
      "allowlist by deny and not_in, other tool",
      allowList,
      asAlice(toolCall("Search")),
      {
        allowed: false,
        denied: true,
        allowWhyFalse: ["mcp-tool-unauthorized"],
        denyWhyTrue: ["mcp-tool-unauthorized"],
      },
    ],
    [
      "allowlist by deny and not_in, tools/list",
      allowList,
      asAlice({ method: "tools/list" }),
      { allowed: true, allowWhyTrue: ["authenticated-user"], denyWhyFalse: ["mcp-not-a-tool-call"] },
    ],
    [
      "no mcp_tool rule, tool call",
      none,
      asAlice(toolCall("anything")),
      { allowed: true, allowWhyTrue: ["domain-ok", "mcp-tool-ok"], denyWhyFalse: [] },
    ],
    [
      "no mcp_tool rule, another method",
      none,
      asAlice({ method: "initialize" }),
      { allowed: true, allowWhyTrue: ["domain-ok"], denyWhyFalse: [] },
    ],
    [
      "denied for the user, tool call",
      none,
      { ...asUser({ email: "eve@evil.example" }), mcp: toolCall("search") },
      { allowed: false, denied: false, allowWhyTrue: [], allowWhyFalse: ["domain-unauthorized"] },
    ],
    [
      "a tool call that another allow rule lets through",
      { allow: { or: [{ domain: "example.com" }, { mcp_tool: "search" }] } },
      asAlice(toolCall("fetch")),
      { allowed: true, allowWhyTrue: ["domain-ok", "mcp-tool-ok"] },
    ],
    [
      "under deny in a not: a tool that is not listed",
      { allow: { or: [yes] }, deny: { not: [{ mcp_tool: "search" }] } },
      asAlice(toolCall("fetch")),
      {
        allowed: false,
        denied: true,
        denyWhyTrue: ["mcp-tool-unauthorized"],
        allowWhyFalse: ["mcp-tool-unauthorized"],
      },
    ],
    [
      "on an ordinary route mcp_tool is false",
      underAllow,
      asAlice(),
      { allowed: false, allowWhyFalse: ["mcp-not-a-tool-call"] },
    ],
  ])("%s", (_, doc, facts, expected) => {
    expect(decide(doc, facts)).toMatchObject(expected);
  });

  test("a tool call without a tool is undecidable: denied", () => {
    const facts = asAlice({ method: "tools/call" });
    expect(decide(underDeny, facts)).toEqual(refusedDecision(POLICY_ERROR));
    expect(decide(underAllow, facts).allowed).toBe(false);
  });

  test("other methods never match, whatever tool the facts name", () => {
    const facts = asAlice({ method: "Tools/Call", tool: "delete_repo" });
    expect(decide(underDeny, facts)).toMatchObject({ allowed: true, denyWhyFalse: ["mcp-not-a-tool-call"] });
  });
});

describe("evaluate() without a signed-in user", () => {
  test.each<[string, PolicyDoc, boolean]>([
    ["accept lets pass", { allow: { or: [yes] } }, true],
    ["a rule about the request lets pass", { allow: { or: [{ http_method: "POST" }] } }, true],
    ["authenticated_user does not", { allow: { or: [{ authenticated_user: true }] } }, false],
    ["a negated rule about the user does not", { allow: { not: [{ domain: "evil.example" }] } }, false],
    ["nor does its other negation", { allow: { nor: [{ domain: "evil.example" }] } }, false],
    ["nor a negative matcher", { allow: { or: [{ email: { not: "eve@evil.example" } }] } }, false],
    ["nor an excluded group", { allow: { or: [{ groups: { exclude: "contractors" } }] } }, false],
    ["accept in addition does", { allow: { or: [{ domain: "example.com" }, yes] } }, true],
    ["a deny rule about the user forbids", { allow: { or: [yes] }, deny: { or: [{ domain: "evil.example" }] } }, false],
    [
      "a deny rule that is false all the same does not",
      { allow: { or: [yes] }, deny: { and: [{ domain: "evil.example" }, no] } },
      true,
    ],
  ])("%s", (_, doc, allowed) => {
    const policy = compilePolicy(doc);
    const decision = evaluate(policy, anonymous());
    expect(decision.allowed).toBe(allowed);
    expect(policy.mayAllowAnonymous).toBe(allowed);
    if (!allowed) expect(decision.allowWhyFalse).toContain("user-unauthenticated");
    expect(decision.denied).toBe(false);
  });
});

describe("evaluate() reasons", () => {
  test("name every criterion that supported the outcome, sorted and once", () => {
    const doc: PolicyDoc = {
      allow: {
        or: [{ groups: "none" }, { groups: "engineering" }, { email: "alice@example.com" }, { domain: "example.com" }],
      },
    };
    expect(decide(doc, asAlice()).allowWhyTrue).toEqual(["domain-ok", "email-ok", "groups-ok"]);
    expect(decide(doc, asUser({ email: "x@y.z", groups: [] })).allowWhyFalse).toEqual([
      "domain-unauthorized",
      "email-unauthorized",
      "groups-unauthorized",
    ]);
  });

  test("under deny and under negation they support or oppose access, not a match", () => {
    const denied = decide({ allow: { or: [yes] }, deny: { or: [{ domain: "example.com" }] } }, asAlice());
    expect(denied).toMatchObject({
      denied: true,
      denyWhyTrue: ["domain-unauthorized"],
      allowWhyFalse: ["domain-unauthorized"],
    });
    const negated = decide({ allow: { not: [{ domain: "example.com" }] } }, asAlice());
    expect(negated).toMatchObject({ allowed: false, denied: false, allowWhyFalse: ["domain-unauthorized"] });
    const passed = decide({ allow: { not: [{ domain: "evil.example" }] } }, asAlice());
    expect(passed.allowWhyTrue).toEqual(["domain-ok"]);
  });

  test("facts that are not for or against access keep their reasons", () => {
    const doc: PolicyDoc = { allow: { or: [yes] }, deny: { or: [{ cors_preflight: true }, no] } };
    const preflight: Facts = { http: { ...plainHttp, isCorsPreflight: true } };
    expect(decide(doc, preflight).denyWhyTrue).toEqual(["cors-request"]);
    expect(decide(doc, anonymous()).denyWhyFalse).toEqual(["non-cors-request", "reject"]);
  });

  test("every criterion's reasons together fit into one packed outcome", () => {
    const reasons = new Set(CRITERIA.flatMap(({ reasons }) => [reasons.ok, reasons.no]));
    // Beside them: user-unauthenticated, device-unauthenticated, mcp-not-a-tool-call, client-certificate-required.
    expect(reasons.size + 4).toBeLessThanOrEqual(MAX_REASONS);
  });
});

describe("evaluate() of many criteria that differ in one text", () => {
  /** Each criterion and each rule for itself. */
  function oneByOne(rules: readonly OperatorRule[], facts: Facts) {
    const outcomes = rules.map(({ operator, leaves }) =>
      leaves
        .map((leaf) => findRule({ operator, leaves: [leaf] }, facts))
        .reduce((all, one) => {
          // Of "and" and "not" every criterion must match, of "or" and "nor" one.
          const decides = operator === "and" || operator === "not" ? FALSE : TRUE;
          const [a, b] = [outcomeOf(all), outcomeOf(one)];
          const reasons = unite(reasonsOf(all), reasonsOf(one));
          if (a === b) return packOutcome(a, reasons);
          if (a === decides || b === decides) return a === decides ? all : one;
          return a === 1 - decides ? one : all;
        }),
    );
    return outcomes.reduce((all, one) => {
      const [a, b] = [outcomeOf(all), outcomeOf(one)];
      if (a === b) return packOutcome(a, unite(reasonsOf(all), reasonsOf(one)));
      if (a === TRUE || b === TRUE) return a === TRUE ? all : one;
      return a === FALSE ? one : all;
    });
  }

  const few = fc.constantFrom("a.example", "b.example", "c.example");
  /** Most do not match. */
  const value = fc.oneof(few, fc.nat(40).map(String));
  const criterion = fc.oneof(
    fc
      .tuple(fc.constantFrom("domain", "user", "mcp_tool", "mcp_prompt"), value)
      .map(([name, is]) => ({ [name]: { is } })),
    value.map((has) => ({ groups: { has } })),
    fc.tuple(fc.constantFrom("x", "y"), value).map(([path, has]) => ({ [`claim/${path}`]: { has } })),
    fc.constantFrom({ domain: { not: "a.example" } }, { groups: { is: "a.example" } }, { reject: true }),
  );
  const criteria = fc.oneof(
    criterion.map((one) => [one]),
    criterion.map((one) => Array.from({ length: 20 }, () => one)),
    fc.array(criterion, { minLength: 1, maxLength: 30 }),
  );
  // With all operators in one policy, most policies match.
  const rules = fc
    .uniqueArray(fc.constantFrom("and", "or", "not", "nor"), { minLength: 1, maxLength: 2 })
    .chain((operators) =>
      fc.array(
        fc.tuple(fc.constantFrom(...operators), criteria).map(([operator, all]) => ({ [operator]: all })),
        { minLength: 1, maxLength: 24, size: "max" },
      ),
    );
  const caller = fc.record({
    id: few,
    email: few.map((domain) => `a@${domain}`),
    name: fc.constant(""),
    groups: fc.oneof(
      fc.array(few),
      fc.constant(Array.from({ length: 100 }, (_, index) => `group-${index}`).concat("a.example")),
    ),
    claims: fc.record({ x: few, y: fc.array(few) }, { requiredKeys: [] }),
    version: fc.constant(1),
  });
  const message = fc.oneof(
    few.map((tool) => ({ method: "tools/call", tool })),
    few.map((prompt) => ({ method: "prompts/get", prompt })),
    fc.constant({ method: "ping" }),
  );

  test("gives the outcome and the reasons of each for itself", () => {
    fc.assert(
      fc.property(rules, fc.option(caller, { nil: undefined }), message, fc.boolean(), (list, user, mcp, isOmitted) => {
        const leftOut = { groups: isOmitted, claims: isOmitted ? ["x"] : [] };
        const facts = { ...anonymous(), mcp, ...(user && { user: { ...user, leftOut } }) } as Facts;
        const policy = compilePolicy(list.map((deny) => ({ deny })));
        expect(findAny(policy.deny, facts)).toBe(oneByOne(policy.deny, facts));
      }),
      { numRuns: 200 },
    );
  });

  test.each<[string, (index: number) => RulesDoc]>([
    ["rules", (index) => ({ allow: { and: [{ domain: { is: `d${index}.example` } }] } })],
    ["groups", (index) => ({ allow: { or: [{ groups: { has: `g${index}` } }] } })],
    ["claims of denied users", (index) => ({ deny: { or: [{ "claim/team": { has: `t${index}` } }] } })],
  ])("reads the user as often for a thousand %s as for twenty", (_, ruleOf) => {
    const readsOf = (count: number): number => {
      let reads = 0;
      const { user, ...rest } = asAlice();
      const counted = new Proxy(user ?? {}, {
        get(target, key) {
          if (["email", "groups", "claims"].includes(String(key))) reads += 1;
          return Reflect.get(target, key) as unknown;
        },
      });
      evaluate(compilePolicy(Array.from({ length: count }, (__, index) => ruleOf(index))), {
        ...rest,
        user: counted as NonNullable<Facts["user"]>,
      });
      return reads;
    };
    expect(readsOf(20)).toBeGreaterThan(0);
    expect(readsOf(1000)).toBe(readsOf(20));
  });
});

describe("compilePolicy()", () => {
  test("states whether a tool must be known", () => {
    expect(compilePolicy({ deny: { or: [{ mcp_tool: "x" }] } }).needsTool).toBe(true);
    expect(compilePolicy({ allow: { or: [yes] } }).needsTool).toBe(false);
    expect(compilePolicy(undefined).mayAllowAnonymous).toBe(false);
  });

  test("throws for an invalid document", () => {
    expect(() => compilePolicy({ allow: { or: [{ emial: "x" }] } })).toThrow(/"allow.or\[0\].emial" unknown criterion/);
  });
});

describe("evaluate() is total and pure", () => {
  const matcher = fc.oneof(
    fc.string(),
    fc.record({ is: fc.string() }),
    fc.record({ not: fc.string() }),
    fc.record({ in: fc.array(fc.string()) }),
    fc.record({ not_in: fc.array(fc.string()) }),
    fc.record({ starts_with: fc.string({ minLength: 1 }) }),
  );
  const criterion = fc.oneof(
    fc.constant(yes),
    fc.constant(no),
    fc.constant({ authenticated_user: true }),
    fc.constant({ cors_preflight: true }),
    fc
      .record(
        { is: fc.constantFrom("a", "b"), approved: fc.boolean(), type: fc.constantFrom("any", "enclave_only") },
        { requiredKeys: ["approved"] },
      )
      .map((device) => ({ device })),
    fc.constant({ source_ip: "10.0.0.0/8" }),
    fc
      .tuple(fc.constantFrom("user", "email", "domain", "mcp_tool", "http_path"), matcher)
      .map(([name, data]) => ({ [name]: data })),
    fc.string().map((group) => ({ groups: group })),
    fc.tuple(fc.string({ minLength: 1 }), fc.string()).map(([path, value]) => ({ [`claim/${path}`]: value })),
  );
  const action = fc.record(
    { and: fc.array(criterion), or: fc.array(criterion), not: fc.array(criterion), nor: fc.array(criterion) },
    { requiredKeys: [] },
  );
  const policy = fc.array(fc.record({ allow: action, deny: action }, { requiredKeys: [] }), { maxLength: 3 });
  const user = fc.record({
    id: fc.string(),
    email: fc.oneof(fc.string(), fc.emailAddress()),
    name: fc.string(),
    groups: fc.array(fc.string()),
    claims: fc.dictionary(fc.string(), fc.jsonValue()),
  });
  const message = fc.oneof(
    fc.record({ method: fc.constant("tools/call"), tool: fc.string() }),
    fc.record({ method: fc.string() }),
    fc.constant({}),
  );
  const facts = fc.record(
    {
      user,
      http: fc.record({
        method: fc.string(),
        path: fc.string(),
        host: fc.string(),
        ip: fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()),
      }),
      mcp: message,
      devices: fc.array(
        fc.record({
          id: fc.constantFrom("a", "b"),
          isApproved: fc.boolean(),
          type: fc.constantFrom("any", "enclave_only"),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    },
    { requiredKeys: ["http"] },
  );

  test("whatever policy and facts: one well-formed decision, the same every time", () => {
    fc.assert(
      fc.property(policy, facts, (doc, request) => {
        const compiled = compilePolicy(doc);
        const decision = evaluate(compiled, request);
        expect(evaluate(compilePolicy(doc), request)).toEqual(decision);
        expect(evaluate(compiled, request)).toEqual(decision);
        expect(decision.allowed && decision.denied).toBe(false);
        expect(decision.allowWhyTrue.length > 0).toBe(decision.allowed);
        if (decision.allowed) expect(decision.allowWhyFalse).toEqual([]);
        expect(decision.denyWhyTrue.length > 0).toBe(decision.denied);
        for (const list of [
          decision.allowWhyTrue,
          decision.allowWhyFalse,
          decision.denyWhyTrue,
          decision.denyWhyFalse,
        ]) {
          expect(list).toEqual([...new Set(list)].sort());
        }
        if (request.user === undefined && decision.allowed) expect(compiled.mayAllowAnonymous).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("adding a deny rule never allows more; removing an allow rule never allows more", () => {
    fc.assert(
      fc.property(policy, policy, facts, (doc, more, request) => {
        const denyMore = [...doc, ...more.map(({ deny }) => (deny ? { deny } : {}))];
        const allowLess = doc.map(({ deny }) => (deny ? { deny } : {}));
        if (!decide(doc, request).allowed) expect(decide(denyMore, request).allowed).toBe(false);
        expect(decide(allowLess, request).allowed).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test("facts that throw when read are denied", () => {
    const hostile = (part: string): Facts =>
      new Proxy(asAlice(toolCall("x")), {
        get(target, key) {
          if (key === part) throw new Error("boom");
          return Reflect.get(target, key) as unknown;
        },
      });
    for (const part of ["user", "http", "mcp"]) {
      const doc: PolicyDoc = {
        allow: { or: [{ domain: "example.com" }, { mcp_tool: "x" }, { http_path: { not: "/x" } }, yes] },
      };
      expect(decide(doc, hostile(part))).toEqual(refusedDecision(POLICY_ERROR));
    }
  });

  test("decisions are shared and cannot be changed", () => {
    const compiled = compilePolicy({ allow: { or: [{ domain: "example.com" }] } });
    const decision = evaluate(compiled, asAlice());
    expect(evaluate(compiled, asAlice({ method: "tools/list" }))).toBe(decision);
    const deny = { or: [{ email: "eve@example.com" }] };
    const denying = compilePolicy({ allow: { or: [{ domain: "example.com" }] }, deny });
    const first = evaluate(denying, asAlice());
    expect(evaluate(denying, asUser({ email: "eve@example.com" })).denied).toBe(true);
    expect(evaluate(denying, asAlice())).toBe(first);
    expect(() => (decision.allowWhyTrue as string[]).push("x")).toThrow(TypeError);
  });
});

describe("evaluate() with claims that the provider omitted", () => {
  const all = { groups: true, claims: ["groups"] };
  const person = asUser({ groups: [], claims: {}, leftOut: all });
  const anybody = { and: [{ authenticated_user: true }] };

  test.each<[string, PolicyDoc, readonly string[]]>([
    ["allow", { allow: { and: [{ groups: "a" }] } }, ["groups-unknown"]],
    ["allow none of", { allow: { not: [{ groups: "a" }] } }, ["groups-unknown"]],
    ["allow without", { allow: { and: [{ groups: { exclude: "a" } }] } }, ["groups-unknown"]],
    ["deny", { allow: anybody, deny: { or: [{ groups: "a" }] } }, ["groups-unknown"]],
    ["deny none of", { allow: anybody, deny: { not: [{ groups: "a" }] } }, ["groups-unknown"]],
    ["deny a claim", { allow: anybody, deny: { or: [{ "claim/groups": "a" }] } }, ["claim-unknown"]],
  ])("%s opens nothing", (_, policy, reasons) => {
    expect(decide(policy, person)).toMatchObject({ allowed: false, denied: false, allowWhyFalse: reasons });
  });

  test("other criteria are evaluated as usual", () => {
    expect(allows({ allow: { or: [{ groups: "a" }, { email: "alice@example.com" }] } }, person)).toBe(true);
    expect(allows({ allow: anybody, deny: { or: [{ "claim/role": "x" }] } }, person)).toBe(true);
    const nested = asUser({ leftOut: { groups: false, claims: ["realm", "email"] } });
    expect(allows({ allow: anybody, deny: { or: [{ groups: "a" }] } }, nested)).toBe(true);
    for (const criterion of [{ "claim/realm/roles": "x" }, { email: "b@example.com" }, { domain: "b.example" }])
      expect(allows({ allow: anybody, deny: { or: [criterion] } }, nested)).toBe(false);
  });
});

describe("evaluate() of a path with several readings", () => {
  const policy: PolicyDoc = { allow: { or: [{ accept: true }] }, deny: { or: [{ http_path: "/admin" }] } };
  const at = (path: string, ...otherPaths: string[]): Facts => ({ http: { ...plainHttp, path, otherPaths } });

  test("is ambiguous only if the verdicts differ", () => {
    const compiled = compilePolicy(policy);
    const decision = evaluate(compiled, at("/admin;x", "/admin"));
    expect(isAmbiguous(decision)).toBe(true);
    expect(decision).toMatchObject({ allowed: false, denied: false, allowWhyFalse: ["http-path-ambiguous"] });
    expect(evaluate(compiled, at("/items;x", "/items")).allowed).toBe(true);
    expect(isAmbiguous(evaluate(compiled, at("/a%3B;x", "/a", "/admin")))).toBe(true);
    expect(isAmbiguous(evaluate(compilePolicy([]), at("/admin;x", "/admin")))).toBe(false);
    const other = compilePolicy({ allow: { or: [{ accept: true }] } });
    expect(evaluate(other, at("/admin;x", "/admin")).allowed).toBe(true);
  });
});

describe("evaluate() with letters that look alike", () => {
  const kelvin = "\u212A";

  test.each<[string, PolicyDoc, string]>([
    ["a domain", { allow: { or: [{ domain: "kelvin.example" }] } }, `a@${kelvin}elvin.example`],
    ["an address", { allow: { or: [{ email: "kim@example.com" }] } }, `${kelvin}im@example.com`],
    ["an ending", { allow: { or: [{ email: { ends_with: "@k.example" } }] } }, `a@${kelvin}.example`],
    ["an address without a name", { allow: { or: [{ domain: "example.com" }] } }, "@example.com"],
  ])("%s is not theirs", (_, policy, email) => {
    expect(allows(policy, asUser({ email }))).toBe(false);
  });

  test("case does not matter in ASCII", () => {
    expect(allows({ allow: { or: [{ domain: "Example.COM" }] } }, asUser({ email: "A@eXample.com" }))).toBe(true);
  });
});

describe("idp", () => {
  const user = asUser({});
  const of = (id: string): Facts => ({ ...user, user: { ...(user.user as NonNullable<Facts["user"]>), id } });
  test.each<[string, unknown, readonly boolean[]]>([
    ["the first provider", "default", [true, false, false]],
    ["another one", "corp", [false, true, false]],
    ["none of them", { not_in: ["default", "corp"] }, [false, false, true]],
  ])("is %s", (_, idp, allowed) => {
    const policy: PolicyDoc = { allow: { and: [{ idp }] } };
    expect(["1", "issuer:corp/1", "service-account:ci"].map((id) => allows(policy, of(id)))).toEqual(allowed);
  });

  test("is unknown for anonymous requests", () => {
    expect(allows({ allow: { not: [{ idp: "corp" }] } }, anonymous())).toBe(false);
    expect(decide({ allow: { and: [{ idp: "corp" }] } }, of("1")).allowWhyFalse).toEqual(["idp-unauthorized"]);
  });
});
