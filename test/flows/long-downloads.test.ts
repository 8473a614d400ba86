/** Long responses to many clients in parallel, some of which do not read for a while: each gets its own bytes. */
import { createCipheriv, createHash } from "node:crypto";
import {
  createServer,
  request as requestHttp,
  type IncomingMessage,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

import { afterAll, beforeAll, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";

/** More than all buffers on the way of a client that reads nothing. */
const SLOW_BYTES = 24 * 1_048_576;
const BYTES = 3 * 1_048_576;

let tls: ListenerCertificates;
let upstream: Server;
const pipelines: Record<"http" | "https", Pipeline> = {} as never;

/** Bytes that identify their response and position. */
function bodyOf(path: string): Buffer {
  const key = createHash("sha256").update(path).digest();
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return cipher.update(Buffer.alloc(path.includes("slow") ? SLOW_BYTES : BYTES));
}

/** Read one at a time: shorter than a socket's buffer, and longer than the copy limit. */
async function writeInPieces(answer: ServerResponse, body: Buffer): Promise<void> {
  for (let at = 0; at < body.length && !answer.destroyed; at += 20_011) {
    if (!answer.write(body.subarray(at, at + 20_011))) await once(answer, "drain");
    await nextTurn();
  }
  answer.end();
}

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  upstream = createServer((incoming, answer) => {
    const body = bodyOf(incoming.url ?? "");
    if (incoming.url?.includes("chunks") === true) void writeInPieces(answer, body);
    else answer.writeHead(200, { "content-length": body.length }).end(body);
  });
  await once(upstream.listen(0, "127.0.0.1"), "listening");
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  for (const scheme of ["http", "https"] as const) {
    const route = { from: `${scheme}://app.example`, to, policy: [{ allow: { and: [{ accept: true }] } }] };
    const certificates = scheme === "https" ? { certificates: tls.certificates } : {};
    pipelines[scheme] = await startPipeline(`routes: ${JSON.stringify([route])}`, certificates);
  }
});
afterAll(async () => {
  for (const pipeline of Object.values(pipelines)) await pipeline.close();
  upstream.close();
  await tls.close();
});

/** The answer's body, nothing of which has been read. */
type Open = (path: string) => Promise<{ readonly body: Readable; readonly close: () => void }>;

async function openHttp1(send: typeof requestHttp, scheme: "http" | "https", path: string): ReturnType<Open> {
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    host: "127.0.0.1",
    port: pipelines[scheme].port,
    path,
    headers: { host: "app.example" },
    agent: false,
    rejectUnauthorized: false,
  };
  const asked = send(options).end();
  const [body] = (await once(asked, "response")) as [IncomingMessage];
  return { body, close: () => asked.destroy() };
}

const OPEN: Readonly<Record<string, Open>> = {
  "HTTP/1.1": (path) => openHttp1(requestHttp, "http", path),
  "HTTP/1.1 over TLS": (path) => openHttp1(requestHttps, "https", path),
  "HTTP/2": async (path) => {
    const session = connectHttp2(`https://127.0.0.1:${pipelines.https.port}`, { rejectUnauthorized: false });
    const body = session.request({ ":path": path, ":authority": "app.example" });
    await once(body, "response");
    return { body, close: () => session.destroy() };
  },
};

test.each(Object.keys(OPEN))("over %s each client gets its own bytes", async (version) => {
  const open = OPEN[version] as Open;
  const read = async (path: string, started = open(path)): Promise<void> => {
    const { body, close } = await started;
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece as Buffer);
    close();
    // Not by toEqual, which would print them.
    expect([path, Buffer.concat(pieces).equals(bodyOf(path))]).toEqual([path, true]);
  };
  const slowPaths = ["/slow/length", "/slow/chunks"];
  const slow = slowPaths.map((path) => open(path));
  await Promise.all(slow);
  // More than the pending limit, over the same connections to the upstream, twice.
  for (let round = 0; round < 2; round += 1) {
    const paths = Array.from(
      { length: 8 },
      (_, index) => `/${round}/${index % 2 === 0 ? "length" : "chunks"}/${index}`,
    );
    await Promise.all(paths.map((path) => read(path)));
  }
  await Promise.all(slowPaths.map((path, index) => read(path, slow[index])));
});
