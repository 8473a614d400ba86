import { describe, expect, test } from "vitest";

import { normalResourceUri } from "../../../../runtime/policy/mcp/resource-uri.ts";

describe("normalResourceUri()", () => {
  test.each([
    ["file:///srv/docs/a.txt", "file:///srv/docs/a.txt"],
    ["FILE:///srv/docs/", "file:///srv/docs/"],
    ["https://Docs.Example.com/A", "https://docs.example.com/A"],
    ["file:///srv/%64ocs/%7Ea", "file:///srv/docs/~a"],
    ["file:///srv/a%e4b", "file:///srv/a%E4b"],
    ["ui://widgets/card?theme=dark#top", "ui://widgets/card?theme=dark#top"],
    ["note:größe", "note:größe"],
    ["urn:isbn:0451450523", "urn:isbn:0451450523"],
    ["db://host", "db://host"],
    ["https://a.example/x?next=../y", "https://a.example/x?next=../y"],
  ])("%s is %s", (uri, spelled) => {
    expect(normalResourceUri(uri)).toBe(spelled);
    expect(normalResourceUri(spelled)).toBe(spelled);
  });

  test.each([
    "",
    "no scheme",
    "/srv/docs",
    "file:///srv/../etc/passwd",
    "file:///srv/./docs",
    "file:///srv/%2e%2e/etc",
    "file:///srv/.%2E/etc",
    "file:///srv/..;x/etc",
    "file:///srv%2fdocs",
    "file:///srv%5Cdocs",
    "file:///srv\\docs",
    "file:///srv/a%00.txt",
    "file:///srv//docs",
    "file:////srv/docs",
    "file:///srv/100%",
    "file:///srv/%zz",
    "https://user@host.example/",
    "file:///srv/a b",
    "file:///srv/a\u0000b",
    "file:///srv/\ud800",
    "note:../x",
  ])("%j has no spelling", (uri) => {
    expect(normalResourceUri(uri)).toBeUndefined();
  });
});
