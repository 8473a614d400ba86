import { describe, expect, test } from "vitest";

import { parseFrom } from "../../../../runtime/features/routing/from.ts";
import { coversHosts, parseDomainPattern } from "../../../../runtime/settings/domains.ts";

describe("parseFrom()", () => {
  test.each([
    ["https://app.example.com", "app.example.com", "https", 443, false],
    ["HTTPS://App.Example.com:443/", "app.example.com", "https", 443, false],
    ["http://localhost:8080", "localhost:8080", "http", 8080, false],
    ["https://*.example.com", "*.example.com", "https", 443, true],
    ["https://*.Example.com:8443", "*.example.com:8443", "https", 8443, true],
    ["http://*.localhost:3000", "*.localhost:3000", "http", 3000, true],
    ["https://*.bücher.example", "*.xn--bcher-kva.example", "https", 443, true],
  ])("%s", (text, host, scheme, port, isWildcard) => {
    const read = parseFrom(text);
    expect(read.ok && read.value).toMatchObject({ origin: `${scheme}://${host}`, host, scheme, port, isWildcard });
  });

  test.each([
    "https://*",
    "https://*.",
    "https://*example.com",
    "https://a.*.example.com",
    "https://*.*.example.com",
    "https://a*.example.com",
    "https://*.127.0.0.1",
    "https://*.[::1]",
    "https://*.example.com/path",
    "https://*.example.com?x",
    "https://*.user@example.com",
    "https://user:pass@*.example.com",
    "https://*.exam ple.com",
    "ftp://*.example.com",
  ])("refuses %s", (text) => {
    expect(parseFrom(text).ok).toBe(false);
  });
});

describe("coversHosts()", () => {
  const patterns = ["app.example.com", "*.team.example.com"].map((text) => parseDomainPattern(text));
  test.each([
    ["app.example.com", true],
    ["a.team.example.com", true],
    ["*.team.example.com", true],
    ["*.a.team.example.com", true],
    ["*.example.com", false],
    ["*.app.example.com", false],
    ["*.eam.example.com", false],
    ["*.com", false],
  ])("an owner of app.example.com and *.team.example.com may serve %s: %s", (hosts, covered) => {
    expect(coversHosts(patterns, hosts)).toBe(covered);
  });
});
