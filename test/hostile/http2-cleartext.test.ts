/**
 * HTTP/2 in plain text as a bypass: the preface anywhere but at the start, half of it, next to an upgrade. Its bounds are
 * those of HTTP/2 over TLS.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";
import { openRaw, sendRaw } from "../support/raw-client.ts";
import { block, ERROR, FLAG, FRAME, frame, openHttp2, PREFACE } from "../support/raw-h2.ts";
import { uint } from "../support/scripted-http2.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let tls: ListenerCertificates;
let victim: Victim;
let clear: Pipeline;
let secure: Pipeline;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  victim = await startVictim((request, socket) => {
    if (request.target === "/endless") socket.write("HTTP/1.1 200 OK\r\n\r\n");
    else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    for (let count = 0; request.target === "/endless" && count < 64; count += 1) socket.write(Buffer.alloc(65_536));
  });
  const routes = (scheme: string): string =>
    `routes: [{ from: ${scheme}://app.example, to: "${victim.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }]`;
  clear = await startPipeline(routes("http"), { sendTimeoutMs: 200 });
  secure = await startPipeline(routes("https"), { certificates: tls.certificates });
});
afterAll(async () => {
  await clear.close();
  await secure.close();
  await victim.close();
  await tls.close();
});

const LINES = PREFACE.toString("latin1");
const GET = "GET /first HTTP/1.1\r\nHost: app.example\r\n\r\n";
const head = (stream: number, path = "/hidden", flags: number = FLAG.endStream): Buffer =>
  frame(
    FRAME.headers,
    FLAG.endHeaders | flags,
    stream,
    block([
      [":method", "GET"],
      [":scheme", "http"],
      [":path", path],
      [":authority", "app.example"],
    ]),
  );
/** A connection of HTTP/2 from its first byte, as text. */
const HTTP2 = Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), head(1)]).toString("latin1");
const heard = (from: number): string[] => victim.requests.slice(from).map(({ target }) => target);

describe("the preface", () => {
  test.each<[string, string, readonly string[]]>([
    ["behind a request", GET + HTTP2, ["/first"]],
    [
      "behind a body",
      `${GET.replace("GET", "POST").replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nab")}${HTTP2}`,
      ["/first"],
    ],
    ["behind an empty line", `\r\n${HTTP2}`, []],
    ["behind a blank", ` ${HTTP2}`, []],
    ["with another version", HTTP2.replace("HTTP/2.0", "HTTP/1.1"), []],
    ["with another target", HTTP2.replace("PRI *", "PRI /"), []],
    ["in lower case", HTTP2.replace("PRI", "pri"), []],
    ["with a field", HTTP2.replace("\r\n\r\nSM", "\r\nHost: app.example\r\n\r\nSM"), []],
    ["with another second half", HTTP2.replace("SM", "MS"), []],
    ["with bare line feeds", HTTP2.replaceAll("\r\n", "\n"), []],
    ["that is a request of HTTP/1.1", `PRI /hidden HTTP/1.1\r\nHost: app.example\r\n\r\n`, []],
  ])("%s starts no connection", async (_what, bytes, expected) => {
    const before = victim.requests.length;
    const { text } = await sendRaw(clear.port, bytes);
    expect(heard(before)).toEqual(expected);
    // No frame of ours: SETTINGS would be the first.
    expect(text).toMatch(/^HTTP\/1\.1 /);
    expect(text.match(/HTTP\/1\.1 200/g)?.length ?? 0).toBe(expected.length);
  });

  test("behind an answer ends the connection", async () => {
    const before = victim.requests.length;
    const client = openRaw(clear.port, GET);
    await client.contains("\r\n\r\nok");
    client.socket.write(Buffer.from(HTTP2, "latin1"));
    await client.closed;
    expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
    expect(heard(before)).toEqual(["/first"]);
  });

  test.each(["Upgrade, HTTP2-Settings", "Upgrade"])(
    "is not offered by an upgrade (Connection: %s)",
    async (connection) => {
      const before = victim.requests.length;
      const client = openRaw(
        clear.port,
        `GET /first HTTP/1.1\r\nHost: app.example\r\nConnection: ${connection}\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
      );
      await client.contains("\r\n\r\nok");
      // After such a request node does not report later input: it waits for the end.
      client.socket.end(Buffer.from(HTTP2, "latin1"));
      await client.closed;
      expect(client.text.match(/HTTP\/1\.1 \d+/g)?.[0]).toBe("HTTP/1.1 200");
      // No frame of ours.
      expect(client.text).not.toContain("\0");
      expect(heard(before)).toEqual(["/first"]);
      expect(victim.requests.at(-1)?.headers.has("upgrade")).toBe(false);
    },
  );

  test("that SETTINGS do not follow ends the connection", async () => {
    const before = victim.requests.length;
    const client = await openHttp2(clear.port, { clear: true, preface: Buffer.concat([PREFACE, head(1)]) });
    await client.closed;
    expect(heard(before)).toEqual([]);
  });

  test("of a second connection of HTTP/2 within the first is a frame like any other", async () => {
    const client = await openHttp2(clear.port, { clear: true });
    client.send(Buffer.from(LINES, "latin1"));
    await client.closed;
    expect(client.frames.find(({ type }) => type === FRAME.goaway)?.payload.readUInt32BE(4)).not.toBe(ERROR.none);
  });
});

describe("a connection in the clear", () => {
  test("has the settings of one over TLS", async () => {
    const both = await Promise.all([openHttp2(clear.port, { clear: true }), openHttp2(secure.port)]);
    const settings = await Promise.all(
      both.map((client) => client.find(({ type, flags }) => type === FRAME.settings && flags === 0)),
    );
    for (const client of both) client.close();
    expect(settings[0]?.payload.length).toBeGreaterThan(0);
    expect(settings[0]?.payload).toEqual(settings[1]?.payload);
  });

  test("ends when streams are opened and reset without end (CVE-2023-44487)", async () => {
    const client = await openHttp2(clear.port, { clear: true });
    for (let index = 0; index < 1_500; index += 1)
      client.send(head(2 * index + 1), frame(FRAME.reset, 0, 2 * index + 1, uint(ERROR.cancel)));
    await client.closed;
  });

  test.each<[string, readonly Buffer[]]>([
    ["with nothing under way", []],
    ["with a request that is not whole", [head(1, "/first", 0)]],
    ["in the middle of a frame", [head(1).subarray(0, 12)]],
  ])("ends with its client's end, %s", async (_when, frames) => {
    const client = await openHttp2(clear.port, { clear: true });
    client.send(...frames);
    // Both sides have nothing more to send: no write would show that the peer is gone.
    client.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    if (frames.every((each) => each.length > 12))
      await client.find(({ type, flags }) => type === FRAME.ping && (flags & FLAG.ack) !== 0);
    client.socket.end();
    await client.closed;
    await expect.poll(() => clear.server.connections()).toBe(0);
  });

  test("ends if its client reads nothing", async () => {
    const client = await openHttp2(clear.port, { clear: true });
    client.send(head(1, "/endless"));
    await client.closed;
    const ended = client.frames.some(({ flags, type }) => type === FRAME.data && (flags & FLAG.endStream) !== 0);
    expect(ended).toBe(false);
  });
});
