/** HTTP/2 in clear text: which connections it is, and that a request over it is like any other. */
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";

import { afterEach, describe, expect, test } from "vitest";

import type { Exchange } from "../../../../runtime/http/exchange.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../../../runtime/http/listener/server.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { openRaw, sendRaw } from "../../../support/raw-client.ts";
import { block, ERROR, FLAG, FRAME, frame, openHttp2, PREFACE } from "../../../support/raw-h2.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function serve(options: Partial<HttpServerOptions> = {}): Promise<HttpServer & { readonly seen: Exchange[] }> {
  const seen: Exchange[] = [];
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle(exchange) {
      seen.push(exchange);
      exchange.respond(200, ["content-length", String(exchange.remoteAddress.length)], exchange.remoteAddress);
    },
    ...options,
  });
  open.push({ close: () => server.close({ timeoutMs: 100 }) });
  return { ...server, seen };
}

const SETTINGS = frame(FRAME.settings, 0, 0);
const request = (stream: number, more: readonly (readonly [string, string])[] = []): Buffer =>
  frame(
    FRAME.headers,
    FLAG.endHeaders | FLAG.endStream,
    stream,
    block([[":method", "GET"], [":scheme", "http"], [":path", "/a?b"], [":authority", "A.example:80"], ...more]),
  );
const OK = { status: 200, ended: true };
const GET = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";

async function inPieces(socket: { write(bytes: Buffer): unknown }, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Over a client of node's. */
function ask(port: number, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  open.push({ close: () => session.destroy() });
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/", ":authority": "a.example", ...headers });
    let status = 0;
    let body = "";
    stream.on("response", (head: IncomingHttpHeaders & { ":status"?: number }) => (status = head[":status"] ?? 0));
    stream.on("data", (chunk: Buffer) => (body += chunk.toString()));
    stream.on("end", () => resolve({ status, body }));
    stream.on("error", reject);
  });
}

describe("a plain listener", () => {
  test("accepts the preface in one piece, byte by byte, and with the following bytes", async () => {
    const server = await serve();
    const beginning = Buffer.concat([PREFACE, SETTINGS, request(1)]);
    const whole = await openHttp2(server.port, { clear: true, preface: beginning });
    expect(await whole.outcome(1)).toEqual(OK);
    whole.send(request(3));
    expect(await whole.outcome(3)).toEqual(OK);
    const slow = await openHttp2(server.port, { clear: true, preface: Buffer.alloc(0) });
    slow.socket.setNoDelay(true);
    await inPieces(slow.socket, beginning);
    expect(await slow.outcome(1)).toEqual(OK);
    whole.close();
    slow.close();
    expect(server.seen).toHaveLength(3);
    for (const { httpVersion, secure, host, path, query, remoteAddress, method } of server.seen)
      expect({ httpVersion, secure, host, path, query, remoteAddress, method }).toEqual({
        httpVersion: "2",
        secure: false,
        host: "a.example",
        path: "/a",
        query: "?b",
        remoteAddress: "127.0.0.1",
        method: "GET",
      });
  });

  test.each(["GET", "POST", "PUT", "PRIX", "PROPFIND", "PATCH"])(
    "takes %s of HTTP/1.1, byte by byte, for what it is",
    async (method) => {
      const server = await serve();
      const client = openRaw(server.port);
      client.socket.setNoDelay(true);
      await inPieces(client.socket, Buffer.from(GET.replace("GET", method)));
      await client.closed;
      expect(client.text).toMatch(method === "PRIX" ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 200 /);
    },
  );

  test.each([
    ["http", 200],
    ["https", 200],
    ["ws", 400],
    ["HTTP", 400],
  ])("accepts the scheme %j from a proxy that terminated TLS: %d", async (scheme, status) => {
    const server = await serve();
    const client = await openHttp2(server.port, { clear: true });
    client.send(
      frame(
        FRAME.headers,
        FLAG.endHeaders | FLAG.endStream,
        1,
        block([
          [":method", "GET"],
          [":scheme", scheme],
          [":path", "/"],
          [":authority", "a.example"],
        ]),
      ),
    );
    expect(await client.outcome(1)).toMatchObject({ status });
    client.close();
    expect(server.seen).toHaveLength(status === 200 ? 1 : 0);
  });

  test("serves HTTP/2 on one connection and HTTP/1.1 on another", async () => {
    const server = await serve();
    const both = await Promise.all([ask(server.port, {}), sendRaw(server.port, GET), ask(server.port, {})]);
    expect(both).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }]);
  });
});

