/** Requests as they leave: nothing but what was given, and a body that is whole or does not look it. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Readable } from "node:stream";

import { afterEach, describe, expect, test } from "vitest";

import type { UpstreamRequest } from "../../../../runtime/upstreams/transport-types.ts";
import { BodySender } from "../../../../runtime/upstreams/body-sender.ts";
import { bodySink, writeRequest } from "../../../../runtime/upstreams/http1/writer.ts";

function request(more: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    upstream: { origin: "http://127.0.0.1:1", host: "app", basePath: "", weight: 1 },
    method: "GET",
    path: "/a?b",
    headers: ["host", "app"],
    body: undefined,
    headTimeoutMs: 0,
    idleTimeoutMs: 0,
    ...more,
  };
}

const HEAD = "GET /a?b HTTP/1.1\r\nhost: app\r\nconnection: keep-alive\r\n";

describe("writeRequest()", () => {
  test.each([
    ["line feed", "a\nb"],
    ["carriage return", "a\rb"],
    ["both", "a\r\nb"],
    ["both, and a whole field", "a\r\ntransfer-encoding: chunked"],
    ["both, and a whole request", "a\r\n\r\nGET /admin HTTP/1.1\r\nhost: app\r\n"],
    ["both, the other way round", "a\n\rb"],
    ["NUL", "a\0b"],
    // Written as latin1 these are line feed, carriage return and NUL.
    ["U+010A", "a\u010ab"],
    ["U+010D", "a\u010db"],
    ["U+0D0A", "\u0d0a"],
    ["U+2100", "a\u2100b"],
    ["half a surrogate pair", "a\ud83db"],
    ["line separator", "a\u2028b"],
  ])("rejects a %s in any position, and does not quote it", (_name, text) => {
    for (const bad of [
      request({ headers: ["host", `app${text}`] }),
      request({ headers: ["host", "app", `x-secret${text}`, "v"] }),
      request({ path: `/${text}` }),
      request({ method: `GET${text}` }),
    ]) {
      let thrown: unknown;
      try {
        writeRequest(bad);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(TypeError);
      expect(String(thrown)).not.toMatch(/app|secret|admin|GET/);
    }
  });

  test.each([
    ["a length for no body", { headers: ["host", "app", "content-length", "5"] }],
    ["a length for a whole body", { body: Buffer.from("abc"), headers: ["host", "app", "content-length", "5"] }],
    ["a length in other letters", { body: Readable.from([]), headers: ["host", "app", "Content-Length", "5"] }],
    ["two lengths", { body: Readable.from([]), headers: ["content-length", "5", "content-length", "5"] }],
    ["a length that is no number", { body: Readable.from([]), headers: ["content-length", "5 "] }],
    ["a negative length", { body: Readable.from([]), headers: ["content-length", "-5"] }],
    ["chunks", { body: Readable.from([]), headers: ["transfer-encoding", "chunked"] }],
    ["chunks in other letters", { headers: ["Transfer-Encoding", "chunked"] }],
    ["a target with a blank", { path: "/a HTTP/1.1" }],
    ["an empty target", { path: "" }],
    ["a method with a blank", { method: "GET /b" }],
  ])("refuses %s", (_name, more) => {
    expect(() => writeRequest(request(more))).toThrow(TypeError);
  });

  test.each([
    ["GET", HEAD + "\r\n"],
    ["HEAD", HEAD.replace("GET", "HEAD") + "\r\n"],
    ["DELETE", HEAD.replace("GET", "DELETE") + "\r\n"],
    ["OPTIONS", HEAD.replace("GET", "OPTIONS") + "\r\n"],
    ["POST", HEAD.replace("GET", "POST") + "content-length: 0\r\n\r\n"],
    ["PUT", HEAD.replace("GET", "PUT") + "content-length: 0\r\n\r\n"],
    ["PATCH", HEAD.replace("GET", "PATCH") + "content-length: 0\r\n\r\n"],
  ])("writes %s without a body", (method, text) => {
    expect(writeRequest(request({ method })).text).toBe(text);
  });

  test("says of a whole body its length", () => {
    for (const body of [Buffer.from("ab"), Buffer.alloc(100_000, 1)])
      expect(writeRequest(request({ body }))).toEqual({
        text: `${HEAD}content-length: ${body.length}\r\n\r\n`,
        body,
        stream: undefined,
        streamLength: undefined,
      });
    expect(writeRequest(request({ body: Buffer.alloc(0) })).text).toBe(`${HEAD}content-length: 0\r\n\r\n`);
  });

  test("writes values with 8 bits as they came, one byte each", () => {
    const { text } = writeRequest(request({ headers: ["host", "app", "x-a", "\u00e4\tb \u0080\u00ff"] }));
    expect(Buffer.from(text, "latin1").includes(Buffer.from([0xe4, 0x09, 0x62, 0x20, 0x80, 0xff]))).toBe(true);
  });

  test("says of a stream its length, or that it comes in chunks", () => {
    const body = Readable.from([]);
    expect(writeRequest(request({ body })).text).toBe(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
    const known = writeRequest(request({ body, headers: ["host", "app", "content-length", "7"] }));
    expect(known).toMatchObject({ stream: body, streamLength: 7 });
    expect(known.text).toBe(HEAD.replace("app\r\n", "app\r\ncontent-length: 7\r\n") + "\r\n");
  });
});

describe("BodySender", () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Bytes that the other side has received once our side has sent the body. */
  async function send(
    body: Readable,
    length: number | undefined,
    { stopsReading = false, trailers }: { stopsReading?: boolean; trailers?: () => readonly string[] } = {},
  ) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [[peer]] = (await Promise.all([once(server, "connection"), once(socket, "connect")])) as [[Socket], unknown];
    sockets.push(socket, peer);
    let received = "";
    let progress = 0;
    if (!stopsReading) peer.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    const over = Promise.withResolvers<string>();
    const sender = new BodySender(bodySink(socket, length), body, length, trailers, {
      onProgress: () => (progress += 1),
      onSent: () => over.resolve("sent"),
      onBroken: (error) => over.resolve(error.message),
      broke: (error) => over.resolve(String(error)),
    });
    server.close();
    return {
      sender,
      socket,
      peer,
      over: over.promise,
      progress: () => progress,
      async received() {
        socket.end();
        await once(peer, "end");
        return received;
      },
    };
  }

  test("sends a stream with its length as it is", async () => {
    const sent = await send(Readable.from([Buffer.from("abc"), Buffer.from("def")]), 6);
    expect(await sent.over).toBe("sent");
    expect(await sent.received()).toBe("abcdef");
  });

  test("sends a stream without length in chunks with an end", async () => {
    const sent = await send(Readable.from([Buffer.from("abc"), Buffer.alloc(0), Buffer.alloc(20, "x")]), undefined);
    expect(await sent.over).toBe("sent");
    expect(await sent.received()).toBe(`3\r\nabc\r\n14\r\n${"x".repeat(20)}\r\n0\r\n\r\n`);
  });

  test("sends trailers after chunks, requested once the stream has ended, and none after a declared length", async () => {
    for (const [length, expected] of [
      [undefined, "3\r\nabc\r\n0\r\nx-sum: 1\r\nx-sum: 2\r\n\r\n"],
      [3, "abc"],
    ] as const) {
      const body = Readable.from([Buffer.from("abc")]);
      const trailers = (): readonly string[] => (body.readableEnded ? ["x-sum", "1", "x-sum", "2"] : []);
      const sent = await send(body, length, { trailers });
      expect(await sent.over).toBe("sent");
      expect(await sent.received()).toBe(expected);
    }
  });

  test.each([
    ["a line feed in the value", ["x-a", "1\r\nx-evil: 1"]],
    ["a bare carriage return", ["x-a", "1\rx-evil: 1"]],
    ["a wide character that would become a line feed", ["x-a", "1\u010ax-evil: 1"]],
    ["a name with an end of its own", ["x-a: 1\r\n\r\nGET /", "1"]],
    ["an empty name", ["", "1"]],
  ])("aborts a body whose trailers have %s", async (_name, trailers) => {
    const sent = await send(Readable.from([Buffer.from("abc")]), undefined, { trailers: () => trailers });
    expect(await sent.over).toMatch(/has an invalid character/);
    expect(await sent.received()).toBe("3\r\nabc\r\n");
  });

  test("sends an empty stream as one", async () => {
    const chunks = await send(Readable.from([]), undefined);
    expect([await chunks.over, await chunks.received()]).toEqual(["sent", "0\r\n\r\n"]);
    const known = await send(Readable.from([]), 0);
    expect([await known.over, await known.received()]).toEqual(["sent", ""]);
  });

  test.each([
    ["shorter", 10, "the body is shorter than its Content-Length"],
    ["longer", 4, "the body is longer than its Content-Length"],
  ])("fails a stream that is %s than declared, and sends no byte too many", async (_name, length, message) => {
    const body = Readable.from([Buffer.from("abc"), Buffer.from("def")]);
    const sent = await send(body, length);
    expect(await sent.over).toBe(message);
    expect((await sent.received()).length).toBeLessThan(length);
    expect(body.destroyed).toBe(true);
  });

  test.each([
    ["fails", (body: Readable) => body.destroy(new Error("client gone"))],
    ["is closed without an end", (body: Readable) => body.destroy()],
  ])("never gives a stream an end that %s", async (_name, breakOff) => {
    for (const length of [undefined, 3]) {
      const body = new Readable({ read: () => {} });
      const sent = await send(body, length);
      body.push("ab");
      await expect.poll(() => sent.progress()).toBe(1);
      breakOff(body);
      expect(await sent.over).toMatch(/client gone|was truncated/);
      expect(await sent.received()).toBe(length === undefined ? "2\r\nab\r\n" : "ab");
    }
  });

  test("sends no more than the connection accepts, and continues when it does", async () => {
    let given = 0;
    const body = new Readable({
      read() {
        given += 65_536;
        this.push(given > 64_000_000 ? null : Buffer.alloc(65_536));
      },
    });
    const sent = await send(body, undefined, { stopsReading: true });
    await expect.poll(() => sent.socket.writableNeedDrain && body.isPaused()).toBe(true);
    const held = given;
    expect(held).toBeLessThan(32_000_000);
    expect(sent.socket.writableLength).toBeLessThan(300_000);
    sent.peer.resume();
    expect(await sent.over).toBe("sent");
    expect(given).toBeGreaterThan(64_000_000);
  });

  test("leaves no listeners on socket and stream when it is stopped", async () => {
    const body = new Readable({ read: () => {} });
    const sent = await send(body, undefined);
    const before = sent.socket.listenerCount("drain");
    sent.sender.stop();
    sent.sender.stop();
    expect(body.destroyed).toBe(true);
    expect(body.listenerCount("data") + body.listenerCount("end")).toBe(0);
    expect(sent.socket.listenerCount("drain")).toBe(before);
    expect(await sent.received()).toBe("");
  });
});
