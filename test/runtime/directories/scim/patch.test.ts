/** PATCH in the shapes of Okta and Entra. */
import { describe, expect, test } from "vitest";

import {
  type AttributeObject,
  ENTERPRISE_SCHEMA,
  readResource,
  USER_SHAPE,
} from "../../../../runtime/directories/scim/attributes.ts";
import { readGroupPatch, readMembers } from "../../../../runtime/directories/scim/members.ts";
import { changesOf, patchResource, readOperations } from "../../../../runtime/directories/scim/patch.ts";
import { ScimRefusal } from "../../../../runtime/directories/scim/refusal.ts";

const alice = readResource(USER_SHAPE, {
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  userName: "alice@example.com",
  externalId: "00u1",
  password: "secret",
  name: { givenName: "Alice", familyName: "A", middleName: null },
  emails: [{ primary: true, value: "alice@example.com", type: "work" }],
  active: true,
  groups: [],
  roles: [],
  [ENTERPRISE_SCHEMA.toUpperCase()]: { department: "Sales", manager: "m1" },
});

function patched(...operations: object[]): AttributeObject {
  const read = readOperations({ schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: operations });
  return patchResource(USER_SHAPE, alice, changesOf(USER_SHAPE, read));
}

function refusal(work: () => unknown): Pick<ScimRefusal, "status" | "scimType"> {
  try {
    work();
  } catch (error) {
    if (error instanceof ScimRefusal) return { status: error.status, scimType: error.scimType };
    throw error;
  }
  throw new Error("nothing was refused");
}

test("readResource() keeps known attributes, but no password, null or empty list", () => {
  expect(alice).toEqual({
    userName: "alice@example.com",
    externalId: "00u1",
    name: { givenName: "Alice", familyName: "A" },
    emails: [{ primary: true, value: "alice@example.com", type: "work" }],
    active: true,
    [ENTERPRISE_SCHEMA]: { department: "Sales", manager: { value: "m1" } },
  });
});

test.each([
  ["Okta, no path", { op: "replace", value: { active: false } }],
  ["Entra, text", { op: "Replace", path: "active", value: "False" }],
  ["Entra with the flag", { op: "Replace", path: "Active", value: false }],
  ["Entra, list without path", { op: "ADD", value: { active: "false" } }],
  ["with its schema", { op: "replace", path: "urn:ietf:params:scim:schemas:core:2.0:user:active", value: false }],
])("patchResource() deactivates as sent by %s", (_, operation) => {
  expect(patched(operation)).toEqual({ ...alice, active: false });
});

describe("patchResource() on single attributes", () => {
  test.each([
    [{ op: "Add", path: "name.givenName", value: "Al" }, { name: { givenName: "Al", familyName: "A" } }],
    [{ op: "replace", path: "name", value: { givenName: "Al" } }, { name: { givenName: "Al", familyName: "A" } }],
    [{ op: "Replace", value: { "name.familyName": "B" } }, { name: { givenName: "Alice", familyName: "B" } }],
    [{ op: "Replace", path: "title", value: null }, {}],
    [{ op: "Replace", value: { id: "x", meta: {}, password: "p", unheardOf: [1] } }, {}],
    [{ op: "replace", path: "password", value: "p" }, {}],
    [{ op: "Remove", path: "name" }, { name: undefined }],
    [
      { op: "Add", path: `${ENTERPRISE_SCHEMA}:employeeNumber`, value: 701984 },
      { [ENTERPRISE_SCHEMA]: { department: "Sales", manager: { value: "m1" }, employeeNumber: "701984" } },
    ],
    [
      { op: "Replace", value: { [`${ENTERPRISE_SCHEMA}:manager`]: "m2" } },
      { [ENTERPRISE_SCHEMA]: { department: "Sales", manager: { value: "m2" } } },
    ],
    [
      { op: "add", value: { [ENTERPRISE_SCHEMA]: { division: "EU" } } },
      { [ENTERPRISE_SCHEMA]: { department: "Sales", manager: { value: "m1" }, division: "EU" } },
    ],
    [{ op: "remove", path: ENTERPRISE_SCHEMA }, { [ENTERPRISE_SCHEMA]: undefined }],
  ])("%j", (operation, difference) => {
    expect(patched(operation)).toEqual({ ...alice, ...difference });
  });
});