describe("the client's address", () => {
  const HEAD = Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 50000 443\r\n");

  test("comes from the PROXY head, in one piece with the preface or byte by byte", async () => {
    const server = await serve({ proxyProtocol: true });
    const beginning = Buffer.concat([HEAD, PREFACE, SETTINGS, request(1)]);
    const whole = await openHttp2(server.port, { clear: true, preface: beginning });
    expect(await whole.outcome(1)).toEqual(OK);
    const slow = await openHttp2(server.port, { clear: true, preface: Buffer.alloc(0) });
    slow.socket.setNoDelay(true);
    await inPieces(slow.socket, beginning);
    expect(await slow.outcome(1)).toEqual(OK);
    expect(server.seen.map(({ remoteAddress }) => remoteAddress)).toEqual(["192.0.2.7", "192.0.2.7"]);
    whole.close();
    slow.close();
  });

  test("is not expected after the preface: that order is invalid", async () => {
    const server = await serve({ proxyProtocol: true });
    const client = await openHttp2(server.port, {
      clear: true,
      preface: Buffer.concat([PREFACE, HEAD, SETTINGS, request(1)]),
    });
    await client.closed;
    expect(server.seen).toHaveLength(0);
  });

  test("comes from X-Forwarded-For where proxies are trusted", async () => {
    const server = await serve({ forwardedFor: { trustedHops: 1, skipAppend: false } });
    expect((await ask(server.port, { "x-forwarded-for": "198.51.100.4, 192.0.2.9" })).body).toBe("192.0.2.9");
    const without = await serve();
    expect((await ask(without.port, { "x-forwarded-for": "192.0.2.9" })).body).toBe("127.0.0.1");
  });
});

describe("a connection that sends no complete preface", () => {
  test.each([
    ["", /^$/],
    ["PRI * HTT", /^HTTP\/1\.1 400 /],
  ])("%j, and ends, is answered accordingly", async (bytes, expected) => {
    const server = await serve();
    const client = openRaw(server.port, bytes);
    client.socket.end();
    await client.closed;
    expect(client.text).toMatch(expected);
  });

  test("nor does half the head of a request: it is waited for, answered, and the last", async () => {
    const server = await serve();
    const client = openRaw(server.port, GET.slice(0, 10));
    await expect.poll(() => server.connections()).toBe(1);
    // The first bytes have been read by the time that a later request is answered.
    expect((await sendRaw(server.port, GET)).status).toBe(200);
    const ended = server.close({ timeoutMs: 60_000 });
    client.socket.write(GET.slice(10));
    await client.closed;
    await ended;
    expect(client.text).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("does not hold up the end of the listener", async () => {
    const server = await serve();
    const clients = ["", "PRI *"].map((bytes) => openRaw(server.port, bytes));
    await expect.poll(() => server.connections()).toBe(2);
    await server.close({ timeoutMs: 60_000 });
    for (const { closed } of clients) await closed;
  });
});

test("a listener that ends says goodbye, lets streams finish, and takes no other ones", async () => {
  const held = Promise.withResolvers<Exchange>();
  const server = await serve({ handle: (exchange) => held.resolve(exchange) });
  const client = await openHttp2(server.port, { clear: true });
  client.send(request(1));
  const exchange = await held.promise;
  const ended = server.close({ timeoutMs: 60_000 });
  const goaway = await client.find(({ type }) => type === FRAME.goaway);
  expect(goaway.payload.readUInt32BE(4)).toBe(ERROR.none);
  exchange.respond(200, [], "late");
  expect(await client.outcome(1)).toEqual(OK);
  await client.closed;
  await ended;
});

test.each(["HTTP/1.1", "HTTP/2"])("whoever asks after the end of a %s exchange is told, too", async (version) => {
  const held = Promise.withResolvers<Exchange>();
  const server = await serve({ handle: (exchange) => held.resolve(exchange) });
  const client = version === "HTTP/2" ? await openHttp2(server.port, { clear: true }) : undefined;
  const socket = client ? undefined : openRaw(server.port, GET).socket;
  client?.send(request(1));
  const exchange = await held.promise;
  const told = (): Promise<boolean> => new Promise((resolve) => exchange.onClose(resolve));
  const first = told();
  socket?.destroy();
  client?.close();
  expect(await first).toBe(false);
  // As forwarding does it, after the store was waited for.
  expect(await told()).toBe(false);
  expect(await told()).toBe(false);
});
