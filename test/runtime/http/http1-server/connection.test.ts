/** Connections that we read and write ourselves: what ends each state that a client can keep up by silence, and what is bounded. */
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { Parties } from "../../../../runtime/http/admission/parties.ts";
import type { ConnectionOwner } from "../../../../runtime/http/http1-server/connection-owner.ts";
import { Connection, HEAD_MS, IDLE_MS } from "../../../../runtime/http/http1-server/connection.ts";
import { OwnExchange } from "../../../../runtime/http/http1-server/exchange.ts";
import { writeJoined } from "../../../../runtime/shared/http/write-together.ts";

const NO_TARGET = { path: "/", query: "", host: "a.example" };
const get = (more = ""): string => `GET / HTTP/1.1\r\nhost: a.example\r\n${more}\r\n`;
const OK = ["content-length", "2"];

let server: Server;
let client: Socket;
let text: string;
let connection: Connection;
let exchanges: OwnExchange[];
let closed: Promise<void>;
let onBegun: (exchange: OwnExchange) => void;
let leave: () => void;
let refused: (string | undefined)[];
const owner = { secure: false, asksForCertificates: false, peer: { draining: false }, nowMs: 0 };
const MAX_HELD_BYTES = 1_000_000;
let parties: Parties;
let noRoom: number;