describe("patchResource() on lists", () => {
  const work = { primary: true, value: "alice@example.com", type: "work" };
  test.each([
    [
      { op: "Replace", path: 'emails[type eq "work"].value', value: "b@example.com" },
      [{ ...work, value: "b@example.com" }],
    ],
    [
      { op: "Replace", value: { 'emails[type eq "work"].value': "b@example.com" } },
      [{ ...work, value: "b@example.com" }],
    ],
    [
      { op: "Add", path: 'emails[type eq "home"].value', value: "h@example.com" },
      [work, { type: "home", value: "h@example.com" }],
    ],
    [
      { op: "Replace", path: 'EMAILS[Primary eq "True"].value', value: "c@example.com" },
      [{ ...work, value: "c@example.com" }],
    ],
    [
      { op: "add", path: "emails", value: [{ value: "d@example.com", primary: true }] },
      [
        { ...work, primary: false },
        { value: "d@example.com", primary: true },
      ],
    ],
    [{ op: "replace", path: "emails", value: [{ value: "d@example.com" }] }, [{ value: "d@example.com" }]],
    [{ op: "Remove", path: 'emails[type eq "home"]' }, [work]],
    [{ op: "Remove", path: 'emails[type eq "work"].value' }, undefined],
    [{ op: "Remove", path: "emails", value: [{ value: "other@example.com" }] }, [work]],
    [{ op: "Remove", path: "emails", value: [] }, [work]],
    [{ op: "Remove", path: "emails" }, undefined],
  ])("%j", (operation, emails) => {
    expect(patched(operation)["emails"]).toEqual(emails);
  });
});

test.each([
  [{ op: "move", path: "title" }, "invalidSyntax"],
  [{ op: "remove" }, "noTarget"],
  [{ op: "replace", value: "x" }, "invalidValue"],
  [{ op: "replace", path: "unheardOf", value: 1 }, "invalidPath"],
  [{ op: "replace", path: "title[", value: 1 }, "invalidPath"],
  [{ op: "replace", path: 'emails[type co "w"].value', value: "x" }, "invalidPath"],
  [{ op: "replace", path: "active", value: "perhaps" }, "invalidValue"],
  [{ op: "remove", path: "userName" }, "invalidValue"],
  [{ op: "replace", path: "title", value: "x".repeat(3000) }, "invalidValue"],
  [{ op: "add", path: "emails", value: Array.from({ length: 65 }, (_, n) => `${n}@example.com`) }, "invalidValue"],
])("patchResource() refuses %j", (operation, scimType) => {
  expect(refusal(() => patched(operation))).toEqual({ status: 400, scimType });
});

test("patchResource() limits the number of names", () => {
  // Each is a path: 700,000 of them blocked a process for 26 s.
  const value = Object.fromEntries(Array.from({ length: 2001 }, (_, at) => [`a${at}`, 0]));
  expect(refusal(() => patched({ op: "add", value }))).toEqual({ status: 400, scimType: "invalidValue" });
});

describe("readGroupPatch()", () => {
  const patch = (...operations: object[]) => {
    const { members, others } = readGroupPatch(readOperations({ Operations: operations }));
    return {
      isReplaced: members.isReplaced,
      added: [...members.added],
      removed: [...members.removed],
      others: others.map(({ path }) => path.name),
    };
  };
  const nothing = { isReplaced: false, added: [], removed: [], others: [] };
  test.each([
    ["Okta adds", [{ op: "add", path: "members", value: [{ value: "a", display: "A" }] }], { added: ["a"] }],
    ["Okta removes", [{ op: "remove", path: 'members[value eq "a"]' }], { removed: ["a"] }],
    [
      "Okta replaces",
      [{ op: "replace", path: "members", value: [{ value: "b" }] }],
      { isReplaced: true, added: ["b"] },
    ],
    ["Okta renames", [{ op: "replace", value: { id: "g", displayName: "New" } }], { others: ["displayName"] }],
    ["Entra adds", [{ op: "Add", path: "members", value: [{ $ref: null, value: "a" }] }], { added: ["a"] }],
    [
      "Entra removes",
      [{ op: "Remove", path: "members", value: [{ $ref: null, value: "a" }, { value: "b" }] }],
      { removed: ["a", "b"] },
    ],
    ["an empty list removes nobody", [{ op: "Remove", path: "members", value: [] }], {}],
    ["no value removes all", [{ op: "remove", path: "members" }], { isReplaced: true }],
    ["no path", [{ op: "add", value: { members: [{ value: "a" }] } }], { added: ["a"] }],
    [
      "the last word counts",
      [
        { op: "add", path: "members", value: "a" },
        { op: "remove", path: 'members[value eq "a"]' },
      ],
      { removed: ["a"] },
    ],
    ["what cannot be an id is nobody", [{ op: "add", path: "members", value: [{ value: "a b:c" }] }], {}],
  ])("%s", (_, operations, expected) => {
    expect(patch(...operations)).toEqual({ ...nothing, ...expected });
  });

  test("refuses a filter that is not by value, and members without one", () => {
    expect(refusal(() => patch({ op: "remove", path: 'members[display eq "a"]' })).scimType).toBe("invalidPath");
    expect(refusal(() => patch({ op: "add", path: "members", value: [{}] })).scimType).toBe("invalidValue");
    const many = (op: string, from: number): object => {
      const value = Array.from({ length: 60_000 }, (_, at) => `u${from + at}`);
      return { op, path: "members", value };
    };
    expect(patch(many("remove", 0)).removed).toHaveLength(60_000);
    expect(refusal(() => patch(many("remove", 0), many("remove", 60_000))).scimType).toBe("invalidValue");
  });

  test("a whole group without members changes none", () => {
    expect(readMembers({ displayName: "G" }).isReplaced).toBe(false);
    expect(readMembers({ displayName: "G", members: [] }).isReplaced).toBe(true);
  });
});
