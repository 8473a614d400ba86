/** Cookies, queries, forms, bodies and header names. */
import { describe, expect, test } from "vitest";

import { hasNoContentCoding, readBody, readForm } from "../../../runtime/http/body.ts";
import { parseCookies, readCookie, serializeCookie, withoutCookies } from "../../../runtime/http/cookies.ts";
import { parseFields } from "../../../runtime/shared/http/field-lines.ts";
import { connectionTokens, headerTraits } from "../../../runtime/shared/http/header-traits.ts";
import { parseQuery } from "../../../runtime/shared/http/query.ts";
import { createFakeExchange, type FakeExchange } from "../../support/fake-exchange.ts";

function withBody(chunks: readonly (string | Buffer)[], headers: readonly string[]): FakeExchange {
  const exchange = createFakeExchange({ headers, hasBody: true });
  for (const chunk of chunks) exchange.body.write(chunk);
  exchange.body.end();
  return exchange;
}

describe("parseQuery()", () => {
  test("decodes names and values", () => {
    const result = parseQuery("?a=b+c&d=%C3%A4&e&f=");
    expect(result.ok && Object.fromEntries(result.values)).toEqual({ a: "b c", d: "ä", e: "", f: "" });
  });

  test.each([
    ["a=1&a=2", "duplicate-parameter"],
    ["a=1&%61=2", "duplicate-parameter"],
    ["a=%", "malformed-parameter"],
    ["a=%ff", "malformed-parameter"],
  ])("refuses %s: %s", (query, reason) => {
    expect(parseQuery(query)).toEqual({ ok: false, reason });
  });
});

describe("cookies", () => {
  const exchange = createFakeExchange({ headers: ["cookie", 'a=1; b="2"; c=3; c=4; =x; y; __Host-d=5'] });

  test("parseCookies() ignores a cookie that occurs twice", () => {
    expect(Object.fromEntries(parseCookies(exchange))).toEqual({ a: "1", b: "2", "": "x", "__Host-d": "5" });
  });

  test("readCookie() finds one by its exact name", () => {
    expect(readCookie(exchange, "__Host-d")).toBe("5");
    expect(readCookie(exchange, "d")).toBeUndefined();
    expect(readCookie(exchange, "c")).toBeUndefined();
    expect(readCookie(exchange, "b")).toBe("2");
  });

  test("serializeCookie() is strict by default", () => {
    expect(serializeCookie("__Host-s", "v")).toBe("__Host-s=v; Path=/; HttpOnly; Secure; SameSite=Lax");
    expect(
      serializeCookie("s", "", { maxAgeSeconds: -1, secure: false, sameSite: "none", path: "/a", httpOnly: false }),
    ).toBe("s=; Path=/a; Max-Age=0; SameSite=None");
  });

  test.each([
    ["a b", "v"],
    ["a", "v;w"],
    ["a", "v\r\nset-cookie: x=y"],
    ["", "v"],
    ["a", "ä"],
  ])("serializeCookie() refuses %j=%j", (name, value) => {
    expect(() => serializeCookie(name, value)).toThrow("Cannot set cookie");
  });

  test("withoutCookies() keeps the others as they are", () => {
    const isOurs = (name: string): boolean => name === "s";
    expect(withoutCookies("a=1;b=2", isOurs)).toBe("a=1;b=2");
    expect(withoutCookies('s=1; a="s=2"; S=3;s=4', isOurs)).toBe('a="s=2"; S=3');
    expect(withoutCookies("s=1", isOurs)).toBeUndefined();
  });
});

