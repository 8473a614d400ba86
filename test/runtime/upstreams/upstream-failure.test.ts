/** The names of failed connections, from errors as Node raises them. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";

import { expect, test } from "vitest";

import { failureOf, REQUEST_BODY_ERROR } from "../../../runtime/upstreams/failure.ts";

const cases: readonly (readonly [code: string, failure: string])[] = [
  ["EHOSTDOWN", "unreachable"],
  ["EADDRNOTAVAIL", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["ETIMEDOUT", "connect-timeout"],
  ["ECONNRESET", "reset"],
  ["ERR_HTTP2_STREAM_ERROR", "reset"],
  [REQUEST_BODY_ERROR, "request-body"],
  ["EPROTO", "protocol"],
  // No name of ours, but one of every object.
  ["constructor", "protocol"],
];

test.each(cases)("failureOf() calls %s %s", (code, failure) => {
  expect(failureOf(Object.assign(new Error("made"), { code }))).toBe(failure);
});

test("failureOf() calls an error without a code a protocol error", () => {
  expect(failureOf(new Error("made"))).toBe("protocol");
});

test("failureOf() calls a refused connection unreachable", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  const [error] = (await once(connect({ port, host: "127.0.0.1" }), "error")) as [Error];
  expect(failureOf(error)).toBe("unreachable");
});

test.each(["proxy/forwarding/upgrade.ts", "upstreams/http2/call.ts", "upstreams/http1/connection.ts"])(
  "%s reads errors with the one table there is",
  (file) => {
    const source = readFileSync(join(import.meta.dirname, "../../../runtime", file), "utf8");
    expect(source).toMatch(/from "(?:\.{1,2}\/)+(?:upstreams\/)?failure\.ts"/);
    expect(source).not.toMatch(/ECONNREFUSED/);
  },
);
