/** What is decided out of a record is what was decided of the request, or nobody says: over random policies and requests. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { DeclaredArguments } from "../../../../runtime/audit/redaction/plan.ts";
import { readLogLine } from "../../../../runtime/audit/log-line.ts";
import { createDigests } from "../../../../runtime/audit/replay/digests.ts";
import { readRecord, type RecordedRequest } from "../../../../runtime/audit/replay/read-record.ts";
import { createVocabulary } from "../../../../runtime/audit/replay/vocabulary.ts";
import { createReplayWriter } from "../../../../runtime/audit/replay/write-facts.ts";
import { formatRecord } from "../../../../runtime/audit/record.ts";
import { compilePolicy, evaluate } from "../../../../runtime/policy/evaluate.ts";
import type { Decision, Facts } from "../../../../runtime/policy/facts.ts";
import { readArguments } from "../../../../runtime/policy/mcp/argument-values.ts";
import { OPERATORS, type CriterionDoc, type RulesDoc } from "../../../../runtime/policy/parse.ts";
import { decideRecorded, forRecords } from "../../../../runtime/policy/recorded/decide-recorded.ts";
import { freedom } from "../../../../runtime/policy/shadow.ts";
import { alice, plainHttp } from "../../../support/facts.ts";

const KEY = Buffer.alloc(32, 1);

interface Recording {
  readonly key?: Uint8Array | undefined;
  readonly declared?: DeclaredArguments | undefined;
}

function lineOf(facts: Facts, args: string | undefined, decision: Decision, { key, declared }: Recording): string {
  const writer = createReplayWriter({ key, asksForCertificates: true });
  const { http } = facts;
  return formatRecord(["replay"], {
    timeMs: 1_780_000_000_000,
    decision,
    requestId: "1",
    bundleDigest: "d",
    http,
    replay: () => writer.write({ facts, certificate: http.certificate, toolArguments: () => args, declared }),
  });
}

function requestOf(line: string): RecordedRequest {
  const read = readRecord(readLogLine(Buffer.from(line)));
  if (read.kind !== "check" || typeof read.check.request === "string") throw new Error(`no request: ${line}`);
  return read.check.request;
}

/** @returns the verdict of `rules` on what was recorded; undefined: nobody can tell */
function again(line: string, rules: readonly RulesDoc[], key: Uint8Array | undefined): number | undefined {
  const policy = compilePolicy(rules);
  const vocabulary = createVocabulary(key && createDigests(key));
  vocabulary.learn(policy);
  const recorded = forRecords(policy);
  const facts = requestOf(line).facts({ vocabulary, asksForCertificates: true, needs: recorded.needs });
  const decision = decideRecorded(recorded, facts);
  return decision && freedom(decision);
}

const ACTOR = { id: "workload:ci/a", run: "r", claims: { pod: "p-1", ref: ["main", "x"] } };

/** With arguments of an even length, by an agent run. */
const call = (args: string | undefined, http: Partial<Facts["http"]> = {}): Facts => ({
  user: (args?.length ?? 0) % 2 === 0 ? { ...alice, actor: ACTOR } : alice,
  http: { ...plainHttp, ...http },
  mcp: { method: "tools/call", tool: "deploy", arguments: readArguments(() => args) },
});

const argument = (match: object): CriterionDoc => ({ mcp_tool_argument: { tool: "deploy", ...match } });

