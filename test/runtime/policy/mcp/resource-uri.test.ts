import { describe, expect, test } from "vitest";

import { normalResourceUri, normalResourceMatch } from "../../../../runtime/policy/mcp/resource-uri.ts";

describe("normalResourceUri()", () => {
  test.each([
    ["file:///srv/docs/a.txt", "file:///srv/docs/a.txt"],
    ["FILE:///srv/docs/", "file:///srv/docs/"],
    ["https://Docs.Example.com/A", "https://docs.example.com/A"],
    ["file:///srv/%64ocs/%7Ea", "file:///srv/docs/~a"],
    ["file:///srv/a%e4b", "file:///srv/a%E4b"],
    ["ui://widgets/card?theme=dark#top", "ui://widgets/card?theme=dark#top"],
    ["note:größe", "note:größe"],
    ["note:gr%c3%b6%C3%9fe", "note:größe"],
    ["file:///srv/a%2Cb%40c%5Bd%5D", "file:///srv/a,b@c[d]"],
    ["file:///srv/%3F%23%25%20", "file:///srv/%3F%23%25%20"],
    ["https://a.example/x?a=%2Fb%26c", "https://a.example/x?a=/b%26c"],
    ["https://a.example", "https://a.example/"],
    ["https://a.example?q", "https://a.example/?q"],
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
    // The SDK for TypeScript reads these as file:///etc/passwd.
    "file:/etc/passwd",
    "file:etc/passwd",
    "file://localhost/etc/passwd",
    "https://a.example:443/x",
    "https://a.example:/x",
    "https:/a.example/x",
    "https:a.example/x",
    "http://127.1/x",
    "https://\uff41.example/x",
    "file:///C|/x",
    // With the scheme taken off, or decoded twice, a path that goes up.
    "file:///srv/x?/../../etc/passwd",
    "file:///srv/x#/%2e%2e/etc",
    "file:///srv/x?%2F..%2F..%2Fetc",
    "file:///srv/%252e%252e/etc",
    "file:///srv/%25252fetc",
  ])("%j has no spelling", (uri) => {
    expect(normalResourceUri(uri)).toBeUndefined();
  });
});

test("normalResourceMatch() converts rules to the form they are compared with", () => {
  expect(
    normalResourceMatch({ is: "HTTPS://A.example", starts_with: "note:gr%c3%b6", in: ["x:%2c", "no uri"] }),
  ).toEqual({
    is: "https://a.example/",
    starts_with: "note:grö",
    in: ["x:,", "no uri"],
  });
});