beforeEach(async () => {
  exchanges = [];
  refused = [];
  parties = new Parties(MAX_HELD_BYTES);
  noRoom = 0;
  onBegun = () => {};
  text = "";
  const connected = new Promise<void>((resolve) => {
    server = createServer({ allowHalfOpen: true }, (socket) => {
      const full: ConnectionOwner = {
        ...owner,
        parties,
        noRoom: () => void (noRoom += 1),
        begin(each, arrival) {
          const exchange = new OwnExchange(each, arrival, NO_TARGET, false);
          each.begun(exchange);
          exchanges.push(exchange);
          onBegun(exchange);
        },
        upgraded: () => leave(),
        turnedHttp2() {},
        closed() {},
        unreadable: (_detail, reason) => void refused.push(reason),
      };
      const opened = new Connection(socket, full);
      connection = opened;
      const onData = (bytes: Buffer): void => opened.take(bytes);
      leave = () => socket.off("data", onData);
      socket.on("data", onData);
      socket.on("drain", () => opened.drained());
      socket.on("end", () => opened.ended());
      socket.on("error", () => {});
      socket.on("close", () => opened.lost());
      resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  client.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  client.on("error", () => {});
  closed = new Promise((resolve) => client.once("close", () => resolve()));
  await connected;
});
afterEach(async () => {
  client.destroy();
  connection.socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const begun = (count: number) => expect.poll(() => exchanges.length).toBe(count);
const read = (bytes: number) => expect.poll(() => connection.socket.bytesRead).toBe(bytes);
const heard = (what: string) => expect.poll(() => text).toContain(what);

describe("silence", () => {
  test("before anything, or in a head, is answered 408 when its time is over", async () => {
    for (const beginning of ["", "GET / HT"]) {
      if (beginning !== "") client.write(beginning);
      await read(beginning.length);
      connection.look(HEAD_MS - 1);
      expect(connection.socket.writableEnded).toBe(false);
    }
    connection.look(HEAD_MS);
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("after a response ends the connection without a message", async () => {
    client.write(get());
    await begun(1);
    connection.look(Infinity);
    exchanges[0]?.respond(200, OK, "ok");
    await heard("\r\n\r\nok");
    connection.look(IDLE_MS);
    expect(connection.socket.destroyed).toBe(false);
    connection.look(IDLE_MS + 1_000);
    await closed;
    expect(text.match(/HTTP\//g)?.length).toBe(1);
  });

  test("after a response, in the next head, gets 408", async () => {
    client.write(`${get()}GET`);
    await begun(1);
    exchanges[0]?.respond(200, OK, "ok");
    await heard("\r\n\r\nok");
    connection.look(HEAD_MS);
    await heard("HTTP/1.1 408 ");
    await closed;
  });

  test("in an unwanted body ends the connection after its response", async () => {
    client.write(`POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 9\r\n\r\nabc`);
    await begun(1);
    exchanges[0]?.respond(403, OK, "no");
    await heard("\r\n\r\nno");
    connection.look(5_000);
    await closed;
  });
});

test.each([
  ["with its head", "", "abc"],
  ["behind it", "abc", undefined],
])(
  "a body that came %s is read as a stream; only the one that came with it is there at once",
  async (_how, later, whole) => {
    const head = "POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 3\r\n\r\n";
    client.write(later === "" ? `${head}abc${get()}` : head);
    await begun(1);
    const [exchange] = exchanges;
    expect(exchange?.hasBody).toBe(true);
    expect(exchange?.wholeBody?.toString()).toBe(whole);
    client.write(later);
    expect(await exchange?.body.toArray()).toEqual([Buffer.from("abc")]);
    exchange?.respond(200, OK, "ok");
    if (later !== "") client.write(get());
    await begun(2);
  },
);

describe("a body after its response", () => {
  const CHUNKED = "POST / HTTP/1.1\r\nhost: a.example\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
  const REST = "3\r\ndef\r\n0\r\n\r\n";

  test("is aborted for its reader: part of it was discarded", async () => {
    client.write(CHUNKED);
    await begun(1);
    const seen: string[] = [];
    const body = exchanges[0]?.body;
    for (const event of ["end", "error"]) body?.on(event, () => seen.push(event));
    body?.resume();
    exchanges[0]?.respond(200, OK, "ok");
    client.write(REST + get());
    await begun(2);
    await expect.poll(() => seen).toEqual(["error"]);
  });

  test("that has come to its end leaves a slow reader of the answer its time", async () => {
    const page = Buffer.alloc(16_000_000);
    client.pause();
    client.write(CHUNKED);
    await begun(1);
    exchanges[0]?.respond(200, ["content-length", `${page.length}`], page);
    client.write(REST);
    await read(CHUNKED.length + REST.length);
    connection.look(Infinity);
    client.resume();
    await expect.poll(() => text.length).toBeGreaterThan(page.length);
    client.write(get());
    await begun(2);
  });
});

test("short answers for which the system has no room are not overwritten by the next ones", async () => {
  client.pause();
  const { socket } = connection;
  let sent = "";
  for (let left = 3; left > 0; left -= socket.writableLength > 0 ? 1 : 0) {
    // Of each size that is written in its own way.
    const size = [100, 10_001, 30_000][sent.length % 3] as number;
    const bytes = Buffer.from(Array.from({ length: size }, (_, at) => (at + sent.length) & 255));
    writeJoined(socket, `${sent.length} `, bytes);
    sent += `${sent.length} ${bytes.toString("latin1")}`;
  }
  client.resume();
  await expect.poll(() => text.length).toBe(sent.length);
  expect(text === sent).toBe(true);
});

describe("input after a request that is not answered", () => {
  test("a body that waited whole does not stop the reading of its connection: a client that leaves is heard", async () => {
    const request = `POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 66000\r\n\r\n${"x".repeat(66_000)}`;
    connection.take(Buffer.from(get()));
    // Together they are more than is kept, and whole then.
    connection.take(Buffer.from(request.slice(0, 60_000)));
    connection.take(Buffer.from(request.slice(60_000)));
    exchanges[0]?.respond(200, OK, "ok");
    await begun(2);
    expect(exchanges[1]?.wholeBody?.length).toBe(66_000);
    expect(exchanges[1]?.body.readableLength).toBe(66_000);
    expect(connection.socket.isPaused()).toBe(false);
  });

  test.each([
    ["in one piece", (bytes: string) => [bytes]],
    ["byte by byte", (bytes: string) => bytes.split("")],
  ])("is bounded, %s, and the rest is ignored", async (_how, cut) => {
    client.write(get());
    await begun(1);
    for (const piece of cut(get("x: y\r\n").repeat(2_000))) connection.take(Buffer.from(piece));
    onBegun = (exchange) => exchange.respond(200, OK, "ok");
    exchanges[0]?.respond(200, OK, "ok");
    await closed;
    expect(exchanges.length).toBeLessThan(40);
    expect(text.match(/HTTP\//g)?.length).toBe(exchanges.length);
    expect(text.match(/connection: close/gi)?.length).toBe(1);
  });

  test("is answered as far as it came whole, where more comes than is kept", async () => {
    const post = `POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 20000\r\n\r\n${"a".repeat(20_000)}`;
    client.write(get());
    await begun(1);
    connection.take(Buffer.from(post + post));
    connection.take(Buffer.from(post.slice(0, 15_000)));
    connection.take(Buffer.from(post.slice(15_000) + get()));
    connection.take(Buffer.from(post + post.slice(0, 15_000)));
    connection.take(Buffer.from(post.slice(15_000)));
    onBegun = (exchange) => void exchange.body.resume().once("end", () => exchange.respond(200, OK, "ok"));
    exchanges[0]?.respond(200, OK, "ok");
    await closed;
    expect(exchanges.map(({ method }) => method)).toEqual(["GET", "POST", "POST", "POST", "GET", "POST"]);
    expect(text).toMatch(/Connection: close\r\n\r\nok$/);
  });

  test("is answered, however long, if the previous response is on its way and did not announce the end of the connection", async () => {
    const page = Buffer.alloc(16_000_000);
    const body = "x".repeat(200_000);
    client.pause();
    client.write(get());
    await begun(1);
    exchanges[0]?.respond(200, ["content-length", `${page.length}`], page);
    expect(exchanges[0]?.isAnswered).toBe(false);
    onBegun = (exchange) => void exchange.body.resume().once("end", () => exchange.respond(200, OK, "ok"));
    client.write(`POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await expect.poll(() => connection.socket.bytesRead).toBeGreaterThan(70_000);
    expect(connection.socket.bytesRead).toBeLessThan(body.length);
    client.resume();
    await expect.poll(() => text.length).toBeGreaterThan(page.length);
    await heard("\r\n\r\nok");
    expect(exchanges.map(({ closesConnection }) => closesConnection)).toEqual([false, false]);
  });

  test("is answered without a limit for a client that always has a few requests waiting", async () => {
    onBegun = (exchange) => {
      if (exchanges.length < 98) connection.take(Buffer.from(get()));
      setImmediate(() => exchange.respond(200, OK, "ok"));
    };
    client.write(get().repeat(4));
    await begun(101);
    expect(text).not.toMatch(/connection: close/i);
  });

  test("begins in order, one at a time, up to a limit", async () => {
    client.write(get().repeat(60));
    for (let count = 1; count <= 33; count += 1) {
      await begun(count);
      exchanges.at(-1)?.respond(200, OK, "ok");
    }
    await closed;
    expect(exchanges.length).toBe(33);
    expect(text.match(/connection: close/gi)?.length).toBe(1);
  });
});

test("input sent with a handshake is passed on when the handshake is accepted immediately", async () => {
  onBegun = (exchange) => {
    exchange.offerWebSocket("dGhlIHNhbXBsZSBub25jZQ==");
    const socket = exchange.upgrade?.accept([]);
    socket?.on("data", (bytes: Buffer) => (early += bytes.toString()));
    socket?.resume();
  };
  let early = "";
  client.write(`${get()}early`);
  await heard("HTTP/1.1 101 ");
  client.write("-more");
  await expect.poll(() => early).toBe("early-more");
});

test.each([
  ["another coding", "transfer-encoding", "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n"],
  ["a coding in HTTP/1.0", "transfer-encoding", "POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n"],
  [
    "two codings",
    "duplicate-header",
    "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
  ],
  ["garbage", undefined, "what is this\r\n\r\n"],
])("%s is refused by its code", async (_what, reason, bytes) => {
  client.write(bytes);
  await closed;
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain(`"error":"request.${reason ?? "malformed"}"`);
  expect(refused).toEqual([reason]);
});

test("a body waits for its reader, and then continues", async () => {
  client.write(`POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 5000000\r\n\r\n`);
  await begun(1);
  client.write(Buffer.alloc(5_000_000, "a"));
  await expect.poll(() => connection.socket.isPaused()).toBe(true);
  expect(connection.socket.bytesRead).toBeLessThan(1_000_000);
  let size = 0;
  for await (const chunk of exchanges[0]?.body ?? []) size += (chunk as Buffer).length;
  expect(size).toBe(5_000_000);
  exchanges[0]?.respond(200, OK, "ok");
  client.write(get());
  await begun(2);
});

describe("an answer", () => {
  const asked = async (request: string): Promise<OwnExchange> => {
    client.write(request);
    await begun(1);
    return exchanges[0] as OwnExchange;
  };

  test("of unknown length comes in chunks, to an old client until the end of the connection", async () => {
    const exchange = await asked(get());
    exchange.start(200, []);
    exchange.write("ab");
    exchange.end("c", ["x-sum", "1"]);
    await heard("2\r\nab\r\n1\r\nc\r\n0\r\nx-sum: 1\r\n\r\n");
    client.write("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
    await begun(2);
    text = "";
    exchanges[1]?.start(200, []);
    exchanges[1]?.write("ab");
    exchanges[1]?.end("c");
    await closed;
    expect(text).toMatch(/\r\nConnection: close\r\n\r\nabc$/);
  });

  test.each([
    ["HEAD", "HEAD", 200],
    ["204", "GET", 204],
    ["304", "GET", 304],
  ])("to %s has no body", async (_name, method, status) => {
    const exchange = await asked(get().replace("GET", method));
    exchange.respond(status, status === 204 ? [] : OK, "ok");
    client.write(get());
    await begun(2);
    exchanges[1]?.respond(200, OK, "ok");
    await heard("ok");
    expect(text).toMatch(/^HTTP\/1\.1 \d+ [^]*?\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/);
  });

  test("that a bug of ours ends is a 500 if nothing of it was sent, and aborted otherwise", async () => {
    onBegun = (exchange) => {
      exchange.start(200, ["content-length", "10", "x-of", "the first"]);
      exchange.broke(new Error("a mistake"));
    };
    client.write(get());
    await heard("\r\n\r\n{");
    expect(text).toMatch(/^HTTP\/1\.1 500 /);
    expect(text).not.toContain("the first");
    onBegun = (exchange) => {
      exchange.start(200, ["content-length", "10"]);
      exchange.write("begun");
      exchange.broke(new Error("a mistake"));
    };
    text = "";
    client.write(get());
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*begun$/);
  });

  test("that is shorter or longer than it says is broken off", async () => {
    const exchange = await asked(get());
    exchange.start(200, ["content-length", "9"]);
    let isComplete: boolean | undefined;
    exchange.onClose((complete) => (isComplete = complete));
    exchange.end("short");
    await expect.poll(() => isComplete).toBe(false);
    expect(connection.socket.destroyed).toBe(true);
  });

  test.each([
    ["a line feed", ["x-a", "b\nc: d"]],
    ["a wide character", ["x-a", "\u010a"]],
    ["no name", ["", "b"]],
    ["a blank in a name", ["x a", "b"]],
    ["two lengths", ["content-length", "1", "content-length", "1"]],
    ["a coding", ["transfer-encoding", "chunked"]],
    ["an end of the connection", ["connection", "close"]],
  ])("with %s is not begun", async (_what, headers) => {
    const exchange = await asked(get());
    expect(() => exchange.respond(200, headers)).toThrow(TypeError);
    expect(exchange.started).toBe(false);
    expect(() => exchange.respond(500, OK, "no")).not.toThrow();
    expect(() => exchange.respond(500, OK, "no")).toThrow("twice");
    await heard("HTTP/1.1 500 ");
  });
});

describe("memory held for a client", () => {
  const part = `GET / HTTP/1.1\r\nhost: a.example\r\nx-a: ${"a".repeat(10_000)}`;

  test("of a head that is not complete is counted, and given back when it is, or when its client leaves", async () => {
    client.write(part);
    await expect.poll(() => parties.bytes).toBe(part.length);
    client.write("\r\n\r\n");
    await begun(1);
    expect(parties.bytes).toBe(0);
    exchanges[0]?.respond(200, OK, "ok");
    await heard("ok");
    client.write(part);
    await expect.poll(() => parties.bytes).toBe(part.length);
    client.destroy();
    await expect.poll(() => [parties.bytes, parties.size]).toEqual([0, 0]);
  });

  test("after a request that is not answered is counted, and given back", async () => {
    client.write(get() + get());
    await begun(1);
    await expect.poll(() => parties.bytes).toBeGreaterThan(0);
    exchanges[0]?.respond(200, OK, "ok");
    await begun(2);
    expect(parties.bytes).toBe(0);
  });

  test("of an unread body is counted until the request is over", async () => {
    client.write(`POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 100000\r\n\r\n`);
    await begun(1);
    const exchange = exchanges[0] as OwnExchange;
    exchange.party = connection.party;
    client.write("a".repeat(5_000));
    await expect.poll(() => parties.bytes).toBe(5_000);
    client.destroy();
    await expect.poll(() => [parties.bytes, parties.size]).toEqual([0, 0]);
  });

  test("is limited to the client's share: 503, and nothing is kept", async () => {
    const others = parties.connect("192.0.2.9");
    expect(others.take(MAX_HELD_BYTES / 2 - 100)).toBe(true);
    expect(parties.connect("127.0.0.1").take(MAX_HELD_BYTES / 4 - 10_000)).toBe(true);
    const before = parties.bytes;
    client.write(part + "a".repeat(20_000));
    await heard("503 Service Unavailable");
    expect(text).toContain("request.overloaded");
    expect([parties.bytes, noRoom]).toEqual([before, 1]);
    await closed;
  });

  test("is limited for input after a request: that request is answered, and the connection ends", async () => {
    const party = parties.connect("127.0.0.1");
    client.write(get());
    await begun(1);
    expect(party.take(MAX_HELD_BYTES / 2 - 10)).toBe(true);
    client.write(get());
    await expect.poll(() => noRoom).toBe(1);
    exchanges[0]?.respond(200, OK, "ok");
    await heard("Connection: close\r\n\r\nok");
    await closed;
    expect(exchanges).toHaveLength(1);
  });
});
