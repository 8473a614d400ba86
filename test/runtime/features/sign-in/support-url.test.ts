import { describe, expect, test } from "vitest";
import { parseSupportUrl } from "../../../../runtime/features/sign-in/settings.ts";

describe("parseSupportUrl()", () => {
  test.each([
    "https://help.example.com",
    "https://help.example.com:8443/gateway?from=page&kind=1",
    "HTTPS://help.example.com/",
    "mailto:help@example.com",
    "mailto:it+gateway@help.example.com?subject=Gateway%20page&body=Request%20ID:",
  ])("takes %s", (text) => {
    expect(parseSupportUrl(text).ok).toBe(true);
  });

  test.each([
    "",
    "help.example.com",
    "/help",
    "//help.example.com",
    "http://help.example.com",
    "https://",
    "https:help.example.com",
    "https://user:password@help.example.com",
    "https://help.example.com/\\evil",
    "https://help.example.com/ page",
    "https://help.example.com/\npage",
    "javascript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "tel:+4912345",
    "mailto:",
    "mailto:help",
    "mailto:@example.com",
    "mailto:help@",
    "mailto:help@example..com",
    "mailto:help@example.com,other@example.com",
    "mailto:help@example.com#x",
    "mailto:help@example.com?subject=a b",
    'mailto:"help"@example.com',
    "mailto:help@example.com\r\nBcc:x@example.com",
  ])("refuses %j", (text) => {
    expect(parseSupportUrl(text).ok).toBe(false);
  });
});