describe("readBody()", () => {
  const body = (
    chunks: readonly string[],
    headers: readonly string[] = ["transfer-encoding", "chunked"],
  ): FakeExchange => withBody(chunks, headers);

  test("gives the whole body up to the limit", async () => {
    expect(await readBody(body(["ab", "cd"]), 4)).toEqual({ ok: true, bytes: Buffer.from("abcd") });
    expect(await readBody(body([]), 4)).toEqual({ ok: true, bytes: Buffer.alloc(0) });
    expect(await readBody(createFakeExchange(), 0)).toEqual({ ok: true, bytes: Buffer.alloc(0) });
  });

  test("refuses one byte more, counted or declared", async () => {
    expect(await readBody(body(["ab", "cde"]), 4)).toEqual({ ok: false, reason: "too-large" });
    expect(await readBody(body([], ["content-length", "5"]), 4)).toEqual({ ok: false, reason: "too-large" });
  });

  test("says when the body broke off", async () => {
    const exchange = createFakeExchange({ headers: ["content-length", "9"], hasBody: true });
    const reading = readBody(exchange, 10);
    exchange.body.write("abc");
    exchange.body.destroy();
    expect(await reading).toEqual({ ok: false, reason: "aborted" });
  });
});

describe("readForm()", () => {
  const form = (text: string | Buffer, type = "application/x-www-form-urlencoded", more: readonly string[] = []) => {
    const bytes = Buffer.from(text);
    return withBody([bytes], ["content-type", type, "content-length", String(bytes.length), ...more]);
  };

  test("reads parameters", async () => {
    const result = await readForm(form("a=1&b=%20", "Application/X-WWW-Form-Urlencoded; charset=UTF-8"), 100);
    expect(result.ok && Object.fromEntries(result.values)).toEqual({ a: "1", b: " " });
  });

  test.each([
    ["another type", form("a=1", "text/plain"), "media-type"],
    ["another charset", form("a=1", "application/x-www-form-urlencoded; charset=utf-16"), "media-type"],
    ["a compressed body", form("a=1", undefined, ["content-encoding", "gzip"]), "unsupported-encoding"],
    ["a name twice", form("a=1&a=1"), "duplicate-parameter"],
    ["bytes that are no UTF-8", form(Buffer.from([0x61, 0x3d, 0xff])), "malformed-parameter"],
    ["too much", form(`a=${"x".repeat(200)}`), "too-large"],
  ])("refuses %s", async (_name, exchange, reason) => {
    expect(await readForm(exchange, 100)).toEqual({ ok: false, reason });
  });

  test("hasNoContentCoding() takes identity for none", () => {
    expect(hasNoContentCoding(form("", undefined, ["content-encoding", "Identity"]))).toBe(true);
    expect(hasNoContentCoding(form("", undefined, ["content-encoding", "identity", "content-encoding", "gzip"]))).toBe(
      false,
    );
  });
});

describe("headerTraits()", () => {
  test.each([
    "Connection",
    "keep-alive",
    "TE",
    "Proxy-Authorization",
    "X_Forwarded_For",
    "x-gateway-anything",
    "Host",
    "Content_Type",
    "X-Original-URL",
  ])("%s is never taken from a client", (name) => {
    expect(headerTraits(name).dropFromRequest).toBe(true);
  });

  test.each(["Accept", "X_Custom_Name", "Cookie", "Authorization", "Content-Type", "X-Forwardedfor", "X-Gatewayish"])(
    "%s may pass",
    (name) => {
      expect(headerTraits(name).dropFromRequest).toBe(false);
    },
  );

  test("gives every single-value header a bit of its own", () => {
    const bits = ["Host", "content-length", "AUTHORIZATION", "cookie", "Mcp-Session-Id"].map(
      (name) => headerTraits(name).singleBit,
    );
    expect(new Set(bits).size).toBe(5);
    expect(bits).not.toContain(0);
    expect(headerTraits("accept").singleBit).toBe(0);
  });
});

test("parseFields() distinguishes names with the same hash", () => {
  // 31 × "A" + "a" = 31 × "B" + "B", in each of the pairs.
  const names = ["AaAa", "BBBB", "AaBB", "aaaa", "AaAa", "AaAaX", "BBAa"];
  const text = names.map((name) => `${name}: 1\r\n`).join("");
  const taken: string[] = [];
  for (let time = 0; time < 2; time += 1)
    expect(parseFields(text, 0, text.length, { takeField: ({ name }) => void taken.push(name) })).toBeUndefined();
  expect(taken).toEqual([...names, ...names]);
});

test("connectionTokens() lists names in lower case", () => {
  expect(connectionTokens(" Close, X-A ,,x-b")).toEqual(["close", "x-a", "x-b"]);
});
