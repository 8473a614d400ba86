/** What is decided of a record that does not tell everything, with its reasons, and what it is said not to tell. */
import { describe, expect, test } from "vitest";

import { compilePolicy } from "../../../../runtime/policy/evaluate.ts";
import type { PolicyDoc } from "../../../../runtime/policy/parse.ts";
import {
  decideRecorded,
  forRecords,
  needsOfAll,
  type RecordedFacts,
  omittedValues,
} from "../../../../runtime/policy/recorded/decide-recorded.ts";
import { canTell, placeholder, Withheld } from "../../../../runtime/policy/recorded/withheld.ts";
import { NumberToken } from "../../../../runtime/shared/canonical-json.ts";
import { alice, plainHttp, toolCall } from "../../../support/facts.ts";

const recorded = (doc: PolicyDoc) => forRecords(compilePolicy(doc));
const about = (argument: string, tool: unknown = { is: "pay" }) => ({
  mcp_tool_argument: { tool, argument, exists: true },
});

/** Neither claims nor certificate nor arguments are told. */
const facts: RecordedFacts = {
  user: alice,
  http: plainHttp,
  mcp: toolCall("pay"),
  hasClaims: false,
  isCertificateKnown: false,
};

describe("decideRecorded()", () => {
  test("returns the reasons of an allowed request that are valid whatever the claims were", () => {
    const policy = recorded({ allow: { or: [{ "claim/team": "a" }, { domain: "example.com" }] } });
    expect(decideRecorded(policy, facts)).toMatchObject({ allowed: true, allowWhyTrue: ["domain-ok", "mcp-tool-ok"] });
  });

  test("returns the reasons of a denied request that are valid whatever the claims were", () => {
    const policy = recorded({ allow: { and: [{ "claim/team": "a" }, { domain: "other.example" }] } });
    expect(decideRecorded(policy, facts)).toMatchObject({ allowed: false, allowWhyFalse: ["domain-unauthorized"] });
  });

  test("is undefined if the claims decide", () => {
    expect(decideRecorded(recorded({ allow: { and: [{ "claim/team": "a" }] } }), facts)).toBeUndefined();
  });
});

test("omittedValues() names what the rules need and the record omits, each once", () => {
  const policy = recorded({
    allow: {
      and: [
        { "claim/team": "a" },
        { client_certificate: { san_dns: "a" } },
        { invalid_client_certificate: true },
        about("/amount"),
        about("", { starts_with: "pa" }),
        about("/amount", { is: "refund" }),
        { domain: "example.com" },
      ],
    },
    deny: { or: [{ "claim/team": "b" }] },
  });
  expect(omittedValues(policy, facts)).toEqual([
    "claim/team",
    "the client's certificate",
    "argument /amount of pay",
    'the arguments of tools {"starts_with":"pa"}',
  ]);
  expect(omittedValues(policy, { ...facts, hasClaims: true, isCertificateKnown: true, mcp: toolCall("x") })).toEqual(
    [],
  );
});

test("needsOfAll() is the union of the policies' needs", () => {
  const needs = needsOfAll([
    recorded({ allow: { and: [{ "claim/team/name": "a" }] } }).needs,
    recorded({ allow: { and: [about("/amount")] } }).needs,
  ]);
  expect([...needs.claims]).toEqual(["team/name", "team"]);
  expect(["pay", "refund"].map((tool) => needs.argumentsOf(tool))).toEqual([true, false]);
});

describe("a value that a record omits", () => {
  test.each<[object, Withheld, boolean]>([
    [{ gt: 5 }, new Withheld("number", "digest"), false],
    [{ gt: 5 }, new Withheld("string", "digest"), true],
    [{ starts_with: "a" }, new Withheld("string", "digest"), false],
    [{ starts_with: "a" }, new Withheld("number", "digest"), true],
    [{ is: "a" }, new Withheld("string", "digest"), true],
    [{ is: "a" }, new Withheld("string", undefined), false],
    [{ is: "a" }, new Withheld("boolean", undefined), true],
  ])("for %j, %j: canTell() is %s", (match, value, expected) => {
    expect(canTell({ tool: {}, argument: "", ...match }, value)).toBe(expected);
  });

  test("is compared as one of its type", () => {
    const all = (["boolean", "string", "number"] as const).map((type) => placeholder(new Withheld(type, "digest")));
    expect(all).toEqual([true, "\0digest", expect.any(NumberToken)]);
  });
});
