import { describe, expect, it } from "vitest";

import { lacksProfile, readProfile } from "../../../runtime/session/provider-claims.ts";

describe("readProfile()", () => {
  it("keeps claims about the user and drops those about a token", () => {
    const { claims } = readProfile(
      [{ sub: "u", iss: "i", exp: 1, iat: 2, nonce: "n", at_hash: "h", department: "x" }],
      "groups",
    );
    expect(claims).toEqual({ sub: "u", department: "x" });
  });

  it("lets later sources win", () => {
    expect(readProfile([{ name: "old", email: "a@b" }, { name: "new" }], "groups")).toMatchObject({
      name: "new",
      email: "a@b",
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["given", { email: "a@example.com" }, "a@example.com"],
    ["verified", { email: "a@example.com", email_verified: true }, "a@example.com"],
    ["unverified", { email: "boss@example.com", email_verified: false }, ""],
    ["unverified, as text", { email: "boss@example.com", email_verified: "false" }, ""],
    ["absent", {}, ""],
    ["no text", { email: ["a@example.com"] }, ""],
  ])("email %s", (_what, claims, email) => {
    expect(readProfile([claims], "groups").email).toBe(email);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["given", { name: "A B" }, "A B"],
    ["from its parts", { given_name: "A", family_name: "B" }, "A B"],
    ["from one part", { family_name: "B" }, "B"],
    ["absent", { name: "" }, ""],
  ])("name %s", (_what, claims, name) => {
    expect(readProfile([claims], "groups").name).toBe(name);
  });

  it.each<[string, Record<string, unknown>, string, readonly string[]]>([
    ["a list, sorted and unique", { groups: ["b", "a", "b"] }, "groups", ["a", "b"]],
    ["one text", { groups: "a" }, "groups", ["a"]],
    ["another claim", { roles: ["a"], groups: ["x"] }, "roles", ["a"]],
    ["a path", { realm_access: { roles: ["a"] } }, "realm_access.roles", ["a"]],
    ["a claim named by a URL", { "https://x.example/groups": ["a"] }, "https://x.example/groups", ["a"]],
    ["things that are no text", { groups: ["a", 1, null, {}, ""] }, "groups", ["a"]],
    ["no list", { groups: { a: true } }, "groups", []],
    ["absent", {}, "groups", []],
    ["a path into nothing", { a: null }, "a.b", []],
    ["the prototype", {}, "constructor.name", []],
  ])("groups from %s", (_what, claims, path, groups) => {
    expect(readProfile([claims], path).groups).toEqual(groups);
  });

  it("does not let a claim named __proto__ reach anything", () => {
    const source = JSON.parse('{"__proto__":{"email":"x@example.com","groups":["admins"]},"sub":"u"}') as object;
    expect(readProfile([source as Record<string, unknown>], "groups")).toMatchObject({ email: "", groups: [] });
  });
});

describe("lacksProfile()", () => {
  it("is true while email, name or groups are missing", () => {
    expect(lacksProfile({ email: "a", name: "b", groups: [] }, "groups")).toBe(false);
    expect(lacksProfile({ email: "a", name: "b" }, "groups")).toBe(true);
    expect(lacksProfile({ email: "a", groups: [] }, "groups")).toBe(true);
  });
});
