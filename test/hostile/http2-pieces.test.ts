/**
 * Bodies in frames of one byte that are not read at the moment: node:http2 stores each frame, and each write, separately, at
 * 100 bytes and more, and hundreds of streams on one connection would fill the heap.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { ask } from "../support/ask-upstream.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";
import { block, FLAG, FRAME, frame, openHttp2, PREFACE } from "../support/raw-h2.ts";
import {
  data,
  headers,
  type ScriptedHttp2,
  type ScriptedStream,
  startScriptedHttp2,
  uint,
} from "../support/scripted-http2.ts";
import { createTransport } from "../../runtime/upstreams/transport.ts";
import { mayStall } from "../support/stall-limit.ts";

// Cuts each text in every possible way in one turn.
mayStall(1500);

const STREAMS = 3;
/** Windows of both sides of the gateway. */
const WINDOW = 262_144;
/** Storing each byte separately would need 30 MiB. */
const MOST_PER_STREAM = 8 * 1_048_576;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
function used(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const windowOf = (bytes: number): Buffer => Buffer.concat([Buffer.from([0, 4]), uint(bytes)]);
const OK = [":status", "200"] as const;
const request = (stream: number, method: string, flags = 0, path = "/"): Buffer =>
  frame(
    FRAME.headers,
    FLAG.endHeaders | flags,
    stream,
    block([
      [":method", method],
      [":scheme", "https"],
      [":path", path],
      [":authority", "app.example"],
    ]),
  );
const bytesApart = (stream: number, count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => frame(FRAME.data, 0, stream, Buffer.from("x"))));

let tls: ListenerCertificates;
let upstream: ScriptedHttp2;
let pipeline: Pipeline;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  upstream = await startScriptedHttp2(() => {}, { settings: windowOf(0) });
  // However long this takes, no time limit ends a request.
  const route = { from: "https://app.example", to: upstream.origin, http2: true, timeout: "0s" };
  pipeline = await startPipeline(
    `routes: ${JSON.stringify([{ ...route, policy: [{ allow: { and: [{ accept: true }] } }] }])}`,
    { certificates: tls.certificates },
  );
});
afterAll(async () => {
  await pipeline.close();
  await upstream.close();
  await tls.close();
});

test("requests whose upstream reads nothing", async () => {
  upstream.answer(() => {});
  const client = await openHttp2(pipeline.port);
  // The windows of our SETTINGS hold once they are acknowledged.
  await client.find(({ type, flags }) => type === FRAME.settings && flags === 0);
  client.send(frame(FRAME.settings, FLAG.ack, 0));
  const ids = Array.from({ length: STREAMS }, (_, index) => 2 * index + 1);
  client.send(...ids.map((id) => request(id, "POST")));
  const before = used();
  for (let sent = 0; sent < WINDOW; sent += 8_192) {
    client.send(
      ...ids.map((id) => bytesApart(id, 8_192)),
      frame(FRAME.ping, 0, 0, Buffer.from(String(sent).padStart(8))),
    );
    // The window of the connection opens by then.
    await client.find(({ type, payload }) => type === FRAME.ping && Number(payload) === sent);
  }
  await expect.poll(() => (used() - before) / STREAMS).toBeLessThan(MOST_PER_STREAM);
  expect(client.frames.some(({ type }) => type === FRAME.reset || type === FRAME.goaway)).toBe(false);
  client.close();
});

test("responses whose client reads nothing", async () => {
  const begun: ScriptedStream[] = [];
  upstream.answer((stream) => {
    begun.push(stream);
    stream.send(headers(stream, [OK]));
  });
  const client = await openHttp2(pipeline.port, {
    preface: Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, windowOf(0))]),
  });
  const ids = Array.from({ length: STREAMS }, (_, index) => 2 * index + 1);
  client.send(...ids.map((id) => request(id, "GET", FLAG.endStream)));
  await expect.poll(() => begun.length).toBe(STREAMS);
  const before = used();
  for (let sent = 0; sent < WINDOW; sent += 4_096)
    begun[0]?.send(...begun.map(({ id }) => bytesApart(id, sent + 4_096 === WINDOW ? 4_000 : 4_096)));
  // Its answer comes behind all that on the one connection.
  upstream.answer((stream) => stream.send(headers(stream, [OK], FLAG.endStream)));
  const other = await openHttp2(pipeline.port);
  other.send(request(1, "GET", FLAG.endStream, "/other"));
  expect(await other.outcome(1)).toEqual({ status: 200, ended: true });
  // Memory while the client still reads nothing: the last pieces may be on their way between two turns.
  await expect.poll(() => (used() - before) / STREAMS).toBeLessThan(MOST_PER_STREAM);
  expect(client.frames.some(({ type }) => type === FRAME.reset || type === FRAME.goaway)).toBe(false);
  client.close();
  other.close();
});

test("a response that is read later is complete, byte for byte", async () => {
  const text = Array.from({ length: 30_000 }, (_, index) => String(index % 10)).join("");
  upstream.answer((stream) => {
    const pieces = Array.from(text, (digit) => data(stream, digit));
    stream.send(headers(stream, [OK]), data(stream, "begin "), ...pieces, data(stream, " end", FLAG.endStream));
  });
  const transport = createTransport();
  const to = upstream.upstream();
  const asked = ask(transport, to, { onHead: (call) => call.pause() });
  await asked.head;
  // It comes behind the first on the same connection.
  await ask(transport, to, { onHead: (call) => call.abort() }).head;
  asked.call.resume();
  const { body, failure } = await asked.over;
  expect([failure, body.toString()]).toEqual([undefined, `begin ${text} end`]);
  await transport.close();
});
