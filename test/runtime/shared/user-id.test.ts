/** Ids of users: made and taken apart, and never the same for two. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  isIssuerName,
  providerNameOf,
  isNamedByEmail,
  MAX_USER_ID_BYTES,
  parseUserId,
  providerUserId,
  readUserId,
  serviceAccountUserId,
} from "../../../runtime/shared/user-id.ts";
import { userId } from "../../support/users.ts";

describe("providerUserId() of the first provider", () => {
  test.each([
    "1",
    "u-alice",
    "auth0|5f7c8ec7c33c6c004bbafe82",
    "google-oauth2|103547991597142817347",
    "00u1abcdEFGHijklm357",
    "248289761001",
    "f:1f6e0c0a-52c4-4c3f-8a5e-5a1c1f0f0a5b:alice",
    "alice@example.com",
    "cn=Alice Example,ou=people,dc=example,dc=com",
    "https://example.com/users/alice",
    "spiffe://example.org/ns/a",
    "repo:octo-org/octo-repo:ref:refs/heads/main",
    "system:serviceaccount:ns:name",
    "a/b+c/dEf=",
    "corp/alice",
    "corp:alice",
    "issuer",
    "issuers:corp/alice",
    "service-account",
    "Älice",
    " alice ",
    "<script>",
  ])("is the unchanged subject: %s", (subject) => {
    expect(providerUserId(undefined, subject)).toEqual({ ok: true, id: subject });
    expect(parseUserId(subject)).toEqual({ kind: "person", subject });
  });

  test.each<readonly [string, string]>([
    ["issuer:corp/1", 'begins with "issuer:", which is reserved for other users'],
    ["issuer:", 'begins with "issuer:", which is reserved for other users'],
    ["issuer:no slash", 'begins with "issuer:", which is reserved for other users'],
    ["service-account:ci", 'begins with "service-account:", which is reserved for other users'],
    ["service-account:", 'begins with "service-account:", which is reserved for other users'],
    ["", "is empty"],
    ["a\nb", "has a control character"],
    ["a\u0000", "has a control character"],
    ["a\u0085", "has a control character"],
    ["\ud800", "is not valid Unicode text"],
    ["\udc00\ud800", "is not valid Unicode text"],
    ["x".repeat(MAX_USER_ID_BYTES + 1), "is too long"],
    ["ä".repeat(MAX_USER_ID_BYTES / 2 + 1), "is too long"],
  ])("refuses %j", (subject, problem) => {
    expect(providerUserId(undefined, subject)).toEqual({ ok: false, problem });
  });

  test("accepts the longest ID that the store can name", () => {
    const subject = "x".repeat(MAX_USER_ID_BYTES);
    expect(providerUserId(undefined, subject).ok).toBe(true);
    expect(Buffer.byteLength(`refresh-identity:${subject}`)).toBe(1024);
  });
});

describe("providerUserId() of another issuer", () => {
  test.each([
    "1",
    "issuer:corp/1",
    "issuer:partner/1",
    "service-account:ci",
    "partner/1",
    "/",
    "//",
    "alice@example.com",
    "https://example.com/a",
  ])("names the issuer, and leaves the subject unchanged: %s", (subject) => {
    const id = userId(subject, "corp");
    expect(id).toBe(`issuer:corp/${subject}`);
    expect(parseUserId(id)).toEqual({ kind: "person", issuer: "corp", subject });
  });

  test.each([
    ["", "is empty"],
    ["a\tb", "has a control character"],
    ["\udfff", "is not valid Unicode text"],
    ["x".repeat(MAX_USER_ID_BYTES - 11), "is too long"],
  ])("refuses %j", (subject, problem) => {
    expect(providerUserId("corp", subject)).toEqual({ ok: false, problem });
  });

  test("throws for an invalid name of an issuer", () => {
    for (const name of ["", "Corp", "a/b", "-a", "a-", "a b", "ä", "a.b", "x".repeat(33), "default"]) {
      expect(isIssuerName(name)).toBe(false);
      expect(() => providerUserId(name, "1")).toThrow(TypeError);
    }
    for (const name of ["a", "0", "corp", "corp-2", "x".repeat(32)]) expect(isIssuerName(name)).toBe(true);
  });
});

describe("providerNameOf()", () => {
  test.each([
    ["u-1", "default"],
    ["default/1", "default"],
    ["issuer:corp/1", "corp"],
    ["issuer:corp/issuer:other/1", "corp"],
    ["service-account:ci", ""],
    ["issuer:default/1", ""],
    ["issuer:corp", ""],
    ["", ""],
  ])("of %j is %j", (id, name) => expect(providerNameOf(id)).toBe(name));
});

describe("parseUserId()", () => {
  test.each([
    "",
    "issuer:",
    "issuer:corp",
    "issuer:corp/",
    "issuer:/1",
    "issuer:Corp/1",
    "issuer:-/1",
    "service-account:",
  ])("finds no user in %j", (text) => {
    expect(parseUserId(text)).toBeUndefined();
    expect(readUserId(text)).toBeUndefined();
  });

  test("finds a machine", () => {
    expect(parseUserId(serviceAccountUserId("ci"))).toEqual({ kind: "service-account", name: "ci" });
    expect(readUserId("service-account:ci")).toBe("service-account:ci");
  });
});

describe("ids", () => {
  const subject = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("1", "corp/1", "issuer:corp/1", "issuer:a/1", "service-account:ci", "a/1", "/1", "é", "e\u0301"),
  );
  const issuer = fc.constantFrom(undefined, "corp", "a", "a-b", "issuer", "service-account");

  test("of two users are never equal, and contain their parts", () => {
    const both = fc.tuple(issuer, subject);
    fc.assert(
      fc.property(both, both, ([a, subjectOfA], [b, subjectOfB]) => {
        const [one, other] = [providerUserId(a, subjectOfA), providerUserId(b, subjectOfB)];
        if (!one.ok || !other.ok) return;
        const isSame = a === b && subjectOfA === subjectOfB;
        expect(one.id === other.id).toBe(isSame);
        // As the store keeps them, too.
        expect(Buffer.from(one.id).equals(Buffer.from(other.id))).toBe(isSame);
        const expected = { kind: "person", ...(a === undefined ? {} : { issuer: a }), subject: subjectOfA };
        expect(parseUserId(one.id)).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test("of people are never those of service accounts or workloads", () => {
    fc.assert(
      fc.property(issuer, subject, fc.string({ minLength: 1 }), (of, text, name) => {
        const made = providerUserId(of, text);
        if (made.ok) expect(made.id).not.toBe(serviceAccountUserId(name));
      }),
    );
  });
});

test("isNamedByEmail() tells addresses from ids that have an @", () => {
  for (const name of ["alice@example.com", "@", "corp/alice@example.com"]) expect(isNamedByEmail(name)).toBe(true);
  for (const name of ["u-alice", "issuer:corp/alice@example.com", "service-account:a@b", ""]) {
    expect(isNamedByEmail(name)).toBe(false);
  }
});
