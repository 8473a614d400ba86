/** Requests with an ambiguous host or path: rejected, and they never reach the victim. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let heardBefore = 0;

beforeAll(async () => {
  victim = await startVictim();
  pipeline = await startPipeline(`
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://app.example
        prefix: /admin
        to: ${victim.origin}
        policy: [{ allow: { and: [{ email: { is: root@example.com } }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});
beforeEach(() => {
  heardBefore = victim.received.length;
});

const get = (target: string, host = "app.example"): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

describe("request targets", () => {
  test.each([
    ["encoded slash", "/a%2Fadmin", 400],
    ["encoded slash, lower case", "/a%2fadmin", 400],
    ["encoded backslash", "/a%5Cadmin", 400],
    ["backslash", "/a\\admin", 400],
    ["encoded NUL", "/a%00", 400],
    ["encoded line feed", "/a%0Ab", 400],
    ["encoded DEL", "/a%7F", 400],
    ["dot segment", "/./admin", 400],
    ["parent segment", "/a/../admin", 400],
    ["parent segment at the end", "/a/..", 400],
    ["encoded parent segment", "/a/%2e%2e/admin", 400],
    ["half-encoded parent segment", "/a/.%2E/admin", 400],
    ["parent segment with parameter", "/a/..;/admin", 400],
    ["parent segment with encoded parameter", "/a/..%3B/admin", 400],
    ["empty segment", "//admin", 400],
    ["empty segment in the middle", "/a//admin", 400],
    ["segment that is only a parameter", "/;x/admin", 400],
    ["parameter that changes the route", "/admin;x=1", 400],
    ["own address with a parameter", "/.gateway;x/user", 400],
    ["own address with an encoded parameter", "/.gateway%3Bx/user", 400],
    ["own well-known name with a parameter", "/.well-known/oauth-protected-resource;x", 400],
    ["own well-known name behind a parameter", "/.well-known;x/oauth-authorization-server", 400],
    ["encoded parameter that changes the route", "/admin%3Bx/y", 400],
    ["overlong encoding of slash", "/a%C0%AFadmin", 400],
    ["overlong encoding of slash in three bytes", "/a%E0%80%AFadmin", 400],
    ["overlong encoding of slash in four bytes", "/a%F0%80%80%AFadmin", 400],
    ["overlong encoding of dots in three bytes", "/a/%E0%80%AE%e0%80%ae/admin", 400],
    ["overlong encoding of U+00E4 in three bytes", "/%E0%83%A4", 400],
    ["overlong encoding of U+FFFF in four bytes", "/%F0%8F%BF%BF", 400],
    ["surrogate", "/%ED%A0%80", 400],
    ["pair of surrogates (CESU-8)", "/%ED%A0%BD%ED%B8%80", 400],
    ["code point above U+10FFFF", "/%F4%90%80%80", 400],
    ["lead byte that UTF-8 does not have", "/%F8%88%80%80%80", 400],
    ["continuation byte alone", "/a%80b", 400],
    ["lead byte alone", "/caf%E9", 400],
    ["lead byte before a slash", "/caf%C3/b", 400],
    ["sequence cut short at the end", "/%F0%9F%98", 400],
    ["broken percent-encoding", "/a%2", 400],
    ["percent-encoding with no hex", "/a%zz", 400],
    ["fragment", "/a#/admin", 400],
    ["fragment in the query", "/a?b#c", 400],
    ["raw UTF-8", "/\xc3\xa4", 400],
    ["asterisk form", "*", 400],
    ["authority form", "app.example:443", 400],
    ["absolute form with another host", "http://other.example/a", 400],
    ["absolute form with user info", "http://x@app.example/a", 400],
    ["absolute form with another scheme", "ftp://app.example/a", 400],
    ["target without slash", "a", 400],
    ["very long target", `/${"a".repeat(9000)}`, 414],
  ])("%s is refused", async (_name, target, status) => {
    const answer = await sendRaw(pipeline.port, get(target));
    expect(answer.status).toBe(status);
    expect(victim.received.length).toBe(heardBefore);
  });

  test("a parameter that does not change the route passes as it is", async () => {
    const answer = await sendRaw(pipeline.port, get("/a;v=1/b;w=2"));
    expect(answer.status).toBe(200);
    expect(victim.requests.at(-1)?.target).toBe("/a;v=1/b;w=2");
  });

  test.each(["/a?/admin", "/a?/../admin", "/a?x=/admin&y=//", "/?prefix=/admin", "/a??/admin"])(
    "a query never chooses the route: %s",
    async (target) => {
      expect((await sendRaw(pipeline.port, get(target))).status).toBe(200);
      expect((await sendRaw(pipeline.port, get(target.replace(/^\/a?/, "/admin")))).status).not.toBe(200);
    },
  );

  test("absolute form with the same host is its path", async () => {
    const answer = await sendRaw(pipeline.port, get("http://APP.example/a?b=c"));
    expect(answer.status).toBe(200);
    expect(victim.requests.at(-1)?.target).toBe("/a?b=c");
  });
});

describe("hosts", () => {
  test.each([
    ["no Host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 400],
    ["two Hosts", "GET / HTTP/1.1\r\nHost: app.example\r\nHost: other.example\r\n\r\n", 400],
    ["the same Host twice", "GET / HTTP/1.1\r\nHost: app.example\r\nHost: app.example\r\n\r\n", 400],
    ["empty Host", get("/", ""), 400],
    ["Host with user info", get("/", "x@app.example"), 400],
    ["Host with path", get("/", "app.example/a"), 400],
    ["Host with list", get("/", "app.example, other.example"), 400],
    ["Host with bad port", get("/", "app.example:port"), 400],
    ["Host with port 0", get("/", "app.example:0"), 400],
    ["Host with percent", get("/", "app%2eexample"), 400],
    ["unknown Host", get("/", "other.example"), 404],
    ["address instead of the name", get("/", "127.0.0.1"), 404],
    ["Host with trailing dot", get("/", "app.example."), 404],
    ["Host with foreign port", get("/", "app.example:8443"), 404],
    ["TRACE", "TRACE / HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
    ["CONNECT", "CONNECT app.example:443 HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
  ])("%s is refused", async (_name, bytes, status) => {
    const answer = await sendRaw(pipeline.port, bytes);
    expect(answer.status).toBe(status);
    expect(victim.received.length).toBe(heardBefore);
  });

  test("case and default port are no other host", async () => {
    expect((await sendRaw(pipeline.port, get("/", "APP.Example:80"))).status).toBe(200);
  });
});

describe("refusals", () => {
  test("have the request id in header and body, and reveal nothing of the configuration", async () => {
    const answer = await sendRaw(pipeline.port, get("/a%2fb"));
    const id = answer.headers.get("x-request-id")?.[0];
    expect(JSON.parse(answer.body)).toEqual({
      error: "request.path-encoded-separator",
      message: "The gateway cannot understand this request",
      request_id: id,
    });
  });

  test("are pages for browsers, with nothing of the request in them", async () => {
    const answer = await sendRaw(
      pipeline.port,
      "GET /<script>%2f HTTP/1.1\r\nHost: app.example\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
    );
    expect(answer.headers.get("content-type")).toEqual(["text/html; charset=utf-8"]);
    expect(answer.body).not.toContain("script");
  });
});
