/** Texts of others on terminals and in messages: nothing that steers, and nothing that we sent, in the spellings of echo servers. */
import { describe, expect, test } from "vitest";

import { foreignLines, foreignText, terminalText, withoutSent } from "../../../../runtime/shared/json/foreign-text.ts";

const TOKEN = "s3cret-Admin_token.of/the+gateway";

test("nothing steers a terminal: C0, C1, bidirectional marks; lines stay lines", () => {
  const hostile = "a\u001b[2Jb\u009b31mc\u202ed\r\ne\u0000";
  expect(terminalText(hostile)).toBe("a\\u001b[2Jb\\u009b31mc\\u202ed\ne\\u0000");
  expect(JSON.parse(terminalText(JSON.stringify({ hostile }, null, 2)))).toEqual({ hostile });
  expect(foreignText("x".repeat(500))).toBe(`${"x".repeat(200)}… (300 more characters)`);
  expect(foreignLines("a\n\u009bb", 10)).toBe("a\n\\u009bb");
});

describe("withoutSent()", () => {
  const bytes = [...Buffer.from(TOKEN)];
  const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
  test.each([
    ["as it is", TOKEN],
    ["a part of it", TOKEN.slice(5, 26)],
    ["in capitals", TOKEN.toUpperCase()],
    ["with blanks", Array.from(TOKEN).join(" ")],
    ["base64", Buffer.from(TOKEN).toString("base64")],
    ["base64url", Buffer.from(TOKEN).toString("base64url")],
    [
      "base64 of a whole request",
      Buffer.from(`GET / HTTP/1.1\r\nauthorization: Bearer ${TOKEN}\r\n`).toString("base64"),
    ],
    ["base64 in lines", Buffer.from(`x: ${TOKEN}`).toString("base64").replaceAll(/.{16}/g, "$&\n")],
    ["base64 behind other letters", `ab${Buffer.from(TOKEN).toString("base64")}`],
    ["hex", Buffer.from(TOKEN).toString("hex")],
    ["hex in pairs", bytes.map(hex).join(":")],
    ["escapes of JSON", bytes.map((byte) => `\\u00${hex(byte)}`).join("")],
    ["escapes of JSON, twice", JSON.stringify(bytes.map((byte) => `\\u00${hex(byte)}`).join(""))],
    ["escapes of JavaScript", bytes.map((byte) => `\\x${hex(byte)}`).join("")],
    ["escapes of an address", bytes.map((byte) => `%${hex(byte)}`).join("")],
    ["escapes of an address, twice", encodeURIComponent(encodeURIComponent(TOKEN))],
    ["entities", bytes.map((byte) => `&#${byte};`).join("")],
    ["entities in hex", bytes.map((byte) => `&#x${hex(byte)};`).join("")],
    ["backwards", Array.from(TOKEN).reverse().join("")],
  ])("omits what repeats a token: %s", (_, spelled) => {
    expect(withoutSent(`you sent ${spelled} to us`, [TOKEN])).toBe("(omitted: it repeats what was sent)");
  });

  test("leaves the gateway's own messages unchanged", () => {
    const said = 'The configuration would not be valid, nothing was changed:\n"routes.app.from" is "x", must be a URL';
    expect(withoutSent(said, [TOKEN])).toBe(said);
    expect(withoutSent(said, [""])).toBe(said);
  });

  test("is quick with long texts", () => {
    expect(withoutSent("A".repeat(10_000_000), ["B".repeat(8000)]).length).toBeLessThan(20_000);
  });
});
