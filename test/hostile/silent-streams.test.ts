/** Answers that say nothing for as long as they like: nothing of them is left when their client has gone. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { afterAll, beforeAll, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";

let tls: ListenerCertificates;
let upstream: Http2Server;
let pipeline: Pipeline;
/** Streams at the upstream. */
let open = 0;
const sessions = new Set<ServerHttp2Session>();

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  upstream = createServer();
  upstream.on("session", (session) => sessions.add(session));
  upstream.on("stream", (stream: ServerHttp2Stream, { "content-type": type }) => {
    open += 1;
    stream.on("error", () => {}).on("close", () => (open -= 1));
    stream.resume();
    stream.respond({ ":status": 200, "content-type": type ?? "text/event-stream" });
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  const policy = [{ allow: { and: [{ accept: true }] } }];
  const routes = [{ from: "https://app.example", to: `http://127.0.0.1:${port}`, http2: true, policy }];
  pipeline = await startPipeline(`routes: ${JSON.stringify(routes)}`, { certificates: tls.certificates });
});
afterAll(async () => {
  await pipeline.close();
  for (const session of sessions) session.destroy();
  upstream.close();
  await tls.close();
});

const POST = [":method", "POST"];
const CALL = ["content-type", "application/grpc", "te", "trailers"];
const STREAMS = 4;
const sockets = new WeakMap<ClientHttp2Session, Socket>();
const left = (): readonly number[] => [open, pipeline.proxy.streams.size, pipeline.proxy.underWay];

const KINDS: readonly (readonly [string, readonly string[], boolean])[] = [
  ["calls of gRPC, whose requests have ended", [...POST, ...CALL], true],
  ["calls of gRPC, whose requests go on", [...POST, ...CALL], false],
  ["calls of gRPC-Web", [...POST, "content-type", "application/grpc-web"], false],
  ["event streams", [":method", "GET", "accept", "text/event-stream"], true],
];
const ENDS: readonly (readonly [string, (session: ClientHttp2Session, all: readonly ClientHttp2Stream[]) => void])[] = [
  ["gives each up", (_, all) => all.forEach((stream) => stream.close(constants.NGHTTP2_CANCEL))],
  // As servers do behind a whole answer; from a client it says that nothing is wrong, and node:http2 ends our side, too.
  ["gives each up without an error", (_, all) => all.forEach((stream) => stream.close(constants.NGHTTP2_NO_ERROR))],
  ["says goodbye", (session) => session.destroy()],
  ["is cut off", (session) => sockets.get(session)?.destroy()],
];

test.each(KINDS.flatMap(([kind, ...rest]) => ENDS.map(([end, act]) => [kind, end, act, ...rest] as const)))(
  "%s leave nothing behind when their client %s",
  async (_kind, _end, act, fields, endStream) => {
    const socket = connectTls({ port: pipeline.port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    const session = connect("https://app.example", { createConnection: () => socket });
    session.on("error", () => {});
    sockets.set(session, socket);
    const streams = Array.from({ length: STREAMS }, () => {
      const head = [":scheme", "https", ":authority", "app.example", ":path", "/", ...fields];
      const stream = session.request(head, { endStream });
      if (!endStream) stream.write("a");
      return stream.on("error", () => {}).resume();
    });
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("response", resolve))));
    expect(left()).toEqual([STREAMS, STREAMS, STREAMS]);
    act(session, streams);
    await expect.poll(left).toEqual([0, 0, 0]);
    session.destroy();
  },
);
