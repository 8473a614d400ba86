/**
 * Pipelined requests on one HTTP/1.1 connection: requests after a response with `close` are not executed, and the
 * response itself arrives (RFC 9112 §9.3.2, §9.6).
 */
import { connect, type Socket } from "node:net";

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { openRaw } from "../support/raw-client.ts";
import { answerOk, startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let heardBefore = 0;
let recordedBefore = 0;
/** Connections whose "/held" request the victim has not answered. */
const held: Socket[] = [];
const open: Socket[] = [];

const yaml = (): string => `
  runtime_flags: { mcp: true }
  routes:
    - { from: https://app.example, to: "${victim.origin}", allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }] }
    - { from: https://mcp.example, to: "${victim.origin}", mcp: { server: { max_request_bytes: 1024 } }, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }] }
`;

beforeAll(async () => {
  victim = await startVictim((request, socket) => {
    if (request.target === "/held") held.push(socket);
    else answerOk(request, socket);
  });
  pipeline = await startPipeline(yaml());
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});
beforeEach(() => {
  heardBefore = victim.requests.length;
  recordedBefore = pipeline.records.length;
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

const targets = (): readonly string[] => victim.requests.slice(heardBefore).map(({ target }) => target);
const statuses = (text: string): readonly string[] => text.match(/HTTP\/1\.1 \d+/g)?.map((each) => each.slice(9)) ?? [];
const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\nHost: app.example\r\n${headers}\r\n`;
const release = (): void => {
  for (const socket of held.splice(0)) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
};

/** Sends, and continues until the gateway's end is closed. Rejects if the connection is reset instead. */
function sendOn(bytes: string, more = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: pipeline.port, host: "127.0.0.1", allowHalfOpen: true });
    open.push(socket);
    let text = "";
    const again = (): void => {
      if (more !== "" && socket.writable) socket.write(more, () => setImmediate(again));
    };
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("error", (error) => reject(new Error(`after ${JSON.stringify(text)}`, { cause: error })));
    socket.on("end", () => {
      socket.destroy();
      resolve(text);
    });
    socket.write(bytes, "latin1");
    again();
  });
}

const HIDDEN = get("/hidden");
const MCP_HEADERS = "Host: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nContent-Type: application/json\r\n";

/** All get `close`. */
const REFUSED: readonly [string, string, number][] = [
  ["a bad Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400],
  ["no Host", "GET / HTTP/1.1\r\n\r\n", 400],
  ["a dot segment", get("/a/%2e%2e/b"), 400],
  ["two Authorizations", get("/", "Authorization: a\r\nAuthorization: b\r\n"), 400],
  ["an expectation that cannot be met", get("/", "Expect: tea\r\n"), 417],
  ["TRACE", "TRACE / HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
  ["a target too long", get(`/${"a".repeat(9_000)}`), 414],
  ["a handshake of an old version", get("/", HANDSHAKE("8")), 426],
  ["CONNECT", "CONNECT app.example:1 HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
  ["no HTTP", "what is this\r\n\r\n", 400],
  [
    "a body that waits for 100 (Continue) at a foreign host",
    "POST / HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    404,
  ],
];

function HANDSHAKE(version: string): string {
  const key = "dGhlIHNhbXBsZSBub25jZQ==";
  return `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: ${version}\r\n`;
}

test.each(REFUSED)("a request pipelined after %s is not executed", async (_case, bytes, status) => {
  const text = await sendOn(`${bytes}${HIDDEN}${HIDDEN}`);
  expect(statuses(text)).toEqual([String(status)]);
  expect(text.toLowerCase()).toContain("\r\nconnection: close\r\n");
  expect(text.toLowerCase().split("\r\nx-content-type-options: nosniff\r\n").length).toBe(2);
  expect(targets()).toEqual([]);
  expect(pipeline.records.length).toBe(recordedBefore);
});

test.each(REFUSED)("%s is answered although the client keeps sending", async (_case, bytes, status) => {
  const text = await sendOn(bytes, HIDDEN);
  expect(statuses(text)).toEqual([String(status)]);
  expect(text).toMatch(/\r\n\r\n.*[}>]$/s);
  expect(targets()).toEqual([]);
});

test.each([
  ["Connection: close", get("/one", "Connection: close\r\n")],
  ["HTTP/1.0", "GET /one HTTP/1.0\r\nHost: app.example\r\n\r\n"],
])("a request pipelined after one with %s is not executed, and does not disturb its response", async (_case, bytes) => {
  const text = await sendOn(`${bytes}${HIDDEN}`, HIDDEN);
  expect(statuses(text)).toEqual(["200"]);
  expect(targets()).toEqual(["/one"]);
});

test("garbage after a good request does not disturb its response", async () => {
  const text = await sendOn(`${get("/one")}${get("/two")}what is this\r\n\r\n`, HIDDEN);
  expect(statuses(text)).toEqual(["200", "200"]);
  expect(targets()).toEqual(["/one", "/two"]);
});

test("a good request behind one that is not answered yet waits for its answer", async () => {
  const client = openRaw(pipeline.port, `${get("/held")}${get("/next")}${get("/a/../b")}${HIDDEN}`);
  open.push(client.socket);
  await expect.poll(() => held.length).toBe(1);
  expect(targets()).toEqual(["/held"]);
  expect(pipeline.records.length).toBe(recordedBefore + 1);
  release();
  await client.closed;
  expect(statuses(client.text)).toEqual(["200", "200", "400"]);
  expect(targets()).toEqual(["/held", "/next"]);
});

test("a handshake behind a request that is not answered yet is an ordinary request", async () => {
  const client = openRaw(pipeline.port, `${get("/held")}${get("/chat", HANDSHAKE("13"))}`);
  open.push(client.socket);
  await expect.poll(() => held.length).toBe(1);
  release();
  await expect.poll(() => statuses(client.text)).toEqual(["200", "200"]);
  expect(victim.requests.at(-1)?.headers.has("upgrade")).toBe(false);
});

test("of a flood after a held request only answered requests are executed", async () => {
  const client = openRaw(pipeline.port, `${get("/held")}${HIDDEN.repeat(500)}`);
  open.push(client.socket);
  await expect.poll(() => held.length).toBe(1);
  release();
  await client.closed;
  const answered = statuses(client.text).length;
  expect(answered).toBeLessThan(64);
  expect(targets().length).toBe(answered);
  expect(client.text.toLowerCase().split("\r\nconnection: close\r\n").length).toBe(2);
});

test("a body too large for its route is rejected, its response arrives, and no later request is executed", async () => {
  const chunk = "a".repeat(65_536);
  const text = await sendOn(`POST / HTTP/1.1\r\n${MCP_HEADERS}Content-Length: 50000000\r\n\r\n`, chunk);
  expect(statuses(text)).toEqual(["413"]);
  expect(text.toLowerCase()).toContain("\r\nconnection: close\r\n");
  expect(targets()).toEqual([]);
});

test("an expectation with an early body: a request pipelined after it is not executed", async () => {
  const text = await sendOn(
    `POST / HTTP/1.1\r\nHost: app.example\r\nConnection: keep-alive\r\nExpect: tea\r\nContent-Length: 2\r\n\r\nab${HIDDEN}`,
  );
  expect(statuses(text)).toEqual(["417"]);
  expect(targets()).toEqual([]);
});

test("at a stop, requests after the last response are not executed", async () => {
  const stopping = await startPipeline(yaml());
  const client = openRaw(stopping.port, `${get("/held")}${HIDDEN}${HIDDEN}`);
  open.push(client.socket);
  await expect.poll(() => held.length).toBe(1);
  const closed = stopping.close({ timeoutMs: 5_000 });
  release();
  await client.closed;
  await closed;
  expect(statuses(client.text)).toEqual(["200"]);
  expect(client.text.toLowerCase()).toContain("\r\nconnection: close\r\n");
  expect(targets()).toEqual(["/held"]);
});

/** Behind a request that the victim has and does not answer. */
const LEFT_BEHIND: readonly [string, string][] = [
  ["nothing", ""],
  ["a request", HIDDEN],
  ["half a head", HIDDEN.slice(0, 20)],
  ["garbage", "what is this\r\n\r\n"],
  ["half a small body", post(100, 10)],
  ["a body that waits for 100 (Continue)", post(100, 0, "Expect: 100-continue\r\n")],
  ["more body than is kept", post(1_000_000, 300_000)],
  ["more small bodies than are kept", post(40_000, 40_000).repeat(8)],
  ["more requests than wait", HIDDEN.repeat(40)],
  ["CONNECT", "CONNECT app.example:1 HTTP/1.1\r\nHost: app.example\r\n\r\n"],
];

function post(declared: number, sent: number, headers = ""): string {
  return `POST /hidden HTTP/1.1\r\nHost: app.example\r\nContent-Length: ${declared}\r\n${headers}\r\n${"a".repeat(sent)}`;
}

test.each(LEFT_BEHIND)("a client that leaves %s behind a held request takes that one with it", async (_case, bytes) => {
  const client = openRaw(pipeline.port, get("/held"));
  open.push(client.socket);
  await victim.next();
  const upstream = held.at(-1);
  const gone = new Promise<void>((resolve) => upstream?.once("close", resolve));
  await new Promise<void>((resolve) => client.socket.write(bytes, "latin1", () => resolve()));
  client.socket.end();
  await gone;
  await client.closed;
  expect(targets()).toEqual(["/held"]);
});

test("a body too large to wait is not done, the answer before it arrives, and the connection ends", async () => {
  const answer = sendOn(`${get("/held")}${post(3_000_000, 3_000_000)}${HIDDEN}`);
  await victim.next();
  release();
  const text = await answer;
  expect(statuses(text)).toEqual(["200"]);
  expect(targets()).toEqual(["/held"]);
});
