/** Filters, paths and lists. */
import { describe, expect, test } from "vitest";

import { readResource, USER_SHAPE } from "../../../../runtime/directories/scim/attributes.ts";
import { isSelected, readListQuery, readSelection } from "../../../../runtime/directories/scim/list-query.ts";
import { changesOf, patchResource, readOperations } from "../../../../runtime/directories/scim/patch.ts";
import { matches, parseFilter, parsePath } from "../../../../runtime/directories/scim/path.ts";
import { errorBody, ScimRefusal } from "../../../../runtime/directories/scim/refusal.ts";
import { createRandom } from "../../../support/random.ts";

const alice = {
  id: "u1",
  ...readResource(USER_SHAPE, {
    userName: "Alice@example.com",
    externalId: "00uA",
    active: "True",
    emails: [{ value: "alice@example.com", type: "work", primary: true }],
  }),
};

describe("parseFilter() and matches()", () => {
  test.each([
    ['userName eq "alice@EXAMPLE.com"', true],
    ['USERNAME EQ "alice@example.com"', true],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "alice@example.com"', true],
    ['externalId eq "00uA"', true],
    ['externalId eq "00ua"', false],
    ['id eq "u1"', true],
    ["active eq true", true],
    ["active eq True", true],
    ['emails[type eq "work"].value eq "alice@example.com"', true],
    ['emails[type eq "home"].value eq "alice@example.com"', false],
    ['emails.value eq "alice@example.com"', true],
    ['emails eq "alice@example.com"', true],
    ['userName eq "alice@example.com" and active eq false', false],
    ['userName eq "a\\"b"', false],
    ["title eq null", false],
  ])("%s is %s", (filter, expected) => {
    expect(matches(alice, parseFilter(USER_SHAPE, filter), USER_SHAPE)).toBe(expected);
  });

  test.each([
    "",
    "userName",
    'userName co "a"',
    "userName pr",
    'userName eq "a" or userName eq "b"',
    'not (userName eq "a")',
    '(userName eq "a")',
    "userName eq a",
    'userName eq "a',
    'userName eq "a" and',
    'password eq2 "a"',
    'unheardOf eq "a"',
    'userName[type eq "a"] eq "b"',
    'emails[type eq "work" eq "b"',
    'emails[].value eq "b"',
    "userName eq {}",
    Array.from({ length: 9 }, () => "active eq true").join(" and "),
    `userName eq "${"a".repeat(2048)}"`,
  ])("refuses %s", (filter) => {
    expect(() => parseFilter(USER_SHAPE, filter)).toThrow(
      expect.objectContaining({ status: 400, scimType: "invalidFilter" }) as Error,
    );
  });
});

test("readListQuery() reads pages as the protocol says", () => {
  const page = (values: Record<string, string>) => {
    const { startIndex, count } = readListQuery(USER_SHAPE, new Map(Object.entries(values)));
    return [startIndex, count];
  };
  expect(page({})).toEqual([1, 100]);
  expect(page({ startIndex: "0", count: "0" })).toEqual([1, 0]);
  expect(page({ startIndex: "-5", count: "-1" })).toEqual([1, 0]);
  expect(page({ startIndex: "101", count: "100000" })).toEqual([101, 200]);
  expect(() => page({ count: "1e9" })).toThrow(ScimRefusal);
});

test("readSelection() omits excluded attributes, but never the id", () => {
  const selection = readSelection(new Map([["excludedAttributes", "members, ID"]]));
  expect(["members", "id", "displayName"].map((name) => isSelected(selection, name))).toEqual([false, true, true]);
  const only = readSelection(new Map([["attributes", "userName,name.givenName"]]));
  expect(["userName", "name", "emails", "schemas"].map((name) => isSelected(only, name))).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

test("errorBody() has the status as text", () => {
  expect(errorBody(new ScimRefusal(409, "Taken", "uniqueness"))).toEqual({
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: "409",
    scimType: "uniqueness",
    detail: "Taken",
  });
});

test("any input is parsed or rejected, and unknown attributes are never stored", () => {
  const random = createRandom(18);
  const words = [
    "userName",
    "emails",
    "[",
    "]",
    ".",
    "value",
    "eq",
    "and",
    '"a"',
    " ",
    "type",
    "urn:",
    "\\",
    '"',
    "__proto__",
    "members",
    "active",
    "true",
    "constructor",
    "name",
    "null",
    "🙂",
    "\0",
  ];
  const values = [
    null,
    "",
    "x",
    1,
    true,
    [],
    {},
    [null],
    [{}],
    { value: "x" },
    [[[]]],
    { __proto__: null, toString: 1 },
    JSON.parse('{"__proto__":{"a":1}}'),
  ];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const known = new Set([...USER_SHAPE.attributes.map(({ name }) => name), USER_SHAPE.extension?.schema]);
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof ScimRefusal)) throw error;
    }
  };
  let done = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const text = Array.from({ length: 1 + Math.floor(random() * 8) }, () => pick(words)).join(
      random() < 0.5 ? " " : "",
    );
    attempt(() => parseFilter(USER_SHAPE, text));
    attempt(() => parsePath(USER_SHAPE, text));
    attempt(() => {
      const path = random() < 0.3 ? undefined : random() < 0.5 ? pick(words) : text;
      const value = random() < 0.5 ? pick(values) : { [pick(words)]: pick(values), [text]: pick(values) };
      const body = { Operations: [{ op: pick(["add", "Replace", "REMOVE", "x"]), path, value }] };
      const made = patchResource(USER_SHAPE, alice, changesOf(USER_SHAPE, readOperations(body)));
      done += 1;
      for (const name of Object.keys(made)) expect(known.has(name) || name === "id", name).toBe(true);
    });
    attempt(() =>
      readResource(USER_SHAPE, {
        userName: "a",
        [pick(words)]: pick(values),
        name: pick(values),
        emails: pick(values),
      }),
    );
  }
  expect(done).toBeGreaterThan(1000);
  expect(({} as { a?: number }).a).toBeUndefined();
});