const ENV = { argument: "/env" };
const N = { argument: "/n" };
const equality: readonly CriterionDoc[] = [
  { accept: true },
  { reject: true },
  { domain: "example.com" },
  { groups: { has: "on-call" } },
  { "claim/department": { has: "platform" } },
  { "claim/nested/team": { exclude: "infra" } },
  { "claim/level": { is: 3 } },
  { "claim/https://example.com/role": { has: "lead" } },
  { idp: "default" },
  { actor: { not: "workload:ci/b" } },
  { "actor_claim/ref": { has: "main" } },
  { "actor_claim/other": { exclude: "x" } },
  { mcp_tool: "deploy" },
  { http_path: { starts_with: "/m" } },
  { client_certificate: { san_dns: "laptop.example" } },
  { invalid_client_certificate: true },
  argument({ ...ENV, is: "prod" }),
  argument({ ...ENV, not: "prod" }),
  argument({ ...ENV, in: ["dev", 1, true] }),
  argument({ ...ENV, exists: true }),
  argument({ ...N, is: 9_007_199_254_740_991 }),
  argument({ ...N, in: [1, 2.5, "prod"] }),
  argument({ argument: "/list", some: { is: "a" } }),
  argument({ argument: "/list", every: { in: ["a", 1] } }),
  argument({ argument: "/list/0", is: "a" }),
  argument({ argument: "", only: ["env", "n", "list", "e@x"] }),
  argument({ argument: "/e@x", is: "a" }),
  argument({ argument: "/constructor/name", exists: true }),
  argument({ argument: "/n/text", exists: true }),
];
const wider: readonly CriterionDoc[] = [
  argument({ ...ENV, starts_with: "pr" }),
  argument({ ...ENV, matches: "p.*" }),
  argument({ ...ENV, in: ["dev"], contains: "e" }),
  argument({ ...N, gt: 1 }),
  argument({ ...N, lte: "9007199254740992" }),
  argument({ argument: "/list", some: { gt: 0 } }),
  argument({ argument: "/list", every: { ends_with: "a" } }),
];

const TEXTS = ['"prod"', '"dev"', '"other"', '"a"', '"\\u202e"', '"=a"'];
const NUMBERS = ["1", "1.0", "2.50", "10e-1", "9007199254740991", "9007199254740992", "9007199254740993", "1e9999999"];
const value = fc.oneof(
  fc.constantFrom(...TEXTS, ...NUMBERS, "true", "false", "null", "[]", "{}", '{"text":"a"}'),
  fc.array(fc.constantFrom(...TEXTS, ...NUMBERS, "null", '{"a":1}'), { maxLength: 3 }).map((all) => `[${all.join()}]`),
);
const name = fc.constantFrom("env", "Env", "n", "list", "e@x", "E@X", "__proto__", "constructor", "ſomething odd");
const args = fc.option(
  fc
    .uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, maxLength: 4 })
    .map((all) => `{${all.map(([each, text]) => `${JSON.stringify(each)}:${text}`).join()}}`),
  { nil: undefined, freq: 20 },
);
const policyOf = (criteria: readonly CriterionDoc[]): fc.Arbitrary<readonly RulesDoc[]> => {
  const action = fc.dictionary(
    fc.constantFrom(...OPERATORS),
    fc.array(fc.constantFrom(...criteria), { minLength: 1, maxLength: 3 }),
    { minKeys: 1, maxKeys: 2 },
  );
  return fc
    .tuple(action, fc.option(action), fc.option(action))
    .map(([allow, deny, approve]) => [{ allow }, ...(deny ? [{ deny }] : []), ...(approve ? [{ approve }] : [])]);
};
const certificate = fc.option(
  fc.record({ isValid: fc.boolean(), sanDns: fc.subarray(["laptop.example", "b.example"]) }).map((some) => ({
    fingerprint: "f".repeat(64),
    spkiHash: "s",
    sanEmail: [],
    sanUri: [],
    ...some,
  })),
  { nil: undefined },
);

