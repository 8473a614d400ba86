import { describe, expect, test } from "vitest";

import { addedHeaders, withAddedHeaders } from "../../../../runtime/features/headers/apply-added.ts";

const headersOf = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, at) => [flat[at * 2], flat[at * 2 + 1]] as const));

describe("withAddedHeaders()", () => {
  test.each<[string, string[], string[], Record<string, string>]>([
    ["adds what the response lacks", ["a", "1"], ["X-Team", "ops"], { a: "1", "X-Team": "ops" }],
    ["replaces, whatever the spelling", ["server", "ours"], ["Server", "theirs"], { Server: "theirs" }],
    ["never says where to go", ["location", "/a"], ["Location", "/b"], { location: "/a" }],
    ["adds no place to go either", [], ["Location", "/b", "Set-Cookie", "a=b", "WWW-Authenticate", "Basic"], {}],
    [
      "says nothing of the body",
      ["content-type", "text/html"],
      ["Content-Type", "text/plain"],
      { "content-type": "text/html" },
    ],
    ["lets no other cache keep it", [], ["CDN-Cache-Control", "max-age=9", "Surrogate-Control", "max-age=9"], {}],
    ["sends nothing from its disk in its place", [], ["X-Accel-Redirect", "/etc", "X-Sendfile", "/etc"], {}],
    ["reports no addresses of ours", [], ["NEL", "{}", "Content-Security-Policy-Report-Only", "report-uri /"], {}],
    ["acts on nothing else of the host", [], ["Clear-Site-Data", '"cookies"', "Service-Worker-Allowed", "/"], {}],
    ["speaks no protocol", [], ["DPoP-Nonce", "a", "Mcp-Session-Id", "a", "Sec-Session-Registration", "a"], {}],
    ["adds no permission to read it", [], ["Access-Control-Allow-Origin", "*"], {}],
    [
      "keeps a policy of the answer",
      ["content-security-policy", "a"],
      ["Content-Security-Policy", "b"],
      { "content-security-policy": "a" },
    ],
    ["gives one to an answer without", [], ["Content-Security-Policy", "b"], { "Content-Security-Policy": "b" }],
    [
      "keeps instructions to caches",
      ["cache-control", "no-store"],
      ["Cache-Control", "public"],
      { "cache-control": "no-store" },
    ],
  ])("%s", (_name, own, settings, expected) => {
    const added = addedHeaders(settings, "https");
    expect(headersOf(added === undefined ? own : withAddedHeaders(own, added))).toEqual(expected);
  });

  test("Strict-Transport-Security is only for https", () => {
    const flat = ["Strict-Transport-Security", "max-age=1"];
    expect(addedHeaders(flat, "https")?.flat).toEqual(flat);
    expect(addedHeaders(flat, "http")).toBeUndefined();
  });
});
