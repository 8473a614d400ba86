/** Memory that one client makes the process hold: heads that never end, waiting requests, unread bodies. Others are served. */
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect, type Socket } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import type { Exchange } from "../../runtime/http/exchange.ts";
import { createHttpServer } from "../../runtime/http/listener/server.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { runGateway } from "../support/run-gateway.ts";

const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;
const ATTACKER = "127.0.0.1";
const OTHER = "127.0.0.2";

interface Heard {
  readonly socket: Socket;
  text: string;
}

/** Sends, and records the response. */
function send(port: number, from: string, text: string): Heard {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  const heard = { socket, text: "" };
  socket.on("data", (bytes: Buffer) => (heard.text += bytes.toString("latin1")));
  socket.on("error", () => {});
  socket.write(text);
  onTestFinished(() => void socket.destroy());
  return heard;
}

const isRefused = ({ text }: Heard): boolean => text.startsWith("HTTP/1.1 503 ") && text.includes("request.overloaded");

test(
  "thousands of heads that never end, from one address, end no process with a small heap",
  { timeout: 180_000 },
  async () => {
    const HEADS = 2_600;
    const gateway = await runGateway({
      program: ["--max-old-space-size=64", MAIN],
      boot: { max_connections: 6_000 },
    });
    onTestFinished(() => gateway.close());
    const port = Number(new URL(gateway.origin).port);
    const part = `GET / HTTP/1.1\r\nhost: a.example\r\nx-a: ${"a".repeat(32_600)}`;
    const heads = Array.from({ length: HEADS }, () => send(port, ATTACKER, part));
    // A quarter of the heap is for all clients, half of that for one.
    await expect.poll(() => heads.filter(isRefused).length, { timeout: 120_000 }).toBeGreaterThan(HEADS / 2);
    const other = send(port, OTHER, "GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n");
    await expect.poll(() => other.text, { timeout: 30_000 }).toContain("HTTP/1.1 404 ");
    expect(gateway.process.exitCode).toBeNull();
  },
);

const MAX_HELD_BYTES = 1_000_000;
const LONG = "a".repeat(25_000);

async function openServer(handle: (exchange: Exchange) => void) {
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    maxHeldBytes: MAX_HELD_BYTES,
    log: silentLog(),
    handle,
  });
  onTestFinished(() => server.close({ timeoutMs: 0 }));
  return server;
}

/** Completes the held requests. */
function holdOthers(held: Exchange[]): (exchange: Exchange) => void {
  return (exchange) => {
    if (exchange.path === "/now") exchange.respond(200, ["content-length", "0"]);
    else held.push(exchange);
  };
}

const ANSWER_BYTES = 100_000;

/** Sends half of it separately, like an upstream. */
function answerLong(exchange: Exchange): void {
  if (exchange.path === "/now") return exchange.respond(200, ["content-length", "0"]);
  exchange.start(200, ["content-length", String(ANSWER_BYTES)]);
  exchange.write(Buffer.alloc(ANSWER_BYTES / 2));
  exchange.end(Buffer.alloc(ANSWER_BYTES / 2));
}

test("HTTP/1.1: pending requests are bounded for one address, and released", async () => {
  const held: Exchange[] = [];
  const { port } = await openServer(holdOthers(held));
  const text = `GET /wait HTTP/1.1\r\nhost: a.example\r\nx-a: ${LONG}\r\n\r\n`;
  const sent = Array.from({ length: 40 }, () => send(port, ATTACKER, text));
  await expect.poll(() => held.length + sent.filter(isRefused).length).toBe(40);
  expect(held.length).toBeGreaterThan(10);
  expect(held.length * LONG.length).toBeLessThan(MAX_HELD_BYTES / 2);
  const now = "GET /now HTTP/1.1\r\nhost: a.example\r\n\r\n";
  const other = send(port, OTHER, now);
  await expect.poll(() => other.text).toContain("200 OK");
  for (const { socket } of sent) socket.destroy();
  await expect
    .poll(async () => {
      const again = send(port, ATTACKER, now);
      await expect.poll(() => again.text).toContain("HTTP/1.1 ");
      return again.text;
    })
    .toContain("200 OK");
  const before = held.length;
  Array.from({ length: 40 }, () => send(port, ATTACKER, text));
  await expect.poll(() => held.length).toBe(2 * before);
});

