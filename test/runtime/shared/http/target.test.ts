import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  canonicalAuthority,
  canonicalPath,
  canonicalTarget,
  otherReadings,
} from "../../../../runtime/shared/http/target.ts";

describe("canonicalPath()", () => {
  test.each([
    ["/", "/"],
    ["/a/b/", "/a/b/"],
    ["/%41%7e%2d", "/A~-"],
    ["/%c3%a4", "/%C3%A4"],
    ["/a%20b", "/a%20b"],
    ["/a%25b", "/a%25b"],
    ["/a%252f", "/a%252f"],
    ['/a{b}|"<>^`[c]', "/a%7Bb%7D%7C%22%3C%3E%5E%60%5Bc%5D"],
    ["/.well-known/x", "/.well-known/x"],
    ["/a.b/..c/...", "/a.b/..c/..."],
    ["/a;b=c/d", "/a;b=c/d"],
    ["/a%3bb", "/a%3Bb"],
    ["/!$&'()*+,=:@", "/!$&'()*+,=:@"],
  ])("%s is %s", (raw, path) => {
    expect(canonicalPath(raw)).toEqual({ ok: true, path });
  });

  test.each([
    ["", "target-form"],
    ["a", "target-form"],
    ["//", "path-empty-segment"],
    ["/a//", "path-empty-segment"],
    ["/.", "path-dot-segment"],
    ["/..", "path-dot-segment"],
    ["/%2E", "path-dot-segment"],
    ["/a/.;x/b", "path-dot-segment"],
    ["/..%3bx", "path-dot-segment"],
    ["/%252e/admin", "path-dot-segment"],
    ["/a/%252E%25252e/admin", "path-dot-segment"],
    ["/a/.%252e", "path-dot-segment"],
    ["/a/..%253bx/b", "path-dot-segment"],
    ["/;", "path-parameter"],
    ["/%3Ba", "path-parameter"],
    ["/a%2F", "path-encoded-separator"],
    ["/%5c", "path-encoded-separator"],
    ["/%00", "path-encoded-control"],
    ["/%1f", "path-encoded-control"],
    ["/%7F", "path-encoded-control"],
    ["/%c0%af", "path-encoding"],
    ["/%f5", "path-encoding"],
    ["/%", "path-encoding"],
    ["/%4", "path-encoding"],
    ["/%g0", "path-encoding"],
    ["/a b", "target-character"],
    ["/a\\b", "target-character"],
    ["/a#b", "target-character"],
    ["/a\u00e4", "target-character"],
    ["/a\u2028", "target-character"],
  ])("%s is refused: %s", (raw, reason) => {
    expect(canonicalPath(raw)).toEqual({ ok: false, reason });
  });

  test("returns a form that is its own canonical form and that URL parsers leave unchanged", () => {
    const text = fc.string({ unit: fc.constantFrom(..."/.;%2fFeE5cC03bB41aA~-_ {|\\#?&".split("")), maxLength: 24 });
    fc.assert(
      fc.property(text, (tail) => {
        const first = canonicalPath(`/${tail}`);
        if (!first.ok) return;
        expect(canonicalPath(first.path)).toEqual(first);
        expect(new URL(`http://h${first.path}`).pathname).toBe(first.path);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("canonicalAuthority()", () => {
  test.each([
    ["Example.COM", "80", "example.com"],
    ["example.com:80", "80", "example.com"],
    ["example.com:443", "443", "example.com"],
    ["example.com:080", "443", "example.com:80"],
    ["[::1]:8080", "80", "[::1]:8080"],
    ["127.0.0.1:3000", "80", "127.0.0.1:3000"],
    ["a_b.example", "80", "a_b.example"],
    ["example.com.", "80", "example.com."],
  ])("%s with default %s is %s", (text, port, host) => {
    expect(canonicalAuthority(text, port)).toBe(host);
  });

  test.each([
    "",
    ":80",
    "a b",
    "a@b",
    "a/b",
    "a?b",
    "a,b",
    "a..b",
    ".a",
    "-a",
    "a:",
    "a:65536",
    "a:0",
    "a:x",
    "[::1",
    "::1",
    "a%20",
    "ä",
    "a".repeat(256),
  ])("%j is not a host", (text) => {
    expect(canonicalAuthority(text, "80")).toBeUndefined();
  });
});

describe("canonicalTarget()", () => {
  test("keeps the query byte for byte", () => {
    expect(canonicalTarget("/a?x=%2f&y={z}//..", "h.example", "80")).toEqual({
      ok: true,
      path: "/a",
      query: "?x=%2f&y={z}//..",
      host: "h.example",
    });
  });

  test.each([
    ["http://h.example", "/", ""],
    ["http://h.example?a", "/", "?a"],
    ["HTTPS://H.example:80/b", "/b", ""],
  ])("parses the absolute form %s", (target, path, query) => {
    expect(canonicalTarget(target, "h.example", "80")).toMatchObject({ ok: true, path, query });
  });

  test.each([
    ["/", undefined, "host-missing"],
    ["/", "", "host-invalid"],
    ["*", "h", "target-form"],
    ["http://other/", "h", "target-host-mismatch"],
    ["http:///", "h", "target-host-mismatch"],
    ["/?a b", "h", "target-character"],
    ["/?\u007f", "h", "target-character"],
  ])("refuses %j with host %j: %s", (target, host, reason) => {
    expect(canonicalTarget(target, host, "80")).toEqual({ ok: false, reason });
  });

  test("validates a host separately for each default port", () => {
    expect(canonicalTarget("/", "h.example:443", "80")).toMatchObject({ host: "h.example:443" });
    expect(canonicalTarget("/", "h.example:443", "443")).toMatchObject({ host: "h.example" });
    expect(canonicalTarget("/", "h.example:443", "80")).toMatchObject({ host: "h.example:443" });
  });

  test("recognizes the default port, however many zeros precede it", () => {
    expect(canonicalTarget("/", "h.example:0443", "443")).toMatchObject({ host: "h.example" });
    expect(canonicalTarget("/", "h.example:00443", "80")).toMatchObject({ host: "h.example:443" });
  });
});

test.each<[string, readonly string[] | undefined]>([
  ["/a/b", undefined],
  ["/a%3Bx", ["/a"]],
  ["/a;x=1/b;y/c", ["/a/b/c"]],
  ["/a;x=1/b%3By/c", ["/a/b%3By/c", "/a/b/c"]],
  ["/a%3Bb;x", ["/a%3Bb", "/a"]],
])("otherReadings() reads %s as servers do that cut parameters off", (path, expected) => {
  expect(otherReadings(path)).toEqual(expected);
});
