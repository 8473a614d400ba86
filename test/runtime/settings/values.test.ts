import { describe, expect, test } from "vitest";

import {
  decodeBase64,
  parseDuration,
  parseHostHeader,
  parseListener,
  parseOrigin,
  parseRoutePath,
  parseUpstream,
} from "../../../runtime/settings/values.ts";

describe("parseDuration()", () => {
  test.each([
    ["0s", 0],
    ["500ms", 500],
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    ["90d", 7_776_000_000],
  ])("reads %s as %i ms", (text, value) => {
    expect(parseDuration(text)).toEqual({ ok: true, value });
  });

  test.each(["", "30", "s", "-1s", "1.5s", " 1s", "1s ", "1 s", "1S", "1w", "99999999d"])("refuses %j", (text) => {
    expect(parseDuration(text).ok).toBe(false);
  });
});

describe("parseOrigin()", () => {
  test.each([
    ["https://App.Example.com", "https://app.example.com"],
    ["https://app.example.com:443/", "https://app.example.com"],
    ["http://localhost:8080", "http://localhost:8080"],
    ["https://[::1]:8443", "https://[::1]:8443"],
  ])("reads %s as %s", (text, origin) => {
    const parsed = parseOrigin(text);

    expect(parsed.ok && parsed.value.origin).toBe(origin);
  });

  test.each([
    "",
    "app.example.com",
    "//app.example.com",
    "https:app.example.com",
    "https:///app.example.com",
    "https://",
    "https://app.example.com/a",
    "https://app.example.com?",
    "https://app.example.com#",
    "https://user@app.example.com",
    "https://app.example.com\\@evil.test",
    "https://app.example.com\n",
    "https://*.example.com",
    "ftp://app.example.com",
    "javascript:alert(1)",
    "https://a..example.com",
    "https://app.example.com:99999",
  ])("refuses %j", (text) => {
    expect(parseOrigin(text).ok).toBe(false);
  });
});

describe("parseUpstream()", () => {
  test("reads a weight after a comma", () => {
    const parsed = parseUpstream("http://a.internal:8080/base,3");

    expect(parsed).toMatchObject({ ok: true, value: { weight: 3 } });
    expect(parsed.ok && parsed.value.url.href).toBe("http://a.internal:8080/base");
  });

  test.each([
    "http://a.internal,0",
    "http://a.internal?x",
    "http://a.internal#x",
    "http://u:p@a.internal",
    "a.internal",
  ])("refuses %j", (text) => {
    expect(parseUpstream(text).ok).toBe(false);
  });
});

describe("parseRoutePath()", () => {
  test.each(["/", "/a", "/a/", "/a/b-c_d.e~f", "/caf%C3%A9", "/a%2Fb"])("accepts %j", (text) => {
    expect(parseRoutePath(text).ok).toBe(true);
  });

  test.each([
    "",
    "a",
    "//",
    "/a//b",
    "/.",
    "/a/..",
    "/a b",
    "/a\\b",
    "/a?b",
    "/a#b",
    "/%",
    "/%2f",
    "/%41",
    "/%2E%2E",
    "/é",
    "/a\u0000",
  ])("refuses %j", (text) => {
    expect(parseRoutePath(text).ok).toBe(false);
  });
});

describe("parseListener()", () => {
  test.each([
    [":443", { host: "", port: 443 }],
    ["localhost:0", { host: "localhost", port: 0 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
    ["0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
  ])("reads %s", (text, value) => {
    expect(parseListener(text)).toEqual({ ok: true, value });
  });

  test.each(["", "443", "localhost", "localhost:", "::1:80", "a b:80", ":65536", "http://a:80"])(
    "rejects %j",
    (text) => {
      expect(parseListener(text).ok).toBe(false);
    },
  );
});

describe("parseHostHeader()", () => {
  test.each([
    ["Other.Internal", "other.internal"],
    ["other.internal:8080", "other.internal:8080"],
    ["[::1]:8080", "[::1]:8080"],
  ])("reads %s as %s", (text, value) => {
    expect(parseHostHeader(text)).toBe(value);
  });

  test.each(["", "a b", "a:b", "a:99999", "http://a", "a/b", "a,b", "a@b", "::1"])("refuses %j", (text) => {
    expect(parseHostHeader(text)).toBeUndefined();
  });
});

describe("decodeBase64()", () => {
  test("reads both alphabets, padded or not", () => {
    const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x01]);

    for (const text of [bytes.toString("base64"), bytes.toString("base64url"), `${bytes.toString("base64url")}==`]) {
      expect(decodeBase64(text)).toEqual(bytes);
    }
  });

  test.each(["", "a", "a b", "+_", "é"])("refuses %j", (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});
