import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { canonicalHost, findDomain, matchesDomain, parseDomainPattern } from "../../../runtime/settings/domains.ts";

const patterns = (...texts: string[]) => texts.map((text) => parseDomainPattern(text));

describe("matchesDomain()", () => {
  test.each([
    ["example.com", "example.com", true],
    ["example.com", "EXAMPLE.com", true],
    ["example.com", "example.com.", true],
    ["example.com", "a.example.com", false],
    ["example.com", "notexample.com", false],
    ["example.com", "example.com.evil.test", false],
    ["*.example.com", "a.example.com", true],
    ["*.example.com", "a.b.example.com", true],
    ["*.example.com", "A.Example.COM.", true],
    ["*.example.com", "example.com", false],
    ["*.example.com", ".example.com", false],
    ["*.example.com", "a..example.com", false],
    ["*.example.com", "evilexample.com", false],
    ["*.example.com", "a.example.com.evil.test", false],
    ["example.com", "example.com:443", false],
    ["example.com", "user@example.com", false],
    ["example.com", "example.com/path", false],
    ["example.com", "", false],
    ["xn--bcher-kva.example", "bücher.example", true],
    ["bücher.example", "xn--bcher-kva.example", true],
    ["127.0.0.1", "127.1", true],
    ["127.0.0.1", "2130706433", true],
    ["::1", "[::1]", true],
    ["::1", "0:0:0:0:0:0:0:1", true],
    ["localhost", "localhost", true],
  ])("pattern %j, host %j: %s", (pattern, host, expected) => {
    expect(matchesDomain(patterns(pattern), host)).toBe(expected);
  });

  test("matches nothing without patterns", () => {
    expect(matchesDomain([], "example.com")).toBe(false);
  });

  test("property: a wildcard matches only longer names that end in its domain", () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), label, (labels, other) => {
        const host = labels.join(".");
        const listed = patterns("*.example.com");
        expect(matchesDomain(listed, `${host}.example.com`)).toBe(true);
        expect(matchesDomain(listed, `${host}.example.com.${other}`)).toBe(
          `${host}.example.com.${other}`.endsWith(".example.com"),
        );
        expect(matchesDomain(listed, `${host}example.com`)).toBe(false);
      }),
    );
  });

  test("property: never throws, whatever the host", () => {
    fc.assert(fc.property(fc.string(), (host) => typeof matchesDomain(patterns("*.example.com"), host) === "boolean"));
  });
});

describe("findDomain()", () => {
  test("prefers the exact pattern, because only exact names may be private", () => {
    const listed = patterns("*.example.com", "a.example.com");

    expect(findDomain(listed, "a.example.com")?.wildcard).toBe(false);
    expect(findDomain(listed, "b.example.com")?.wildcard).toBe(true);
  });
});

describe("parseDomainPattern()", () => {
  test.each([
    "",
    "*",
    "*.",
    "*.*.com",
    "a.*.com",
    "*a.com",
    "https://a.com",
    "a.com:1",
    "a.com/x",
    "a b.com",
    "-a.com",
    "a..com",
    "*.1.2.3.4",
    "a_b@c",
  ])("refuses %j", (text) => {
    expect(() => parseDomainPattern(text)).toThrow(TypeError);
  });
});

describe("canonicalHost()", () => {
  test.each(["@xexample.comy:/", "@s:/", "::1]/[", "example.com:443", "[::1", "1:2@[::1]"])("%s is no host", (host) => {
    expect(canonicalHost(host)).toBeUndefined();
  });

  test("is stable: the canonical form of a canonical form is itself", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.string()), (host) => {
        const once = canonicalHost(host);
        if (once !== undefined) expect(canonicalHost(once)).toBe(once);
      }),
    );
  });
});
