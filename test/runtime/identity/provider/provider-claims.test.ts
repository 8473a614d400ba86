import { describe, expect, it, test } from "vitest";

import { storedFacts } from "../../../../runtime/identity/claims-record.ts";
import {
  lacksProfile,
  readProfile as readProfileOf,
  withEarlierUnverified,
} from "../../../../runtime/identity/provider/provider-claims.ts";
import type { IdentityRecord } from "../../../../runtime/identity/identity-records.ts";
import { userId } from "../../../support/users.ts";

const readProfile = (...of: readonly [Parameters<typeof readProfileOf>[0], Parameters<typeof readProfileOf>[1]]) =>
  readProfileOf(...of, userId("u"));

const GROUPS = { groupsClaim: "groups", requireEmailVerified: false, emailDomains: undefined };

describe("readProfile()", () => {
  it("keeps claims about the user and drops those about a token", () => {
    const { claims } = readProfile(
      [{ sub: "u", iss: "i", exp: 1, iat: 2, nonce: "n", at_hash: "h", department: "x" }],
      GROUPS,
    );
    expect(claims).toEqual({ sub: "u", department: "x" });
  });

  it("takes a claim that is nested deeper than any reader goes for one that was not sent", () => {
    const deep = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) as unknown;
    const { claims, leftOut } = readProfile([{ sub: "u", department: "x", deep }], GROUPS);
    expect(claims).toEqual({ sub: "u", department: "x" });
    expect(leftOut?.claims).toEqual(["deep"]);
  });

  it("lets later sources win", () => {
    expect(readProfile([{ name: "old", email: "a@b" }, { name: "new" }], GROUPS)).toMatchObject({
      name: "new",
      email: "a@b",
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["given", { email: "a@example.com" }, "a@example.com"],
    ["verified", { email: "a@example.com", email_verified: true }, "a@example.com"],
    ["unverified", { email: "boss@example.com", email_verified: false }, ""],
    ["unverified, as text", { email: "boss@example.com", email_verified: "false" }, ""],
    ["verified, as text", { email: "a@example.com", email_verified: "true" }, "a@example.com"],
    ["unverified by a word that promises nothing", { email: "boss@example.com", email_verified: "True" }, ""],
    ["unverified by zero", { email: "boss@example.com", email_verified: 0 }, ""],
    ["unverified by null", { email: "boss@example.com", email_verified: null }, ""],
    ["unverified by a list", { email: "boss@example.com", email_verified: [true] }, ""],
    ["left out", { _claim_names: { email: "src1" }, email: "boss@example.com" }, ""],
    ["absent", {}, ""],
    ["no text", { email: ["a@example.com"] }, ""],
  ])("email %s", (_what, claims, email) => {
    expect(readProfile([claims], GROUPS).email).toBe(email);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["given", { name: "A B" }, "A B"],
    ["from its parts", { given_name: "A", family_name: "B" }, "A B"],
    ["from one part", { family_name: "B" }, "B"],
    ["absent", { name: "" }, ""],
  ])("name %s", (_what, claims, name) => {
    expect(readProfile([claims], GROUPS).name).toBe(name);
  });

  it.each<[string, Record<string, unknown>, string, readonly string[]]>([
    ["a list, sorted and unique", { groups: ["b", "a", "b"] }, "groups", ["a", "b"]],
    ["one text", { groups: "a" }, "groups", ["a"]],
    ["another claim", { roles: ["a"], groups: ["x"] }, "roles", ["a"]],
    ["a path with a name that has dots", { access: { "a.b": { roles: ["a"] } } }, 'access."a.b".roles', ["a"]],
    ["a path", { realm_access: { roles: ["a"] } }, "realm_access.roles", ["a"]],
    ["a claim named by a URL", { "https://x.example/groups": ["a"] }, "https://x.example/groups", ["a"]],
    ["things that are no text", { groups: ["a", 1, null, {}, ""] }, "groups", ["a"]],
    ["no list", { groups: { a: true } }, "groups", []],
    ["absent", {}, "groups", []],
    ["a path into nothing", { a: null }, "a.b", []],
    ["the prototype", {}, "constructor.name", []],
  ])("groups from %s", (_what, claims, path, groups) => {
    expect(readProfile([claims], { ...GROUPS, groupsClaim: path }).groups).toEqual(groups);
  });

  it("does not let a claim named __proto__ reach anything", () => {
    const source = JSON.parse('{"__proto__":{"email":"x@example.com","groups":["admins"]},"sub":"u"}') as object;
    expect(readProfile([source as Record<string, unknown>], GROUPS)).toMatchObject({ email: "", groups: [] });
  });
});

type Source = Readonly<Record<string, unknown>>;

describe("readProfile() of an address in two sources", () => {
  const a = "a@example.com";
  const boss = "boss@example.com";

  test.each<[string, Source, Source, string, unknown]>([
    ["the strict one wins", { email: a, email_verified: false }, { email: a, email_verified: true }, "", false],
    ["in whichever place", { email: a, email_verified: true }, { email: a, email_verified: 0 }, "", false],
    ["also over another address", { email: a, email_verified: false }, { email: boss }, "", false],
    ["both vouch", { email: a, email_verified: true }, { email: a, email_verified: "true" }, a, "true"],
    ["one vouches, one is silent", { email: a, email_verified: true }, { email: a }, a, true],
    ["a word about one is none about the other", { email: a, email_verified: true }, { email: boss }, boss, undefined],
  ])("%s", (_, id, info, email, word) => {
    const profile = readProfile([id, info], GROUPS);
    expect(profile.email).toBe(email);
    expect(profile.claims["email"]).toBe(email === "" ? undefined : email);
    expect(profile.claims["email_verified"]).toBe(word);
  });

  test.each<[string, readonly Source[], string]>([
    ["silence is no word", [{ email: a }], ""],
    ["a word is one", [{ email: a, email_verified: true }], a],
    ["a word about another address is none", [{ email: a, email_verified: true }, { email: boss }], ""],
    ["a word without an address is none", [{ email_verified: true }, { email: boss }], ""],
  ])("with requireEmailVerified %s", (_, sources, email) => {
    const profile = readProfile(sources, { ...GROUPS, requireEmailVerified: true });
    expect([profile.email, profile.claims["email"] ?? ""]).toEqual([email, email]);
  });

  test.each<[string, unknown, string]>([
    ["one of them", "ann@corp.example", "ann@corp.example"],
    ["one of them in other letters", "Ann@CORP.example", "Ann@CORP.example"],
    ["a subdomain", "ann@x.corp.example", ""],
    ["another domain", "ann@example.com", ""],
    ["a domain that ends alike", "ann@notcorp.example", ""],
    ["two addresses in one", "ann@example.com@corp.example", ""],
    ["nobody at one of them", "@corp.example", ""],
    ["no address", "corp.example", ""],
    ["no text", ["ann@corp.example"], ""],
  ])("with emailDomains has the address of %s or none", (_, email, counted) => {
    const rules = { ...GROUPS, emailDomains: new Set(["corp.example"]) };
    const profile = readProfile([{ email, email_verified: true, department: "x" }], rules);
    expect([profile.email, profile.claims["email"] ?? ""]).toEqual([counted, counted]);
    expect(profile.claims["department"]).toBe("x");
  });
});

describe("readProfile() with omitted claims", () => {
  const names = { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "x", access_token: "t" } } };
  const all = { claims: ["groups"], groups: true };

  test.each<[string, readonly Source[], string, unknown]>([
    ["distributed", [names], "groups", all],
    ["named, and there all the same", [{ ...names, groups: ["a"] }], "groups", all],
    ["hasgroups", [{ hasgroups: true }], "groups", all],
    ["hasgroups as text", [{ hasgroups: "true" }], "groups", all],
    ["hasgroups, in another claim", [{ hasgroups: true }], "roles", { claims: ["groups"], groups: true }],
    ["Entra's other spelling", [{ "groups:src1": "x" }], "groups", all],
    ["a source in the place of the groups", [{ groups: "src1", _claim_sources: { src1: {} } }], "groups", all],
    [
      "what the path begins with",
      [{ _claim_names: { realm: "s" } }],
      "realm.roles",
      { claims: ["realm"], groups: true },
    ],
    ["another claim", [{ _claim_names: { roles: "s" }, groups: [] }], "groups", { claims: ["roles"], groups: false }],
    ["no groups to have", [{ hasgroups: false }], "groups", undefined],
    ["groups beside hasgroups", [{ hasgroups: true, groups: ["a"] }], "groups", undefined],
    ["told by the other source", [names, { groups: ["a"] }], "groups", undefined],
    ["told by the other source, before", [{ groups: ["a"] }, names], "groups", undefined],
  ])("%s", (_, sources, groupsClaim, leftOut) => {
    const profile = readProfile(sources, { ...GROUPS, groupsClaim });
    expect(profile.leftOut).toEqual(leftOut);
    expect(profile.claims).not.toHaveProperty("_claim_sources");
    if (leftOut !== undefined) expect(profile.groups).toEqual([]);
  });

  test("userinfo is requested for them", () => {
    const rest = { email: "a", name: "b" };
    expect(lacksProfile({ ...rest, ...names, groups: [] }, GROUPS)).toBe(true);
    expect(lacksProfile({ ...rest, groups: "src1", _claim_sources: { src1: {} } }, GROUPS)).toBe(true);
  });
});

