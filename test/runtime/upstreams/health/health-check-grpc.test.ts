/** Health checks by gRPC's protocol, against a real gRPC server and against servers that get it wrong. */
import {
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";

import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status as codes,
} from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { afterEach, describe, expect, test } from "vitest";

import type { GrpcProbe } from "../../../../runtime/features/balancing/compiled.ts";
import { checkGrpc } from "../../../../runtime/upstreams/health/health-check-grpc.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";
import { type CheckedServer, listen, upstreamAt, verdictOf, type UpstreamTls } from "../../../support/check-verdict.ts";
import { freePort } from "../../../support/ports.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const probe = (serviceName = "", authority?: string): GrpcProbe => ({ kind: "grpc", serviceName, authority });
const ask = (origin: string, settings = probe(), tls?: UpstreamTls): Promise<string> =>
  verdictOf((over) => checkGrpc(upstreamAt(origin, tls), settings, over));

/** The messages as their published definition has them, read by another encoder than the one that is tested. */
const { root } = protobuf.parse(`syntax = "proto3"; package grpc.health.v1;
  message HealthCheckRequest { string service = 1; }
  message HealthCheckResponse {
    enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
    ServingStatus status = 1;
  }`);
const requestType = root.lookupType("grpc.health.v1.HealthCheckRequest");
const responseType = root.lookupType("grpc.health.v1.HealthCheckResponse");

interface Asked {
  readonly service: string;
  readonly authority: string;
}

interface HealthServer {
  readonly port: number;
  readonly asked: Asked[];
  readonly serving: Map<string, number>;
}

/** A server of the library that most Node services use, with the service as it is defined. */
async function startHealthServer(
  credentials = ServerCredentials.createInsecure(),
  host = "127.0.0.1",
): Promise<HealthServer> {
  const asked: Asked[] = [];
  const serving = new Map([["", 1]]);
  const check: handleUnaryCall<{ service: string }, { status: number }> = (
    call: ServerUnaryCall<{ service: string }, { status: number }>,
    answer: sendUnaryData<{ status: number }>,
  ) => {
    asked.push({ service: call.request.service, authority: call.getHost() });
    const status = serving.get(call.request.service);
    if (status === undefined) answer({ code: codes.NOT_FOUND, details: "no such service" });
    else answer(null, { status });
  };
  const server = new Server();
  server.addService(
    {
      Check: {
        path: "/grpc.health.v1.Health/Check",
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: object) => Buffer.from(requestType.encode(requestType.create(value)).finish()),
        requestDeserialize: (bytes: Buffer) => requestType.decode(bytes),
        responseSerialize: (value: object) => Buffer.from(responseType.encode(responseType.create(value)).finish()),
        responseDeserialize: (bytes: Buffer) => responseType.decode(bytes),
      },
    },
    { Check: check },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:0`, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  open.push({ close: () => server.forceShutdown() });
  return { port, asked, serving };
}

describe("checkGrpc() and a gRPC server", () => {
  test("SERVING is healthy; the server as a whole is asked about, at its own name", async () => {
    const { port, asked } = await startHealthServer();
    expect(await ask(`http://127.0.0.1:${port}`)).toBe("");
    expect(asked).toEqual([{ service: "", authority: `127.0.0.1:${port}` }]);
  });

  test("service_name and authority", async () => {
    const { port, asked, serving } = await startHealthServer();
    serving.set("shop.Cart/ä", 1);
    expect(await ask(`http://127.0.0.1:${port}`, probe("shop.Cart/ä", "grpc.internal:9000"))).toBe("");
    expect(asked).toEqual([{ service: "shop.Cart/ä", authority: "grpc.internal:9000" }]);
  });

  test.each([
    [0, "the answer is UNKNOWN"],
    [1, ""],
    [2, "the answer is NOT_SERVING"],
    [3, "the answer is SERVICE_UNKNOWN"],
    [17, "the answer is serving status 17"],
  ])("serving status %i: %j", async (status, verdict) => {
    const { port, serving } = await startHealthServer();
    serving.set("app", status);
    expect(await ask(`http://127.0.0.1:${port}`, probe("app"))).toBe(verdict);
  });

  test("a service that it does not know, and a server without the health service", async () => {
    const { port } = await startHealthServer();
    expect(await ask(`http://127.0.0.1:${port}`, probe("other"))).toBe("the answer has gRPC status NOT_FOUND");
    const server = new Server();
    const bare = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    open.push({ close: () => server.forceShutdown() });
    expect(await ask(`http://127.0.0.1:${bare}`)).toBe("the answer has gRPC status UNIMPLEMENTED");
  });

  test("TLS: the authority is asked for, the name is checked, a certificate is shown", async () => {
    const authority = makeTestCertificate({ name: "authority", isAuthority: true });
    const { cert, key } = makeTestCertificate({ name: "localhost", dns: ["localhost"], by: authority });
    const client = makeTestCertificate({ name: "gateway", by: authority });
    const pem = (text: string): Buffer => Buffer.from(text);
    const pair = { cert_chain: pem(cert), private_key: pem(key) };
    const { port } = await startHealthServer(ServerCredentials.createSsl(null, [pair]), "localhost");
    const origin = `https://localhost:${port}`;
    expect(await ask(origin, probe(), { ca: authority.cert })).toBe("");
    expect(await ask(origin, probe(), {})).toMatch(/unable to (verify|get)|self.signed/);
    expect(await ask(origin, probe(), { rejectUnauthorized: false })).toBe("");
    expect(await ask(origin, probe(), { ca: authority.cert, servername: "other.example" })).toMatch(/altnames/);
    const strict = await startHealthServer(ServerCredentials.createSsl(pem(authority.cert), [pair], true), "localhost");
    const known = { ca: authority.cert, cert: client.cert, key: client.key };
    expect(await ask(`https://localhost:${strict.port}`, probe(), known)).toBe("");
    expect(await ask(`https://localhost:${strict.port}`, probe(), { ca: authority.cert })).not.toBe("");
  });

  test("TLS to an address without a name", async () => {
    const { cert, key } = makeTestCertificate({ name: "upstream", dns: ["localhost"] });
    const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
    const { port } = await startHealthServer(ServerCredentials.createSsl(null, [pair]));
    expect(await ask(`https://127.0.0.1:${port}`, probe(), { rejectUnauthorized: false })).toBe("");
  });
});

