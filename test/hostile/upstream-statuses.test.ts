/**
 * Statuses and lengths that are no answer, on every way to an upstream: a 502 `upstream.protocol` for that request, over
 * HTTP/1.1 by either server, over HTTP/2 and with TLS, and the process lives.
 */
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect as connectTls } from "node:tls";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createOperatorFetch } from "../../runtime/http/fetch/operator-fetch.ts";
import { createSafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import { openRequests } from "../../runtime/shared/net/bounded-request.ts";
import { openListenerCertificates, type ListenerCertificates } from "../support/certificates.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw } from "../support/raw-client.ts";
import { data, headers, startScriptedHttp2, type ScriptedHttp2 } from "../support/scripted-http2.ts";
import { FLAG } from "../support/raw-h2.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let http2Upstream: ScriptedHttp2;
let listener: ListenerCertificates;
let own: Pipeline;
let tls: Pipeline;
let secureSession: ClientHttp2Session;
let clearSession: ClientHttp2Session;
const escaped: unknown[] = [];
const onEscaped = (error: unknown): void => void escaped.push(error);

/** Responses of an upstream, by the name in the request. */
const ANSWERS: Readonly<Record<string, string>> = {
  "status 000": "HTTP/1.1 000 Zero\r\ncontent-length: 2\r\n\r\nok",
  "status 099": "HTTP/1.1 099 Low\r\ncontent-length: 2\r\n\r\nok",
  "status 101 without a protocol": "HTTP/1.1 101 Switching\r\n\r\n",
  "status 101 to something else": "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n",
  "status 600": "HTTP/1.1 600 Odd\r\ncontent-length: 2\r\n\r\nok",
  "status 600 without a body": "HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n",
  "status 999": "HTTP/1.1 999 Odd\r\ncontent-length: 2\r\n\r\nok",
  "status 999 in chunks": "HTTP/1.1 999 Odd\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
  "status 999 until the end": "HTTP/1.1 999 Odd\r\nconnection: close\r\n\r\nok",
  "a length of 16 digits": "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000000\r\n\r\nok",
  "a length with zeros before it": "HTTP/1.1 200 OK\r\ncontent-length: 00000000000000001\r\n\r\nok",
  "two lengths": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
  "a length beside chunks":
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
  "a coding that is not undone": "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\nconnection: close\r\n\r\nok",
};
const NAMES = Object.keys(ANSWERS);
const pathOf = (name: string): string => `/${name.replaceAll(" ", "-")}`;
const BY_PATH = new Map(NAMES.map((name) => [pathOf(name), ANSWERS[name] as string]));

beforeAll(async () => {
  process.on("uncaughtException", onEscaped);
  victim = await startVictim((request, socket) => {
    socket.write(BY_PATH.get(request.target) ?? "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  });
  http2Upstream = await startScriptedHttp2(() => {});
  listener = await openListenerCertificates("app.example");
  const yaml = `
routes:
  - { from: https://app.example, to: "${victim.origin}", allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }] }
  - { from: https://two.example, to: "${http2Upstream.origin}", http2: true, policy: [{ allow: { and: [{ accept: true }] } }] }`;
  own = await startPipeline(yaml);
  tls = await startPipeline(yaml, { certificates: listener.certificates });
  secureSession = connectHttp2(`https://127.0.0.1:${tls.port}`, { rejectUnauthorized: false });
  clearSession = connectHttp2(`http://127.0.0.1:${own.port}`);
  for (const session of [secureSession, clearSession]) session.on("error", () => {});
});
afterAll(async () => {
  secureSession.destroy();
  clearSession.destroy();
  await Promise.all([own, tls].map((pipeline) => pipeline.close()));
  await victim.close();
  await http2Upstream.close();
  await listener.close();
  process.off("uncaughtException", onEscaped);
  expect(escaped).toEqual([]);
});

interface Told {
  readonly status: number;
  readonly code: string | undefined;
}

const HANDSHAKE =
  "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n";
const request = (path: string, more: string, host = "app.example"): string =>
  `GET ${path} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n${more}\r\n`;
const codeOf = (text: string): string | undefined => /upstream\.[a-z-]+/.exec(text)?.[0];

async function overClear(pipeline: Pipeline, path: string, more: string): Promise<Told> {
  const { status, body } = await sendRaw(pipeline.port, request(path, more));
  return { status, code: codeOf(body) };
}

function overTls(path: string, more: string): Promise<Told> {
  return new Promise((resolve) => {
    const socket = connectTls({
      port: tls.port,
      host: "127.0.0.1",
      servername: "app.example",
      rejectUnauthorized: false,
    });
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("close", () => resolve({ status: Number(text.slice(9, 12)), code: codeOf(text) }));
    socket.write(request(path, more === "" ? "connection: close\r\n" : more));
  });
}

/** Status 0: the stream ended without an answer. Rejects when nothing comes at all. */
function overHttp2(session: ClientHttp2Session, path: string, isUpgrade: boolean, host = "app.example"): Promise<Told> {
  const scheme = session === secureSession ? "https" : "http";
  const stream = session.request(
    isUpgrade
      ? {
          ":method": "CONNECT",
          ":protocol": "websocket",
          ":scheme": scheme,
          ":path": path,
          ":authority": host,
          "sec-websocket-version": "13",
          accept: "application/json",
        }
      : { ":path": path, ":scheme": scheme, ":authority": host, accept: "application/json" },
    { endStream: !isUpgrade },
  );
  return new Promise((resolve, reject) => {
    let status = 0;
    let text = "";
    const timer = setTimeout(() => reject(new Error("neither an answer nor a reset")), 10_000);
    stream.on("error", () => {});
    stream.on("response", (head) => (status = head[":status"] ?? 0));
    stream.on("data", (chunk: Buffer) => (text += String(chunk)));
    stream.on("close", () => {
      clearTimeout(timer);
      resolve({ status, code: codeOf(text) });
    });
  });
}

const REFUSED: Told = { status: 502, code: "upstream.protocol" };

describe.each(NAMES)("an upstream that answers with %s", (name) => {
  const path = pathOf(name);
  test.each([
    ["a request", "", false],
    ["a handshake of WebSocket", HANDSHAKE, true],
  ])("%s gets a 502", async (_what, more, isUpgrade) => {
    const told = await Promise.all([
      overClear(own, path, more),
      overTls(path, more),
      overHttp2(secureSession, path, isUpgrade),
      overHttp2(clearSession, path, isUpgrade),
    ]);
    expect(told).toEqual([REFUSED, REFUSED, REFUSED, REFUSED]);
    expect(escaped).toEqual([]);
  });
});

describe("an upstream that speaks HTTP/2", () => {
  test.each(["600", "999", "099", "000", "101"])("and answers with status %s", async (status) => {
    http2Upstream.answer((stream) =>
      stream.send(headers(stream, [[":status", status]]), data(stream, "ok", FLAG.endStream)),
    );
    const clear = await sendRaw(own.port, request("/", "", "two.example"));
    expect({ status: clear.status, code: codeOf(clear.body) }).toEqual(REFUSED);
    expect(await overHttp2(secureSession, "/", false, "two.example")).toEqual(REFUSED);
  });

  test("and ends its answer with such a head", async () => {
    http2Upstream.answer((stream) => stream.send(headers(stream, [[":status", "777"]], FLAG.endStream)));
    expect(await overHttp2(secureSession, "/", false, "two.example")).toEqual(REFUSED);
  });
});

describe("own requests", () => {
  const answers = NAMES.filter((name) => /^status (?:000|099|600|999)/.test(name));
  test.each(answers)("%s is no answer", async (name) => {
    const url = `${victim.origin}${pathOf(name)}`;
    const safe = createSafeFetch({ development: true });
    expect(await safe({ url, target: { kind: "configured" }, maxBytes: 100 })).toMatchObject({ ok: false });
    const kept = openRequests({ timeoutMs: 5_000, kept: 1 });
    const signal = AbortSignal.timeout(5_000);
    const asked = { url: new URL(url), method: "GET", headers: {}, maxBytes: 100, signal };
    expect(await kept(asked)).toMatchObject({ ok: false });
    await kept.close();
    // For responses that fetch itself rejects, it may only time out.
    const operator = createOperatorFetch({ timeoutMs: 500 })(url);
    await expect(operator).rejects.toMatchObject({ code: expect.stringMatching(/^fetch\.(?:unreachable|timeout)$/) });
    expect(escaped).toEqual([]);
  });
});
