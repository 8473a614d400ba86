/** Requests that got no answer are counted, by who ended them. */
import { connect } from "node:http2";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Exchange } from "../../../../runtime/http/exchange.ts";
import { createHttpServer, type HttpServer } from "../../../../runtime/http/listener/server.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { openRaw } from "../../../support/raw-client.ts";

const GET = "GET / HTTP/1.1\r\nhost: a.example\r\n\r\n";

let server: HttpServer;
let exchanges: Exchange[];
let unanswered: string[];

beforeEach(async () => {
  exchanges = [];
  unanswered = [];
  server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle: (exchange) => void exchanges.push(exchange),
    onUnanswered: (by, requests) => void unanswered.push(`${by} ${requests}`),
  });
});
afterEach(() => server.close({ timeoutMs: 0 }));

const arrived = (count: number) => expect.poll(() => exchanges.length).toBe(count);
const told = (...expected: string[]) => expect.poll(() => unanswered).toEqual(expected);
/** Every connection is closed, and all reports were made. */
const over = () => expect.poll(() => server.connections()).toBe(0);

describe("HTTP/1.1", () => {
  test.each(["end", "resetAndDestroy"] as const)("a client that goes away, by %s", async (how) => {
    const { socket } = openRaw(server.port, GET + GET);
    await arrived(1);
    socket[how]();
    await told("client 2");
  });

  test("connections that the gateway aborts", async () => {
    openRaw(server.port, GET);
    await arrived(1);
    exchanges[0]?.abort();
    await told("gateway 1");
  });

  test("not an answer that began, one that is whole, or a connection without a request", async () => {
    const [begun, whole, quiet] = [openRaw(server.port, GET), openRaw(server.port, GET), openRaw(server.port)];
    await arrived(2);
    exchanges[0]?.start(200, ["content-length", "9"]);
    exchanges[0]?.write("ab");
    exchanges[1]?.respond(200, ["content-length", "2"], "ok");
    await Promise.all([begun.contains("\r\nab"), whole.contains("\r\nok")].map((each) => each.catch(() => {})));
    for (const { socket } of [begun, whole, quiet]) socket.destroy();
    await over();
    expect(unanswered).toEqual([]);
  });

  test("not input after a response that says close", async () => {
    const last = openRaw(server.port, GET.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n") + GET);
    await arrived(1);
    exchanges[0]?.respond(200, ["content-length", "2"], "ok");
    await last.closed;
    await over();
    expect(unanswered).toEqual([]);
  });

  test("requests whose body cannot be read", async () => {
    openRaw(server.port, GET.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\nno chunk"));
    await arrived(1);
    await told("client 1");
  });

  const HANDSHAKE = GET.replace(
    "\r\n\r\n",
    "\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );

  test("a handshake that its client gives up", async () => {
    const { socket } = openRaw(server.port, HANDSHAKE);
    await arrived(1);
    socket.end();
    await told("client 1");
  });

  test("not a WebSocket", async () => {
    const opened = openRaw(server.port, HANDSHAKE);
    await arrived(1);
    const socket = exchanges[0]?.upgrade?.accept([]);
    await opened.contains("101");
    opened.socket.destroy();
    socket?.destroy();
    await over();
    expect(unanswered).toEqual([]);
  });
});

describe("HTTP/2", () => {
  test("a client that leaves its request, a stream that the gateway aborts, and a request without response", async () => {
    const session = connect(server.origin);
    session.on("error", () => {});
    const ask = () => session.request({ ":path": "/", ":authority": "a.example" }).on("error", () => {});
    const [left, , answered] = [ask(), ask(), ask()];
    await arrived(3);
    left.close(8);
    await told("client 1");
    exchanges[1]?.abort();
    await told("client 1", "gateway 1");
    answered.resume();
    exchanges[2]?.respond(204, []);
    await new Promise((resolve) => answered.once("close", resolve));
    session.close();
    await over();
    expect(unanswered).toEqual(["client 1", "gateway 1"]);
  });
});
