import { describe, expect, test } from "vitest";

import {
  isLoopbackRedirectUri,
  matchesRedirectUri,
  redirectSource,
  redirectTarget,
  redirectUriProblem,
  withAnswer,
} from "../../../../../runtime/oauth/server/clients/redirect-uri.ts";

const CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback";

describe("redirectUriProblem()", () => {
  test.each([
    "https://app.example.com/callback",
    "https://app.example.com/callback?tenant=1",
    "https://app.example.com:8443/cb",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:33418/",
    "http://[::1]:8080/cb",
    "http://localhost",
    "http://localhost:6274/oauth/callback",
    CURSOR,
  ])("accepts %s", (uri) => {
    expect(redirectUriProblem(uri, [CURSOR])).toBeUndefined();
  });

  test.each([
    ["http://app.example.com/cb", "not-https"],
    ["http://127.0.0.1.evil.example/cb", "not-https"],
    ["http://localhost.evil.example/cb", "not-https"],
    ["http://0x7f.1/cb", "not-https"],
    ["http://2130706433/cb", "not-https"],
    ["http://127.0.0.2/cb", "not-https"],
    ["HTTP://LOCALHOST/cb", "not-https"],
    ["http:/localhost/cb", "not-https"],
    ["http://localhost:99999/cb", "malformed"],
    ["http://user@127.0.0.1/cb", "credentials"],
    ["http://localhost@evil.example/cb", "credentials"],
    ["https://user:pass@app.example.com/cb", "credentials"],
    ["https://app.example.com/cb#fragment", "fragment"],
    ["https://app.example.com/cb#", "fragment"],
    ["https:/app.example.com/cb", "malformed"],
    ["https:app.example.com/cb", "malformed"],
    ["https://app.example.com/\\evil", "malformed"],
    ["https://app.example.com/c b", "malformed"],
    ["https://app.example.com/c\nb", "malformed"],
    ["https://*.example.com/cb\u0000", "malformed"],
    ["https://é.example.com/cb", "malformed"],
    ["/callback", "malformed"],
    ["", "malformed"],
    ["javascript:alert(1)", "scheme"],
    ["data:text/html,x", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["vbscript:x", "scheme"],
    ["myapp://callback", "scheme"],
    ["cursor://anysphere.cursor-mcp/oauth/callback/", "scheme"],
    [`https://app.example.com/${"a".repeat(2100)}`, "malformed"],
  ])("refuses %s as %s", (uri, problem) => {
    expect(redirectUriProblem(uri, [CURSOR])).toBe(problem);
  });

  test("refuses schemes that run in a browser even when they are listed", () => {
    expect(redirectUriProblem("javascript:alert(1)", ["javascript:alert(1)"])).toBe("scheme");
  });
});

describe("matchesRedirectUri()", () => {
  const registered = [
    "https://app.example.com/cb?x=1",
    "http://127.0.0.1/callback",
    "http://localhost:8787/callback",
    "http://[::1]:9/cb",
  ];

  test.each([
    "https://app.example.com/cb?x=1",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:51234/callback",
    "http://localhost/callback",
    "http://localhost:1/callback",
    "http://[::1]:65535/cb",
  ])("takes %s", (uri) => {
    expect(matchesRedirectUri(registered, uri)).toBe(true);
  });

  test.each([
    "https://app.example.com/cb",
    "https://app.example.com/cb?x=1&y=2",
    "https://app.example.com/cb/?x=1",
    "https://app.example.com:443/cb?x=1",
    "https://APP.example.com/cb?x=1",
    "https://app.example.com.evil.example/cb?x=1",
    "https://evil.example/cb?x=1",
    "http://app.example.com/cb?x=1",
    "http://127.0.0.1/callback/",
    "http://127.0.0.1/callbac",
    "http://127.0.0.1/Callback",
    "http://127.0.0.1/callback?x=1",
    "http://127.0.0.1/callback#",
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:65536/callback",
    "http://127.0.0.1:80a/callback",
    "http://127.0.0.1:/callback",
    "http://127.0.0.1:80@evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://127.1/callback",
    "http://127.0.0.1/x/../callback",
    "http://127.0.0.1\\@evil.example/callback",
    "https://127.0.0.1/callback",
    "http://localhost:8787/callback/..",
    "http://[::1]/callback",
    "http://[0:0:0:0:0:0:0:1]:9/cb",
  ])("refuses the near miss %s", (uri) => {
    expect(matchesRedirectUri(registered, uri)).toBe(false);
  });

  test("localhost is not 127.0.0.1", () => {
    expect(matchesRedirectUri(["http://127.0.0.1/cb"], "http://localhost/cb")).toBe(false);
  });

  test("a trailing slash is significant", () => {
    expect(matchesRedirectUri(["http://127.0.0.1/"], "http://127.0.0.1")).toBe(false);
    expect(matchesRedirectUri(["http://127.0.0.1/"], "http://127.0.0.1:33418/")).toBe(true);
  });
});

describe("redirect URIs for users and browsers", () => {
  test.each([
    ["https://app.example.com/cb", "app.example.com", "https://app.example.com", false],
    ["http://127.0.0.1:33418/cb", "127.0.0.1:33418", "http://127.0.0.1:33418", true],
    ["http://[::1]:8080/cb", "[::1]:8080", "http:", true],
    [CURSOR, "cursor:", "cursor:", false],
  ])("%s", (uri, target, source, loopback) => {
    expect(redirectTarget(uri)).toBe(target);
    expect(redirectSource(uri)).toBe(source);
    expect(isLoopbackRedirectUri(uri)).toBe(loopback);
  });

  test("withAnswer() keeps the query and encodes what it adds", () => {
    expect(withAnswer("https://a.example/cb?x=1", { code: "a&b", state: undefined, iss: "https://i.example" })).toBe(
      "https://a.example/cb?x=1&code=a%26b&iss=https%3A%2F%2Fi.example",
    );
    expect(withAnswer("http://localhost", { code: "c" })).toBe("http://localhost?code=c");
  });
});
