/**
 * Clients that take nothing of their answer: without a bound they hold their connection and the upstream's for as long as
 * TCP lives. Those that have nothing to take stay, however long.
 */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Writable } from "node:stream";

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { watchStalls } from "../../runtime/http/stalls.ts";
import { acceptOf } from "../../runtime/http/listener/websocket.ts";
import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";
import { openRaw, type RawConnection } from "../support/raw-client.ts";
import { block, FLAG, FRAME, frame, openHttp2 } from "../support/raw-h2.ts";

/** Instead of the real five minutes. */
const BOUND_MS = 400;
const CHUNK = Buffer.alloc(65_536, "x");
/** Requests at the upstream, by path. */
const asked = new Map<string, { readonly answer: Writable; readonly closed: Promise<void> }>();

let upstream: Server;
let tls: ListenerCertificates;
let plain: Pipeline;
let secure: Pipeline;

beforeAll(async () => {
  upstream = createServer((request, response) => {
    const path = request.url ?? "";
    keep(path, response);
    if (path.startsWith("/endless")) {
      response.writeHead(200);
      flood(response);
    } else {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: first\n\n");
    }
  });
  upstream.on("upgrade", (request, socket) => {
    const path = request.url ?? "";
    keep(path, socket);
    socket.on("error", () => {});
    const accept = acceptOf(request.headers["sec-websocket-key"] ?? "");
    const head = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket";
    socket.write(`${head}\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
    if (path.startsWith("/endless")) flood(socket);
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  tls = await openListenerCertificates("app.example");
  const yaml = `routes:
    - from: https://app.example
      to: "http://127.0.0.1:${(upstream.address() as AddressInfo).port}"
      allow_websockets: true
      policy: [{ allow: { and: [{ accept: true }] } }]`;
  plain = await startPipeline(yaml, { sendTimeoutMs: BOUND_MS });
  secure = await startPipeline(yaml, { sendTimeoutMs: BOUND_MS, certificates: tls.certificates });
});
afterAll(async () => {
  await plain?.close();
  await secure?.close();
  await tls?.close();
  upstream?.closeAllConnections();
  upstream?.close();
});

function keep(path: string, answer: Writable): void {
  asked.set(path, { answer, closed: new Promise((resolve) => answer.once("close", () => resolve())) });
}

function flood(to: Writable): void {
  const more = (): void => {
    while (!to.destroyed && to.write(CHUNK));
  };
  to.on("drain", more);
  more();
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: app.example\r\n\r\n`;
const handshake = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: app.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

/** Sends a request and never reads. */
function stall(port: number, bytes: string, isTls = false): Socket {
  const socket = isTls
    ? connectTls({ host: "127.0.0.1", port, servername: "app.example", rejectUnauthorized: false })
    : connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(bytes);
  return socket;
}

/** The upstream got the request, and it is cancelled. */
async function expectGivenUp(path: string): Promise<void> {
  await expect.poll(() => asked.has(path)).toBe(true);
  await asked.get(path)?.closed;
}

describe("a client that reads nothing of its response is disconnected, and its upstream with it", () => {
  const left: Socket[] = [];
  afterEach(() => {
    for (const socket of left.splice(0)) socket.destroy();
  });

  test.each([
    ["over HTTP/1.1", get("/endless-plain"), false, "/endless-plain"],
    ["over TLS", get("/endless-tls"), true, "/endless-tls"],
    ["of WebSocket", handshake("/endless-messages"), false, "/endless-messages"],
    ["of WebSocket over TLS", handshake("/endless-tls-messages"), true, "/endless-tls-messages"],
  ])("%s", async (_name, bytes, isTls, path) => {
    const pipeline = isTls ? secure : plain;
    const before = await pipeline.server.connections();
    left.push(stall(pipeline.port, bytes, isTls));
    await expectGivenUp(path);
    await expect.poll(() => pipeline.server.connections()).toBe(before);
  });

  test("over HTTP/2, where it reads nothing at all", async () => {
    const client = await openHttp2(secure.port);
    left.push(client.socket);
    client.send(windowUpdate(0, 2 ** 30), ask("/endless-session", 1), windowUpdate(1, 2 ** 30));
    client.socket.pause();
    await expectGivenUp("/endless-session");
    await expect.poll(() => secure.server.connections()).toBe(0);
  });
});

describe("a client that has read everything stays", () => {
  test("an event stream, a WebSocket, and streams next to a cancelled one", async () => {
    const events = openRaw(plain.port, get("/events"));
    const messages = openRaw(plain.port, handshake("/messages"));
    const client = await openHttp2(secure.port);
    const stalled: Socket[] = [];
    try {
      await events.contains("first");
      await messages.contains("101 Switching");
      client.send(windowUpdate(0, 2 ** 20), ask("/events-2", 1), ask("/endless-stream", 3));
      await client.find(({ stream, type }) => stream === 1 && type === FRAME.data);
      // Its window is used up, and stays closed.
      await expectGivenUp("/endless-stream");
      await client.find(({ stream, type }) => stream === 3 && type === FRAME.reset);
      // One that came after all of these: so they have been silent for longer than the bound.
      stalled.push(stall(plain.port, get("/endless-later")));
      await expectGivenUp("/endless-later");
      await expectNext(events, "/events");
      asked.get("/messages")?.answer.write("later");
      await messages.contains("later");
      asked.get("/events-2")?.answer.write("data: second\n\n");
      await client.find(
        ({ stream, type, payload }) => stream === 1 && type === FRAME.data && payload.includes("second"),
      );
    } finally {
      for (const socket of [events.socket, messages.socket, client.socket, ...stalled]) socket.destroy();
    }
  });
});

async function expectNext(connection: RawConnection, path: string): Promise<void> {
  asked.get(path)?.answer.write("data: second\n\n");
  await connection.contains("second");
}

function ask(path: string, stream: number): Buffer {
  const fields = [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", path],
    [":authority", "app.example"],
  ] as const;
  return frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, block(fields));
}

function windowUpdate(stream: number, by: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(by);
  return frame(FRAME.window, 0, stream, bytes);
}

describe("watchStalls()", () => {
  afterEach(() => void vi.useRealTimers());

  /** @param taken bytes of the writer that were taken, at each fifth of the time */
  const cutAfter = (left: readonly number[], taken: readonly number[]): number | undefined => {
    vi.useFakeTimers();
    let at = 0;
    let cut: number | undefined;
    const stop = watchStalls({
      stallMs: 1_000,
      writers: () =>
        cut === undefined ? [{ writableLength: left[at] ?? 0 }].map((each) => Object.assign(writer, each)) : [],
      progressOf: () => taken[at] ?? 0,
      onStall: () => (cut = at),
    });
    const writer = { writableLength: 0 };
    for (; at < left.length; at += 1) vi.advanceTimersByTime(200);
    stop();
    return cut;
  };

  test.each<[string, readonly number[], readonly number[], number | undefined]>([
    ["takes nothing", [9, 9, 9, 9, 9, 9, 9], [0, 0, 0, 0, 0, 0, 0], 5],
    ["takes a byte from time to time", [9, 9, 9, 9, 9, 9, 9, 9], [0, 0, 0, 1, 1, 1, 1, 2], undefined],
    ["takes nothing for a while after the last byte", [9, 9, 9, 9, 9, 9, 9, 9], [0, 0, 1, 1, 1, 1, 1, 1], 7],
    ["has taken everything in between", [9, 9, 9, 0, 9, 9, 9, 9], [0, 0, 0, 0, 0, 0, 0, 0], undefined],
    ["has nothing to take", [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0], undefined],
  ])("of a client that %s", (_name, left, taken, expected) => {
    expect(cutAfter(left, taken)).toBe(expected);
  });

  test("checks nothing without a limit", () => {
    vi.useFakeTimers();
    watchStalls({ stallMs: 0, writers: () => expect.unreachable(), progressOf: () => 0, onStall: () => {} });
    expect(vi.getTimerCount()).toBe(0);
  });
});
