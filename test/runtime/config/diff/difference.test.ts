/** Random small policies: what is told is so, by a request that shows it, and what changes is told. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { ComparedAccess } from "../../../../runtime/config/diff/compare.ts";
import { type Difference, differenceOf, type Side } from "../../../../runtime/config/diff/difference.ts";
import type { Subject } from "../../../../runtime/config/diff/subjects.ts";
import { compilePolicy, evaluate } from "../../../../runtime/policy/evaluate.ts";
import type { Facts, UserFacts } from "../../../../runtime/policy/facts.ts";
import { readArguments } from "../../../../runtime/policy/mcp/argument-values.ts";
import { canonicalPolicy, OPERATORS, type CriterionDoc, type PolicyDoc } from "../../../../runtime/policy/parse.ts";
import { freedom } from "../../../../runtime/policy/shadow.ts";
import { mayUse } from "../../../../runtime/policy/reach.ts";
import type { RouteDoc } from "../../../../runtime/config/route.ts";

const limits = () => ({ decisions: 1e7, cases: 2_000 });

function side(policy: PolicyDoc, change: Partial<RouteDoc> = {}): Side {
  const doc: RouteDoc = {
    from: "https://a.example.com",
    to: ["http://a.internal"],
    policy: canonicalPolicy(policy),
    ...change,
  };
  return { routes: [{ key: "default/a", doc }], mcpEnabled: true };
}

const server = { mcp: { server: {} } };

function user(id: string, email: string, groups: readonly string[]): UserFacts {
  return { id, email, name: "", groups, claims: groups.includes("staff") ? { team: groups } : {} };
}

/** A universe of its own: none of these is made from the policies. */
const PEOPLE = [
  user("u1", "alice@example.com", ["staff"]),
  user("u2", "bob@example.com", []),
  user("u3", "carol@example.org", ["staff", "contractors"]),
  user("u4", "", ["contractors"]),
];
const ACTORS = [
  undefined,
  { id: "workload:ci/a", run: "r", claims: { env: "prod" } },
  { id: "workload:ci/b", run: "r", claims: {} },
  { id: "workload:pods/c", run: "r", claims: { env: ["dev", "prod"] } },
];
const TOOLS = ["read", "delete_a", "delete_b", "pay"];
const ARGUMENTS = [
  "{}",
  '{"env":"dev"}',
  '{"env":"prod"}',
  '{"n":499}',
  '{"n":500}',
  '{"n":501}',
  '{"n":500.5,"env":"dev"}',
];

const criterion = fc.constantFrom<CriterionDoc>(
  { accept: true },
  { authenticated_user: true },
  { domain: "example.com" },
  { domain: { ends_with: ".org" } },
  { email: { in: ["alice@example.com", "bob@example.com"] } },
  { groups: "staff" },
  { groups: { exclude: "contractors" } },
  { "claim/team": "staff" },
  { user: "service-account:job" },
  { idp: "corp" },
  { actor: { starts_with: "workload:ci/" } },
  { "actor_claim/env": "prod" },
  { mcp_tool: { starts_with: "delete_" } },
  { mcp_tool: { not_in: ["read", "pay"] } },
  { mcp_tool_argument: { tool: { starts_with: "delete_" }, argument: "/env", is: "dev" } },
  { mcp_tool_argument: { tool: "pay", argument: "/n", lte: 500 } },
  { mcp_tool_argument: { tool: "pay", argument: "/n", lt: 500 } },
  { mcp_tool_argument: { tool: "read", argument: "/env", exists: false } },
  { mcp_method: { in: ["tools/call", "initialize"] } },
  { source_ip: "10.0.0.0/8" },
);
const block = fc
  .record({ operator: fc.constantFrom(...OPERATORS), criteria: fc.array(criterion, { minLength: 1, maxLength: 3 }) })
  .map(({ operator, criteria }) => ({ [operator]: criteria }));
const policy = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: 2 }), fc.array(block, { maxLength: 2 }))
  .map(([allow, deny]): PolicyDoc => [
    ...allow.map((each) => ({ allow: each })),
    ...deny.map((each) => ({ deny: each })),
  ]);
/** One of them changed a little, as policies are; or two that have nothing to do with each other. */
const pair = fc.oneof(
  fc.tuple(policy, policy),
  fc.tuple(policy, block).map(([one, more]): [PolicyDoc, PolicyDoc] => [one, [...(one as never[]), { deny: more }]]),
  fc.tuple(policy, block).map(([one, more]): [PolicyDoc, PolicyDoc] => [one, [...(one as never[]), { approve: more }]]),
  fc.tuple(policy, block).map(([one, more]): [PolicyDoc, PolicyDoc] => [[...(one as never[]), { allow: more }], one]),
);

/** Decided anew, from the policy as written and the request as text. */
function freedomOf(
  doc: PolicyDoc,
  { facts, arguments: json, actor }: NonNullable<ComparedAccess["gain"]>,
  { user: who }: Subject,
): number {
  if (who === undefined) return 0;
  const mcp = facts.mcp && { ...facts.mcp, ...(json !== undefined && { arguments: readArguments(() => json) }) };
  return freedom(
    evaluate(compilePolicy(doc), { http: facts.http, user: { ...who, ...(actor && { actor }) }, ...(mcp && { mcp }) }),
  );
}