test("HTTP/1.1: unread responses are bounded for one address", async () => {
  /** More than the system takes. */
  const part = Buffer.alloc(8_000_000);
  let aborted = 0;
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    maxHeldBytes: 100_000_000,
    log: silentLog(),
    handle(exchange) {
      if (exchange.path === "/now") return exchange.respond(200, ["content-length", "0"]);
      exchange.onClose(() => (aborted += 1));
      exchange.start(200, ["content-length", String(2 * part.length)]);
      exchange.write(part);
    },
  });
  onTestFinished(() => server.close({ timeoutMs: 0 }));
  const sent = Array.from({ length: 20 }, () => {
    const heard = send(server.port, ATTACKER, "GET /long HTTP/1.1\r\nhost: a.example\r\n\r\n");
    heard.socket.pause();
    return heard;
  });
  await expect.poll(() => aborted).toBeGreaterThan(5);
  expect(aborted).toBeLessThan(sent.length);
  const other = send(server.port, OTHER, "GET /now HTTP/1.1\r\nhost: a.example\r\n\r\n");
  await expect.poll(() => other.text).toContain("200 OK");
});

describe("over HTTP/2", () => {
  const open = (port: number, from: string, initialWindowSize = 65_535): ClientHttp2Session => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, {
      settings: { initialWindowSize },
      createConnection: () => connect({ port, host: "127.0.0.1", localAddress: from }),
    });
    session.on("error", () => {});
    onTestFinished(() => session.destroy());
    return session;
  };
  const ask = (session: ClientHttp2Session, path: string, body?: Buffer) => {
    const stream = session.request(
      { ":path": path, ":method": body ? "POST" : "GET", ...(body ? {} : { "x-a": LONG }) },
      { endStream: body === undefined },
    );
    const heard = { status: 0, bytes: 0, isOver: false };
    stream.on("response", (headers) => (heard.status = Number(headers[":status"])));
    stream.on("error", () => {});
    stream.on("close", () => (heard.isOver = true));
    stream.on("data", (bytes: Buffer) => (heard.bytes += bytes.length));
    if (body) stream.write(body);
    return heard;
  };

  test("requests that wait are bounded for one address over all its connections", async () => {
    const held: Exchange[] = [];
    const { port } = await openServer(holdOthers(held));
    const asked = Array.from({ length: 4 }, () => open(port, ATTACKER)).flatMap((session) =>
      Array.from({ length: 10 }, () => ask(session, "/wait")),
    );
    await expect.poll(() => held.length + asked.filter(({ status }) => status === 503).length).toBe(40);
    expect(held.length).toBeGreaterThan(10);
    expect(held.length * LONG.length).toBeLessThan(MAX_HELD_BYTES / 2);
    const other = ask(open(port, OTHER), "/now");
    await expect.poll(() => other.status).toBe(200);
  });

  test("unread bodies are also bounded", async () => {
    const held: Exchange[] = [];
    const { port } = await openServer(holdOthers(held));
    const session = open(port, ATTACKER);
    const asked = Array.from({ length: 20 }, () => ask(session, "/wait", Buffer.alloc(60_000)));
    await expect.poll(() => asked.filter(({ isOver }) => isOver).length).toBeGreaterThan(11);
    const other = ask(open(port, OTHER), "/now");
    await expect.poll(() => other.status).toBe(200);
  });

  test("bodies after rejected heads are also bounded", async () => {
    const { port } = await openServer(holdOthers([]));
    // Its answers do not end.
    const session = open(port, ATTACKER, 0);
    const asked = Array.from({ length: 20 }, () => ask(session, "/%zz", Buffer.alloc(60_000)));
    await expect.poll(() => asked.filter(({ isOver }) => isOver).length).toBeGreaterThan(11);
    // Not every aborted request is reported.
    expect(asked.filter(({ status }) => status !== 0 && status !== 400)).toEqual([]);
  });

  test("unread responses are bounded for one address, and released", async () => {
    const { port } = await openServer(answerLong);
    const session = open(port, ATTACKER, 0);
    const asked = Array.from({ length: 40 }, () => ask(session, "/long"));
    // About the amount that a client can hold.
    await expect.poll(() => asked.filter(({ isOver }) => isOver).length).toBeGreaterThan(25);
    expect(asked.filter(({ isOver }) => !isOver).length).toBeGreaterThan(2);
    const other = ask(open(port, OTHER), "/now");
    await expect.poll(() => other.status).toBe(200);
    session.destroy();
    const again = open(port, ATTACKER);
    await expect
      .poll(async () => {
        const whole = ask(again, "/long");
        await expect.poll(() => whole.isOver).toBe(true);
        return whole.bytes;
      })
      .toBe(ANSWER_BYTES);
  });
});