describe("checkGrpc() and servers that get it wrong", () => {
  const OK = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
  const HEAD: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc+proto" };

  async function serveHttp2(
    answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  ): Promise<CheckedServer> {
    const plain = createHttp2Server();
    plain.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => {});
      answer(stream, headers);
    });
    plain.on("sessionError", () => {});
    const server = await listen(plain);
    open.push(server);
    return server;
  }

  /** An answer in the form that a correct server gives, with parts of it exchanged. */
  const answering =
    (head: OutgoingHttpHeaders, chunks: readonly Buffer[], trailers: OutgoingHttpHeaders | undefined) =>
    (stream: ServerHttp2Stream): void => {
      stream.respond(head, { waitForTrailers: trailers !== undefined });
      if (trailers) stream.once("wantTrailers", () => stream.sendTrailers(trailers));
      for (const chunk of chunks) stream.write(chunk);
      stream.end();
    };
  const bytes = (...values: readonly number[]): readonly Buffer[] => [Buffer.from(values)];
  const good = { "grpc-status": "0" };

  test.each<readonly [string, OutgoingHttpHeaders, readonly Buffer[], OutgoingHttpHeaders | undefined, string]>([
    ["as it should be", HEAD, [OK], good, ""],
    ["byte by byte", HEAD, [...OK].map((byte) => Buffer.from([byte])), good, ""],
    ["with a field that is not known", HEAD, bytes(0, 0, 0, 0, 6, 18, 2, 1, 2, 8, 1), good, ""],
    ["another status", { ...HEAD, ":status": 404 }, [OK], good, "the answer has status 404, must be 200 with gRPC"],
    ["a page", { ...HEAD, "content-type": "text/html" }, [OK], good, "the response is not gRPC"],
    ["no content type", { ":status": 200 }, [OK], good, "the response is not gRPC"],
    ["no trailers", HEAD, [OK], undefined, "the answer has no gRPC status"],
    [
      "an error in the only head",
      { ...HEAD, "grpc-status": "14" },
      [],
      undefined,
      "the answer has gRPC status UNAVAILABLE",
    ],
    ["an unknown error", HEAD, [], { "grpc-status": "99" }, "the answer has gRPC status of no known number"],
    ["no error number", HEAD, [OK], { "grpc-status": "" }, "the answer has gRPC status of no known number"],
    ["an error after SERVING", HEAD, [OK], { "grpc-status": "13" }, "the answer has gRPC status INTERNAL"],
    ["no message", HEAD, [], good, "the response is not a health response"],
    ["half a message", HEAD, [OK.subarray(0, 6)], good, "the response is not a health response"],
    ["more than one message", HEAD, [OK, OK], good, "the response is not a health response"],
    ["a compressed message", HEAD, bytes(1, 0, 0, 0, 2, 8, 1), good, "the response is not a health response"],
    ["no protobuf", HEAD, bytes(0, 0, 0, 0, 2, 8, 255), good, "the response is not a health response"],
    ["an empty message", HEAD, bytes(0, 0, 0, 0, 0), good, "the answer is UNKNOWN"],
    ["a long answer", HEAD, [Buffer.alloc(5_000)], good, "the answer is longer than 4096 bytes"],
  ])("%s", async (_, head, chunks, trailers, verdict) => {
    const server = await serveHttp2(answering(head, chunks, trailers));
    expect(await ask(`http://127.0.0.1:${server.port}`)).toBe(verdict);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test("a reset stream, a closed connection, a session with GOAWAY", async () => {
    for (const end of [
      (stream: ServerHttp2Stream) => stream.close(2),
      (stream: ServerHttp2Stream) => stream.close(0),
      (stream: ServerHttp2Stream) => stream.session?.socket.destroy(),
      (stream: ServerHttp2Stream) => stream.session?.destroy(),
    ]) {
      const server = await serveHttp2(end);
      expect(await ask(`http://127.0.0.1:${server.port}`)).not.toBe("");
      await expect.poll(() => server.sockets.size).toBe(0);
    }
  });

  test("nothing listening, HTTP/1.1, TLS without HTTP/2", async () => {
    expect(await ask(`http://127.0.0.1:${await freePort()}`)).toContain("ECONNREFUSED");
    const http = await listen(createHttpServer((_, response) => response.end()));
    const { cert, key } = makeTestCertificate({ name: "upstream" });
    const https = await listen(createHttpsServer({ cert, key }, (_, response) => response.end()));
    open.push(http, https);
    expect(await ask(`http://127.0.0.1:${http.port}`)).not.toBe("");
    expect(await ask(`https://127.0.0.1:${https.port}`, probe(), { rejectUnauthorized: false })).toMatch(
      /HTTP\/2|no_application_protocol|alert/i,
    );
  });

  /** Frames that node:http2 reads without a word: nothing of them reaches the check. */
  const frame = (type: number, stream: number, payload: readonly number[]): Buffer =>
    Buffer.from([0, 0, payload.length, type, 0, 0, 0, 0, stream, ...payload]);
  test.each([
    ["that widen the window", frame(8, 0, [0, 0, 0, 1])],
    ["that say goodbye", frame(7, 0, [127, 255, 255, 255, 0, 0, 0, 0])],
  ])("gives up an upstream that sends frames without end %s", async (_, endless) => {
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => endless));
    const server = await listen(
      createServer((socket) => {
        socket.resume();
        socket.write(frame(4, 0, []));
        const more = (): void => {
          while (socket.writable && socket.write(many));
        };
        socket.on("drain", more);
        more();
      }),
    );
    open.push(server);
    expect(await ask(`http://127.0.0.1:${server.port}`)).toBe("more than 65536 bytes came without an answer");
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test("a canceled one leaves no connection, even if the upstream is silent", async () => {
    const mute = await listen(createServer((socket) => void socket.resume()));
    const muteHalf = await listen(createServer({ allowHalfOpen: true }, (socket) => void socket.resume()));
    open.push(mute, muteHalf);
    const slow = await serveHttp2((stream) => stream.respond(HEAD));
    const streams = Promise.withResolvers<void>();
    const silent = await serveHttp2(() => streams.resolve());
    for (const [server, scheme] of [
      [mute, "http"],
      [mute, "https"],
      [muteHalf, "http"],
      [muteHalf, "https"],
      [slow, "http"],
      [silent, "http"],
    ] as const) {
      const words: string[] = [];
      const arrived = server.sockets.size;
      expect(arrived).toBe(0);
      const cancel = checkGrpc(upstreamAt(`${scheme}://127.0.0.1:${server.port}`), probe(), (word) => {
        words.push(word);
      });
      await expect.poll(() => server.sockets.size).toBe(1);
      if (server === silent) await streams.promise;
      if (server === muteHalf) for (const socket of server.sockets) socket.once("end", () => socket.end());
      expect(words).toEqual([]);
      cancel();
      await expect.poll(() => server.sockets.size).toBe(0);
    }
  });
});