function tells(
  { statements }: Difference,
  subject: Subject,
  { item }: ComparedAccess,
  directions: readonly string[],
): boolean {
  return statements.some(
    ({ who, items, direction }) =>
      directions.includes(direction) &&
      items.includes(item) &&
      who.some((each) => each.user === undefined || each.parts.every((part) => subject.parts.includes(part))),
  );
}

describe("differenceOf()", () => {
  test("each gain and each loss has a request that the two policies decide that way", () => {
    let [gains, losses] = [0, 0];
    fc.assert(
      fc.property(pair, ([old, next]) => {
        const { comparisons } = differenceOf(side(old, server), side(next, server), [], limits());
        for (const { subject, verdicts } of comparisons.flatMap((each) => each.representatives))
          for (const { gain, loss } of verdicts) {
            if (gain) expect(freedomOf(next, gain, subject)).toBeGreaterThan(freedomOf(old, gain, subject));
            if (loss) expect(freedomOf(next, loss, subject)).toBeLessThan(freedomOf(old, loss, subject));
            gains += gain ? 1 : 0;
            losses += loss ? 1 : 0;
          }
      }),
      { seed: 16, numRuns: 150 },
    );
    expect(Math.min(gains, losses)).toBeGreaterThan(100);
  });

  test("each change of access is reported, for the representative itself or for a wider one", () => {
    let changes = 0;
    fc.assert(
      fc.property(pair, ([old, next]) => {
        const found = differenceOf(side(old, server), side(next, server), [], limits());
        const [before, after] = [compilePolicy(old), compilePolicy(next)];
        for (const { subject, verdicts } of found.comparisons.flatMap((each) => each.representatives))
          for (const verdict of verdicts) {
            const { listed } = verdict.item;
            if (subject.user === undefined || listed === undefined) continue;
            const [was, is] = [mayUse(before, subject.user, listed), mayUse(after, subject.user, listed)];
            if (was === is) continue;
            changes += 1;
            // Lists are those of the user alone: a workload that acts for the user may gain what the user loses.
            const directions = is ? ["gains", "shown", "mixed"] : ["loses", "hidden", "mixed"];
            expect(tells(found, subject, verdict, directions), subject.name).toBe(true);
          }
        if (found.comparisons.length === 0)
          for (const who of PEOPLE)
            for (const name of TOOLS)
              expect(mayUse(before, who, { kind: "tool", name })).toBe(mayUse(after, who, { kind: "tool", name }));
      }),
      { seed: 17, numRuns: 150 },
    );
    expect(changes).toBeGreaterThan(100);
  });

  test("every changed decision of the supplied users is reported", () => {
    let changes = 0;
    fc.assert(
      fc.property(pair, ([old, next]) => {
        const { statements } = differenceOf(side(old, server), side(next, server), PEOPLE, limits());
        const [before, after] = [compilePolicy(old), compilePolicy(next)];
        const told = statements.filter(({ people }) => people !== undefined);
        for (const who of PEOPLE) {
          const own = told.filter((each) => each.who.some(({ user: one }) => one === who));
          for (const tool of TOOLS)
            for (const [at, json] of ARGUMENTS.entries()) {
              const actor = ACTORS[at % ACTORS.length];
              const facts: Facts = {
                user: actor ? { ...who, actor } : who,
                http: { method: "POST", path: "/", host: "a.example.com", ip: "192.0.2.77" },
                mcp: { method: "tools/call", tool, arguments: readArguments(() => json) },
              };
              const [was, is] = [freedom(evaluate(before, facts)), freedom(evaluate(after, facts))];
              if (was === is) continue;
              changes += 1;
              const fits = own.filter(
                ({ direction }) => direction === "mixed" || direction === (is > was ? "gains" : "loses"),
              );
              const isNamed = fits.some(({ items }) =>
                items.some(
                  ({ kind, name, isRest, mcp }) =>
                    kind === "tool" && (isRest || name === tool || tool.startsWith(mcp?.tool?.slice(0, -1) ?? "-")),
                ),
              );
              expect(isNamed, `${who.id} ${tool} ${json}`).toBe(true);
            }
        }
      }),
      { seed: 18, numRuns: 150 },
    );
    expect(changes).toBeGreaterThan(300);
  });

  test("the same for ordinary routes: methods, paths, addresses, devices, anonymous requests", () => {
    const about = fc.constantFrom<CriterionDoc>(
      { accept: true },
      { domain: "example.com" },
      { groups: "staff" },
      { http_method: { in: ["GET", "HEAD"] } },
      { http_path: { starts_with: "/admin/" } },
      { http_path: "/admin/users" },
      { source_ip: ["10.0.0.0/8", "192.168.1.0/24"] },
      { source_ip: "10.0.0.0/16" },
      { device: { approved: true } },
      { cors_preflight: true },
    );
    const rules = fc
      .record({ operator: fc.constantFrom(...OPERATORS), criteria: fc.array(about, { minLength: 1, maxLength: 3 }) })
      .map(({ operator, criteria }) => ({ [operator]: criteria }));
    const small = fc
      .tuple(rules, fc.option(rules))
      .map(([allow, deny]): PolicyDoc => [{ allow }, ...(deny ? [{ deny }] : [])]);
    const requests = ["GET", "POST"].flatMap((method) =>
      ["/", "/admin/users", "/admin/x"].flatMap((path) =>
        ["192.0.2.77", "10.0.0.9", "10.1.0.9"].map((ip) => ({ method, path, ip, host: "a.example.com" })),
      ),
    );
    let changes = 0;
    fc.assert(
      fc.property(small, small, (old, next) => {
        const { statements } = differenceOf(side(old), side(next), PEOPLE, limits());
        const [before, after] = [compilePolicy(old), compilePolicy(next)];
        for (const who of [undefined, ...PEOPLE]) {
          const own = statements.filter((each) =>
            each.who.some(({ user: one }) => one === who && (who === undefined || each.people !== undefined)),
          );
          for (const http of requests) {
            const facts = who === undefined ? { http } : { http, user: who };
            const [was, is] = [evaluate(before, facts).allowed, evaluate(after, facts).allowed];
            if (was === is) continue;
            changes += 1;
            const isTold = own.some(({ direction }) => direction === "mixed" || direction === (is ? "gains" : "loses"));
            expect(isTold, `${who?.id} ${JSON.stringify(http)}`).toBe(true);
          }
        }
      }),
      { seed: 20, numRuns: 150 },
    );
    expect(changes).toBeGreaterThan(300);
  });

  test("reordered rules are no change", () => {
    fc.assert(
      fc.property(policy, (doc) => {
        const turned = [...(doc as readonly object[])].toReversed() as PolicyDoc;
        expect(differenceOf(side(doc, server), side(turned, server), PEOPLE, limits()).statements).toEqual([]);
      }),
      { seed: 19, numRuns: 50 },
    );
  });

  test("a limit that moves by one shows at the one number between", () => {
    const pay = (match: object): PolicyDoc => ({
      allow: { and: [{ authenticated_user: true }, { mcp_tool_argument: { tool: "pay", argument: "/n", ...match } }] },
    });
    const told = (old: object, next: object): readonly (string | undefined)[] =>
      differenceOf(side(pay(old), server), side(pay(next), server), [], limits()).statements.map(
        ({ direction, example }) => `${direction} ${(example?.gain ?? example?.loss)?.arguments}`,
      );
    expect(told({ lte: 500 }, { lt: 500 })).toEqual(['loses {"n":500}']);
    expect(told({ lt: 500 }, { lt: 501 })).toEqual(['gains {"n":500}']);
    expect(told({ lt: 500 }, { lt: "500.5" })).toEqual(['gains {"n":500}']);
    expect(told({ lte: "9007199254740992" }, { lte: "9007199254740993" })).toEqual(['gains {"n":9007199254740993}']);
    expect(told({ lte: -1 }, { lte: -2 })).toEqual(['loses {"n":-1}']);
    expect(told({ in: ["a", "b"] }, { in: ["a"] })).toEqual(['loses {"n":"b"}']);
    expect(told({ some: { is: "a" } }, { every: { is: "a" } })).toEqual(['loses {"n":["a","another"]}']);
    expect(told({ only: ["x"] }, { only: ["x", "y"] })).toEqual(['gains {"n":{"x":"x","y":"x"}}']);
    expect(told({ is: true }, { is: false })).toEqual(['mixed {"n":false}']);
  });

  test("with one range inside the other, an address between them shows the change", () => {
    const from = (source_ip: string): PolicyDoc => ({ allow: { and: [{ groups: "staff" }, { source_ip }] } });
    const { statements } = differenceOf(side(from("10.0.0.0/8")), side(from("10.0.0.0/16")), [], limits());
    expect(statements.map(({ direction, example }) => [direction, example?.loss?.facts.http.ip])).toEqual([
      ["loses", "10.255.255.255"],
    ]);
  });

  test("names changed patterns for which no example shows the change", () => {
    const pay = (matches: string): PolicyDoc => ({
      allow: { and: [{ mcp_tool_argument: { tool: "pay", argument: "/n", matches } }] },
    });
    const { statements, gaps } = differenceOf(
      side(pay("a[0-9]+"), server),
      side(pay("(?:a|b)[0-9]+"), server),
      [],
      limits(),
    );
    expect(statements).toEqual([]);
    expect(gaps).toEqual([
      'default/a: which texts match "a[0-9]+", beyond an example',
      'default/a: which texts match "(?:a|b)[0-9]+", beyond an example',
    ]);
  });

  test("reports that limits were reached, and for which routes", () => {
    const { statements, gaps } = differenceOf(side({ allow: { and: [{ accept: true }] } }), side([]), [], {
      decisions: 1,
      cases: 10,
    });
    expect(statements).toEqual([]);
    expect(gaps).toEqual(["there was no room to compare these routes: default/a"]);
  });
});