describe("storedFacts() of records of an older version", () => {
  const stored = (changes: Partial<IdentityRecord>): IdentityRecord => ({
    userId: userId("u"),
    providerUrl: "https://p",
    providerClientId: "c",
    version: 1,
    email: "",
    name: "",
    groups: [],
    claims: {},
    confirmedAt: 0,
    confirmations: 1,
    signIns: 1,
    ...changes,
  });

  test("an address that was called unverified is gone", () => {
    const email = "boss@example.com";
    const record = stored({ email, claims: { email, email_verified: 0 } });
    expect(storedFacts(record)).toMatchObject({ email: "", claims: { email_verified: false } });
    expect(storedFacts(record).claims).not.toHaveProperty("email");
  });

  test("omitted groups are unknown", () => {
    const claims = { _claim_names: { groups: "src1" } };
    expect(storedFacts(stored({ claims })).leftOut).toEqual({ claims: ["groups"], groups: true });
    expect(storedFacts(stored({ claims, groups: ["a"] })).leftOut).toEqual({ claims: ["groups"], groups: false });
    expect(storedFacts(stored({ claims, leftOut: null }))).not.toHaveProperty("leftOut");
  });
});

describe("lacksProfile()", () => {
  it("is true while email, name or groups are missing", () => {
    expect(lacksProfile({ email: "a", name: "b", groups: [] }, GROUPS)).toBe(false);
    expect(lacksProfile({ email: "a", name: "b" }, GROUPS)).toBe(true);
    expect(lacksProfile({ email: "a", groups: [] }, GROUPS)).toBe(true);
  });
});

