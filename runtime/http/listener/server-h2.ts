/** HTTP/2 connections: their limits, their streams as exchanges, their end. */
import {
  constants,
  performServerHandshake,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import { MAX_HEADER_COUNT, type AcceptDeps } from "./accept-h1.ts";
import { parseRequestHead, type Http2Head } from "./accept-h2.ts";
import { breakOff } from "../break-off.ts";
import { clientCertificateOf } from "./client-certificate.ts";
import { abortStream, cuttingStream, Http2Exchange, type Http2Peer, wasAborted } from "../exchange-h2.ts";
import { REQUEST_BYTES, type Parties } from "../admission/parties.ts";
import type { Exchange } from "../exchange.ts";
import { respondError } from "../respond.ts";
import { watchStalls } from "../stalls.ts";
import { allHeaders, findHeader } from "../../shared/http/header-lookup.ts";
import { headerTraits } from "../../shared/http/header-traits.ts";
import { ignore } from "../../shared/ignore.ts";
import { guardSocket } from "../../shared/faults/guard.ts";

export interface Http2Deps extends AcceptDeps {
  /** Longest time in which a client may read nothing of what a stream sends; 0 or absent: no limit. */
  readonly sendTimeoutMs?: number | undefined;
  /** Must not throw. */
  handle(exchange: Exchange): void;
  readonly secure: boolean;
  readonly asksForCertificates: boolean;
  readonly parties: Parties;
  /** Called when there is no memory for a client's input. */
  onNoRoom(): void;
  readonly maxHeaderBytes: number;
  readonly idleTimeoutMs: number;
  /** Called when a stream ends before any byte of its response was sent. @param by the side that ended it */
  onUnanswered?(by: "client" | "gateway", requests: number): void;
}

export interface Http2Sessions {
  /** @param socket with TLS, if the listener has that; bytes that were read already must have been unshifted */
  serve(socket: Socket): void;
  /** Sends GOAWAY to all clients: streams in progress finish, new ones need another connection. */
  drain(): void;
  destroy(): void;
  /** Call it once no connection is left. */
  close(): void;
}

/** Concurrent streams of one client. Browsers rarely exceed a hundred (RFC 9113 §6.5.2 advises no less). */
const MAX_STREAMS = 250;
/** Most bytes of one body that a client may send before they are read. */
const STREAM_WINDOW_BYTES = 262_144;
/** Longest time between saying GOAWAY to an idle client and the end of the connection. */
const GOODBYE_MS = 5_000;
/** Flag of the frame with the head: no body follows (RFC 9113 §6.2). */
const END_STREAM = constants.NGHTTP2_FLAG_END_STREAM;

export function createHttp2Sessions(deps: Http2Deps): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  /** Streams in progress, with the number of "drain" events of each. */
  const drains = new Map<ServerHttp2Stream, number>();
  /** Sessions with a stream that was ended for a stall. Without other streams they are closed. */
  const stalled = new WeakSet<Http2Session>();
  const stopWatching = watchStalls({
    stallMs: deps.sendTimeoutMs ?? 0,
    writers: () => drains.keys(),
    // node:http2 has no count of bytes that were read. The unsent rest shrinks with each of them, until a "drain" refills it.
    progressOf: (stream) => `${drains.get(stream)} ${stream.writableLength}`,
    onStall(stream) {
      deps.log.debug({ peer: stream.session?.socket.remoteAddress }, "client stopped reading, connection closed");
      if (stream.session) stalled.add(stream.session);
      abortStream(stream);
    },
  });
  let draining = false;
  let cutting = false;
  return {
    serve(socket) {
      const session = beginSession(socket, deps.maxHeaderBytes);
      const peer: Http2Peer = {
        secure: deps.secure,
        serverName: deps.secure ? (socket as TLSSocket).servername || undefined : undefined,
        remoteAddress: socket.remoteAddress ?? "",
        clientCertificate: deps.asksForCertificates ? clientCertificateOf(socket as TLSSocket) : undefined,
      };
      let streams = 0;
      sessions.add(session);
      session.once(
        "close",
        guardSocket(session, () => sessions.delete(session)),
      );
      // The peer is broken. nghttp2 has sent it GOAWAY.
      session.on(
        "error",
        guardSocket(session, (error: Error) => deps.log.debug({ reason: error.message }, "HTTP/2 connection failed")),
      );
      session.setTimeout(
        deps.idleTimeoutMs,
        guardSocket(session, () => {
          // A stream that waits for its next event is not idle.
          if (streams > 0) return;
          session.close();
          // `close()` waits for the client to close its end.
          setTimeout(
            guardSocket(session, () => session.destroy()),
            GOODBYE_MS,
          ).unref();
        }),
      );
      const take = (stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void => {
        const cut = cuttingStream(stream);
        streams += 1;
        drains.set(stream, 0);
        let exchange: Http2Exchange | undefined;
        stream.on(
          "drain",
          guardSocket(cut, () => {
            drains.set(stream, (drains.get(stream) ?? 0) + 1);
            exchange?.countUnsent();
          }),
        );
        stream.once(
          "close",
          guardSocket(cut, () => {
            streams -= 1;
            drains.delete(stream);
            exchange?.over();
            if (!stream.headersSent) deps.onUnanswered?.(cutting || wasAborted(stream) ? "gateway" : "client", 1);
            // The client may read nothing at all, not even the end of the stream: a GOAWAY would wait for that.
            if (streams === 0 && stalled.has(session)) breakOff(socket);
          }),
        );
        exchange = accept(deps, stream, peer, rawHeaders, (flags & END_STREAM) === 0);
      };
      session.on("stream", (stream, _headers, flags, rawHeaders) => {
        // Before the guard, which resets the stream: that also emits an error.
        stream.on("error", ignore);
        guardSocket(cuttingStream(stream), take)(stream, flags, rawHeaders);
      });
      if (draining) session.close();
    },
    drain() {
      draining = true;
      for (const session of sessions) session.close();
    },
    destroy() {
      cutting = true;
      for (const session of sessions) session.destroy();
    },
    close: stopWatching,
  };
}

function beginSession(socket: Socket, maxHeaderBytes: number): ServerHttp2Session {
  return performServerHandshake(socket, {
    maxHeaderListPairs: MAX_HEADER_COUNT + 8,
    maxSendHeaderBlockLength: 131_072,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 50,
    maxOutstandingPings: 4,
    // Rapid reset (CVE-2023-44487): opening and resetting streams faster than this ends the connection.
    streamResetBurst: 500,
    streamResetRate: 50,
    unknownProtocolTimeout: 10_000,
    // Forward a duplicate Date or ETag of an upstream, as over HTTP/1.1: node:http2 would throw.
    strictSingleValueFields: false,
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      maxHeaderListSize: maxHeaderBytes,
      initialWindowSize: STREAM_WINDOW_BYTES,
      enableConnectProtocol: true,
    },
  });
}