describe("a recorded request", () => {
  test("is decided as it was, where rules compare by equality, present and past", () => {
    fc.assert(
      fc.property(policyOf(equality), args, certificate, (rules, given, shown) => {
        const facts = call(given, shown && { certificate: shown });
        const decision = evaluate(compilePolicy(rules), facts);
        expect(again(lineOf(facts, given, decision, { key: KEY }), rules, KEY)).toBe(freedom(decision));
      }),
      { seed: 16, numRuns: 1500 },
    );
  });

  test("is decided as it would be or not at all, whatever rules compare and whichever key there is", () => {
    let told = 0;
    let untold = 0;
    const keys = fc.constantFrom(
      [KEY, KEY],
      [KEY, undefined],
      [undefined, KEY],
      [KEY, Buffer.alloc(32, 2)],
      [undefined, undefined],
    );
    const whole = { plain: { deploy: [""] } };
    const declarations = fc.constantFrom<DeclaredArguments | undefined>(
      undefined,
      undefined,
      { omit: { "*": ["/env"] }, digest: { deploy: [""] } },
      { plain: { "*": [""] }, omit: { deploy: ["/list/0", "/n/text"] } },
      { omit: { deploy: [""] }, plain: { "*": ["/n"] } },
      { plain: { deploy: ["/env"] }, digest: { "*": ["/n", "/list"] } },
      { plain: { "*": ["/n", "/list"] } },
      whole,
    );
    const policies = policyOf([...equality, ...wider]);
    fc.assert(
      fc.property(policies, args, keys, declarations, (rules, given, [key, later], declared) => {
        const facts = call(given);
        const decision = evaluate(compilePolicy(rules), facts);
        const found = again(lineOf(facts, given, decision, { key, declared }), rules, later);
        if (found === undefined) untold += 1;
        else told += 1;
        if (found !== undefined) expect(found).toBe(freedom(decision));
        if (declared === whole && key === KEY && later === KEY) expect(found).toBe(freedom(decision));
      }),
      { seed: 16, numRuns: 3000 },
    );
    // Neither half is empty, so that each says something.
    expect(told).toBeGreaterThan(500);
    expect(untold).toBeGreaterThan(100);
  });

  test.each([
    ["a name that folds to nothing beside names that nobody asks for", { argument: "/", is: 1 }, '{"":1,"my key":2}'],
    ["another spelling of nothing", { argument: "/", exists: false }, '{" ":1}'],
    ["a lone surrogate where U+FFFD is meant", { argument: "/a", not: "\ufffd" }, '{"a":"\\ud800"}'],
    ["a name with a lone surrogate", { argument: "/\ufffd", exists: false }, '{"\\ud800":1}'],
  ])("is decided as it was: %s", (_name, match, given) => {
    const rules = [{ allow: { and: [argument(match)] } }];
    const facts = call(given);
    const decision = evaluate(compilePolicy(rules), facts);
    expect(again(lineOf(facts, given, decision, { key: KEY }), rules, KEY)).toBe(freedom(decision));
  });

  test("has no value of an argument or claim that is not allowed, and no key", () => {
    const given = '{"env":"secret-1","list":["secret-2",{"secret@3":4711}],"e":{"f":"secret-4"},"ok":"shown"}';
    const facts = call(given);
    const line = lineOf(facts, given, evaluate(compilePolicy([]), facts), {
      key: KEY,
      declared: { plain: { deploy: ["/ok"] } },
    });
    for (const secret of ["secret", "4711", "platform", "infra", KEY.toString("base64"), KEY.toString("hex")])
      expect(line).not.toContain(secret);
    expect(line).toContain('"ok":"=shown"');
    expect(line).not.toMatch(/[^\x20-\x7e\n]/);
  });

  test("has one digest for one number however it is written, and two for two numbers that are equal as doubles", () => {
    const digests = createDigests(KEY);
    const number = (token: string): string | undefined => digests.number(token);
    expect(new Set(["1", "1.0", "10e-1", "0.1E1"].map(number)).size).toBe(1);
    expect(new Set(["9007199254740992", "9007199254740993", "9007199254740993.0"].map(number)).size).toBe(2);
    expect(number("1e9999999")).toBeUndefined();
  });

  test("with too many or too long values states that it omits them", () => {
    const many = `{"list":[${Array.from({ length: 300 }, () => "1").join()}]}`;
    const facts = call(many);
    const line = lineOf(facts, many, evaluate(compilePolicy([]), facts), { key: KEY });
    expect(line).not.toContain('"arguments"');
    const rules = (match: object): readonly RulesDoc[] => [{ allow: { and: [argument(match)] } }];
    expect(again(line, rules({ argument: "/list", exists: true }), KEY)).toBeUndefined();
    expect(again(line, [{ allow: { and: [{ mcp_tool: "deploy" }] } }], KEY)).toBe(2);
    const long = call(undefined, { path: `/${"x".repeat(40_000)}` });
    const omitted = lineOf(long, undefined, evaluate(compilePolicy([]), long), { key: KEY });
    const read = readRecord(readLogLine(Buffer.from(omitted)));
    expect(read).toMatchObject({ kind: "check", check: { request: "omitted" } });
  });
});
