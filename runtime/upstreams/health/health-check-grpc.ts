/**
 * A health check by gRPC's own protocol: one call of `grpc.health.v1.Health/Check` on a separate connection.
 *
 * Over node:http2 rather than a gRPC library: @grpc/grpc-js keeps the socket of an upstream that never responds when its
 * client is closed, and cannot speak TLS to an address without a name. Untrusted input: everything that the upstream sends.
 * At most `MAX_ANSWER_BYTES` are held, and not much more than `MAX_BYTES` are read.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md and PROTOCOL-HTTP2.md there
 */
import {
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { TLSSocket } from "node:tls";

import protobuf from "protobufjs/minimal.js";

import type { Upstream } from "../../features/connection/compiled.ts";
import type { GrpcProbe } from "../../features/balancing/compiled.ts";
import { openUpstreamSocket } from "../upstream-socket.ts";
import { errorText } from "../../shared/errors.ts";
import { guard, task } from "../../shared/faults/guard.ts";
import type { CheckDone } from "./check-budget.ts";

const MAX_ANSWER_BYTES = 4_096;
/** Includes HTTP/2's own frames, most of which node:http2 reads without an event. */
const MAX_BYTES = 65_536;
const LOOK_EACH_MS = 50;
/** Prefix of each message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;
const SERVING = 1;
const SERVING_STATUS = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const CODES =
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED".split(
    " ",
  );

/** @returns cancels the check */
export function checkGrpc(upstream: Upstream, probe: GrpcProbe, over: CheckDone): () => void {
  const { socket, ready } = openUpstreamSocket(upstream, { alpn: ["h2"] });
  const session = connectHttp2(upstream.origin, { createConnection: () => socket, settings: { enablePush: false } });
  const watch = setInterval(
    task("the bound of a health check", () => {
      if (socket.bytesRead > MAX_BYTES) end(`more than ${MAX_BYTES} bytes came without an answer`);
    }),
    LOOK_EACH_MS,
  );
  const close = (): void => {
    clearInterval(watch);
    session.destroy();
    // Either of the two may own the connection by now.
    socket.destroy();
  };
  const end = (error: string): void => {
    over(error);
    close();
  };
  const owner = { broke: (error: unknown) => end(errorText(error)) };
  session.on(
    "error",
    guard(owner, (error: Error) => end(error.message)),
  );
  session.once(
    "close",
    guard(owner, () => end(BROKEN_OFF)),
  );
  socket.on(
    "error",
    guard(owner, (error: Error) => end(error.message)),
  );
  socket.once(
    ready,
    guard(owner, () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") end("the upstream did not choose HTTP/2 in TLS");
    }),
  );

  const answer = new Answer();
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/grpc.health.v1.Health/Check",
    [constants.HTTP2_HEADER_AUTHORITY]: probe.authority ?? upstream.host,
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "gateway-health-check",
  });
  stream.on(
    "response",
    guard(owner, (headers: IncomingHttpHeaders) => {
      answer.head = headers;
    }),
  );
  stream.on(
    "trailers",
    guard(owner, (headers: IncomingHttpHeaders) => {
      answer.trailers = headers;
    }),
  );
  stream.on(
    "data",
    guard(owner, (chunk: Buffer) => {
      if (!answer.add(chunk)) end(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    }),
  );
  stream.once(
    "end",
    guard(owner, () => end(answer.problem())),
  );
  stream.on(
    "error",
    guard(owner, (error: Error) => end(error.message)),
  );
  // A reset without an error is not a response either.
  stream.once(
    "close",
    guard(owner, () => end(BROKEN_OFF)),
  );
  stream.end(frame(probe.serviceName));
  return close;
}

const BROKEN_OFF = "the upstream aborted its response";

class Answer {
  head: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
  trailers: IncomingHttpHeaders | undefined;
  #body = Buffer.alloc(0);

  /** @returns false when it is too long */
  add(chunk: Buffer): boolean {
    this.#body = Buffer.concat([this.#body, chunk]);
    return this.#body.length <= MAX_ANSWER_BYTES;
  }

  /** @returns the reason why the upstream is unhealthy; "" = healthy */
  problem(): string {
    const { head = {} } = this;
    if (head[":status"] !== 200) return `the answer has status ${head[":status"] ?? "none"}, must be 200 with gRPC`;
    if (!(head["content-type"] ?? "").startsWith("application/grpc")) return "the response is not gRPC";
    // A response that is only an error has its status in its only head.
    const code = this.trailers?.["grpc-status"] ?? head["grpc-status"];
    if (code === undefined) return "the answer has no gRPC status";
    if (code !== "0") return `the answer has gRPC status ${nameOf(code)}`;
    const status = readStatus(this.#body);
    if (status === undefined) return "the response is not a health response";
    if (status === SERVING) return "";
    return `the answer is ${SERVING_STATUS[status] ?? `serving status ${status}`}`;
  }
}

/** Without the check, Number("") would be the code 0. */
function nameOf(code: string | readonly string[]): string {
  const known = typeof code === "string" && code !== "" ? CODES[Number(code)] : undefined;
  return known ?? "of no known number";
}

/** HealthCheckRequest: the service is its field 1. */
function frame(serviceName: string): Buffer {
  const message =
    serviceName === "" ? new Uint8Array() : protobuf.Writer.create().uint32(10).string(serviceName).finish();
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** HealthCheckResponse: the status is its field 1; 0 is encoded as no field. */
function readStatus(body: Buffer): number | undefined {
  // No compression was offered, and the response is one message.
  if (body.length < PREFIX_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== body.length - PREFIX_BYTES)
    return undefined;
  try {
    const reader = protobuf.Reader.create(body.subarray(PREFIX_BYTES));
    let status = 0;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 8) status = reader.int32();
      else reader.skipType(tag & 7);
    }
    return status;
  } catch {
    return undefined;
  }
}