function accept(
  deps: Http2Deps,
  stream: ServerHttp2Stream,
  peer: Http2Peer,
  raw: readonly string[],
  hasBody: boolean,
): Http2Exchange {
  const head = parseRequestHead(raw, peer.secure);
  if (head.ok) {
    const accepted = new Http2Exchange(stream, peer, head, hasBody);
    deps.handle(accepted);
    return accepted;
  }
  const { status, reason } = head;
  deps.onRefused?.(reason);
  const exchange = new Http2Exchange(stream, peer, { ...NO_HEAD, ...formOf(raw) }, hasBody);
  deps.log.debug({ request: exchange.id, reason, peer: peer.remoteAddress }, "request rejected");
  // The client may still send a body, and read no response.
  exchange.party = deps.parties.of(peer.remoteAddress);
  if (!exchange.hold(REQUEST_BYTES)) {
    deps.onNoRoom();
    exchange.abort();
    return exchange;
  }
  respondError(exchange, status, {
    code: `request.${reason}`,
    message: "The gateway cannot understand this request",
  });
  return exchange;
}

/** The parts of a rejected head that are still read: they tell whether to answer as a gRPC call. */
function formOf(raw: readonly string[]): Pick<Http2Head, "method" | "rawHeaders" | "headerTraits"> {
  const isCall = findHeader(raw, ":method") === "POST";
  const types = allHeaders(raw, "content-type");
  return {
    method: isCall ? "POST" : NO_HEAD.method,
    rawHeaders: types.flatMap((type) => ["content-type", type]),
    headerTraits: types.map(() => headerTraits("content-type")),
  };
}

const NO_HEAD = {
  method: "GET",
  path: "/",
  query: "",
  host: "",
  rawHeaders: [],
  headerTraits: [],
  isWebSocket: false,
  awaitsContinue: false,
};