describe("omitted claims", () => {
  const NAMED = { _claim_names: { groups: "src1" } };

  it.each<[string, readonly Record<string, unknown>[]]>([
    ["null in the same source", [{ hasgroups: true, groups: null }]],
    ["nothing in the same source", [{ hasgroups: "true", groups: [] }]],
    ["null in another source", [NAMED, { groups: null }]],
    ["nothing in another source", [NAMED, { groups: [] }]],
    ["nothing in another source, before it", [{ groups: [] }, NAMED]],
  ])("are not made up for by %s", (_what, sources) => {
    expect(readProfile(sources, GROUPS).leftOut).toMatchObject({ groups: true });
  });

  it("are made up for by groups in another source", () => {
    expect(readProfile([NAMED, { groups: ["a"] }], GROUPS)).not.toHaveProperty("leftOut");
  });
});

describe("withEarlierDoubts()", () => {
  const earlier = readProfile(
    [{ email: "a@b.example", email_verified: false, _claim_names: { groups: "s", role: "s" } }],
    GROUPS,
  );

  it("keeps an address unverified until the provider says that it is", () => {
    expect(withEarlierUnverified(readProfile([{ email: "a@b.example" }], GROUPS), earlier)).toMatchObject({
      email: "",
    });
    const vouched = readProfile([{ email: "a@b.example", email_verified: true }], GROUPS);
    expect(withEarlierUnverified(vouched, earlier)).toMatchObject({ email: "a@b.example", claims: vouched.claims });
  });

  it("keeps the object id, which directories use", () => {
    const known = { claims: { oid: "a", role: "lead" } };
    expect(withEarlierUnverified(readProfile([{ name: "A" }], GROUPS), known).claims).toEqual({ oid: "a", name: "A" });
    expect(withEarlierUnverified(readProfile([{ oid: "b" }], GROUPS), known).claims).toEqual({ oid: "b" });
  });

  it("keeps claims omitted until the provider sends them", () => {
    expect(withEarlierUnverified(readProfile([{ role: "lead" }], GROUPS), earlier).leftOut).toEqual({
      claims: ["groups"],
      groups: true,
    });
    const whole = readProfile([{ role: "lead", groups: ["a"] }], GROUPS);
    expect(withEarlierUnverified(whole, earlier)).not.toHaveProperty("leftOut");
  });

  it("keeps groups unknown if the resolver returned them before, but not now", () => {
    const leftOut = { groups: false, claims: ["groups"], resolver: "answered" } as const;
    const answered = { ...earlier, groups: ["a"], leftOut };
    const silent = readProfile([{ name: "A" }], GROUPS);
    expect(withEarlierUnverified(silent, answered)).toMatchObject({
      groups: [],
      leftOut: { groups: true, claims: ["groups"] },
    });
    expect(withEarlierUnverified(readProfile([{ groups: ["b"] }], GROUPS), answered)).toMatchObject({ groups: ["b"] });
    expect(withEarlierUnverified({ ...silent, leftOut }, answered)).toMatchObject({ groups: [], leftOut });
    const failed = { ...silent, leftOut: { ...leftOut, groups: true, resolver: "failed" } } as const;
    expect(withEarlierUnverified(failed, answered).leftOut).toEqual(failed.leftOut);
  });
});
