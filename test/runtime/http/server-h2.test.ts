import { once } from "node:events";
import { connect, type ClientHttp2Session } from "node:http2";
import { createServer, type AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { readBody } from "../../../runtime/http/body.ts";
import type { Exchange } from "../../../runtime/http/exchange.ts";
import { Parties } from "../../../runtime/http/admission/parties.ts";
import { createHttp2Sessions } from "../../../runtime/http/listener/server-h2.ts";
import { silentLog } from "../../../runtime/shared/log.ts";

/** A server for one test, and a client of it. */
async function serve(handle: (exchange: Exchange) => void): Promise<ClientHttp2Session> {
  const sessions = createHttp2Sessions({
    log: silentLog(),
    secure: false,
    asksForCertificates: false,
    parties: new Parties(1_000_000),
    onNoRoom: () => {},
    maxHeaderBytes: 16_384,
    idleTimeoutMs: 60_000,
    handle,
  });
  const server = createServer((socket) => sessions.serve(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    sessions.destroy();
    sessions.close();
    server.close();
  });
  return client;
}

test("an error in a stream resets it: half of a response does not look complete", async () => {
  const client = await serve((exchange) => {
    exchange.start(200, []);
    exchange.write("half");
    throw new Error("a mistake");
  });
  const stream = client.request({ ":path": "/" });
  stream.on("error", () => {});
  stream.resume();
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(2);
});

test("Expect: 100-continue is answered only once the body is wanted", async () => {
  const client = await serve((exchange) => {
    if (exchange.path === "/refused") exchange.respond(401, ["content-length", "0"]);
    else
      readBody(exchange, 1_000).then(
        (body) => exchange.respond(200, [], body.ok ? body.bytes : body.reason),
        () => exchange.abort(),
      );
  });
  const ask = (path: string, expectation: string, sendsAtOnce = false) => {
    const stream = client.request({ ":method": "POST", ":path": path, expect: expectation });
    const seen: (string | number)[] = [];
    if (sendsAtOnce) stream.end("hello");
    stream.on("continue", () => {
      seen.push("continue");
      if (!sendsAtOnce) stream.end("hello");
    });
    stream.on("response", (head) => seen.push(Number(head[":status"])));
    stream.on("data", (chunk: Buffer) => seen.push(chunk.toString()));
    return new Promise((resolve) => stream.once("close", () => resolve(seen)));
  };
  expect(await ask("/refused", "100-continue")).toEqual([401]);
  expect(await ask("/", "100-Continue")).toEqual(["continue", 200, "hello"]);
  expect(await ask("/", "100-continue", true)).toEqual(["continue", 200, "hello"]);
  expect(await ask("/", "200-maybe")).toEqual([417, expect.stringContaining("request.expectation")]);
});
