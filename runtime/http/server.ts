/**
 * The public listener: bytes → Exchange, or a refusal.
 *
 * Untrusted input: everything. Promises to what stands behind: the message had one framing, headers that may stand once
 * do, host and path are canonical (target.ts). A request that does not meet this is answered here and goes no further.
 */
import { createServer, ServerResponse, STATUS_CODES, type IncomingMessage } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

import { errorText, GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import { acceptRequest, type RequestRefusal } from "./accept-h1.ts";
import type { Certificates } from "./certificates.ts";
import type { Exchange } from "./exchange.ts";
import { readForwardedFor, type ForwardedForSettings } from "./forwarded-for.ts";
import { findHeader } from "./header-lookup.ts";
import { listen, shownAddress } from "./listen.ts";
import { createRequestId } from "./request-id.ts";
import { expectProxyHeaders } from "./proxied-connections.ts";
import { respondError } from "./respond.ts";
import { createHttp2Sessions, type Http2Sessions } from "./server-h2.ts";
import { asksForWebSocket, isKey, WEBSOCKET_VERSION } from "./websocket.ts";

export interface HttpServerOptions {
  /** "host:port", "[v6]:port" or ":port" for every address; port 0 = any free one. */
  readonly address: string;
  /** Plain HTTP; required as long as there are no certificates. */
  readonly insecure: boolean;
  /** Makes it TLS, with HTTP/2 and HTTP/1.1. The caller closes them. */
  readonly certificates?: Certificates | undefined;
  /** Open connections; more are closed at once. Default: no limit but the system's. */
  readonly maxConnections?: number | undefined;
  /** Each connection begins with a PROXY head, which tells its address; others are cut. */
  readonly proxyProtocol?: boolean | undefined;
  /** Proxies before us whose X-Forwarded-For is believed; absent: none, and it is not looked at. */
  readonly forwardedFor?: ForwardedForSettings | undefined;
  /** Must not throw for a reason it knows; what it throws becomes a 500. */
  handle(exchange: Exchange): void;
  readonly log: Log;
  /** Called with the reason of every request that is refused before it is an Exchange. */
  onRefused?(reason: RequestRefusal): void;
}

export interface HttpServer {
  readonly port: number;
  /** "http://127.0.0.1:8080", for tests and start-up messages. */
  readonly origin: string;
  /** Open connections, idle ones included. */
  connections(): Promise<number>;
  /** Stops accepting, lets answers in flight finish (each with `Connection: close`), cuts what is left after `timeoutMs`. */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
}

const MAX_HEADER_BYTES = 32_768;
const HEADERS_TIMEOUT_MS = 30_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const DEFAULT_DRAIN_MS = 10_000;

const HTTP_OPTIONS = {
  // llhttp's strict mode: no CL with TE, no obs-fold, no bare LF, no space before a colon.
  insecureHTTPParser: false,
  maxHeaderSize: MAX_HEADER_BYTES,
  // We answer it ourselves, with a body.
  requireHostHeader: false,
  headersTimeout: HEADERS_TIMEOUT_MS,
  // A long upload is not an attack; idle bodies are bounded where they are read.
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: 5_000,
  noDelay: true,
  shouldUpgradeCallback: asksForWebSocket,
} as const;

/** Listens. @throws GatewayError `http.listen`, `http.address`, `http.no-certificate` */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { certificates, log, forwardedFor } = options;
  if (!options.insecure && !certificates) {
    throw new GatewayError(
      "http.no-certificate",
      'Cannot listen: no certificate is configured, wish "certificates", or insecure_server: true behind a terminating load balancer',
    );
  }
  const asksForCertificates = certificates?.clients !== undefined;
  const owner = { secure: certificates !== undefined, asksForCertificates, draining: false };
  /** Connections that have not sent a request yet, with the bytes they had sent when they were ready for one; node does not count them as idle. */
  const fresh = new Map<Socket, number>();
  /** Connections that left HTTP; node does not know them any more. */
  const upgraded = new Set<Duplex>();

  const handle = (exchange: Exchange): void => {
    if (forwardedFor !== undefined) {
      const values = exchange.headerValues("x-forwarded-for");
      exchange.forwardedFor = readForwardedFor(forwardedFor, values, exchange.remoteAddress);
    }
    try {
      options.handle(exchange);
    } catch (error) {
      log.error({ request: exchange.id, reason: errorText(error) }, "request failed");
      if (exchange.started) exchange.abort();
      else respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
    }
  };
  const http2 = createHttp2Sessions({
    ...options,
    handle,
    asksForCertificates,
    maxHeaderBytes: MAX_HEADER_BYTES,
    idleTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
  });
  const secure = certificates && createTlsServer(certificates, http2, fresh, log);
  const server = secure ?? createServer(HTTP_OPTIONS);
  // By default node drops headers past its limit and goes on; we count them ourselves and refuse.
  server.maxHeadersCount = 0;
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections;

  const accept = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    fresh.delete(request.socket);
    const exchange = acceptRequest(options, request, response, owner, awaitsContinue);
    if (exchange) handle(exchange);
  };
  server.on("request", (request, response) => accept(request, response, false));
  server.on("checkContinue", (request, response) => accept(request, response, true));
  // An expectation other than 100-continue cannot be met (RFC 9110 §10.1.1).
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, ["connection", "close", "content-length", "0"]).end();
  });
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => refuseConnection(socket, 405, "method"));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, rest: Buffer) => {
    // An answer to an earlier request is still on its way: two would share the connection.
    if ((socket as { _httpMessage?: unknown })._httpMessage) {
      socket.destroy();
      return;
    }
    fresh.delete(request.socket);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", ignore);
    const response = new ServerResponse(request);
    response.assignSocket(request.socket);
    response.once("finish", () => socket.end());
    const exchange = acceptRequest(options, request, response, owner, false);
    if (!exchange) return;
    const key = findHeader(request.rawHeaders, "sec-websocket-key");
    if (findHeader(request.rawHeaders, "sec-websocket-version") !== WEBSOCKET_VERSION) {
      exchange.respond(426, ["sec-websocket-version", WEBSOCKET_VERSION, "connection", "close"]);
    } else if (!isKey(key)) {
      respondError(
        exchange,
        400,
        { code: "request.websocket-key", message: "The WebSocket handshake has no valid key" },
        ["connection", "close"],
      );
    } else {
      exchange.offerWebSocket(key.trim(), rest);
      handle(exchange);
    }
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    refuseConnection(socket, statusOf(error.code), error.code ?? "parse");
    log.debug({ code: error.code }, "request could not be read");
  });
  server.on("connection", (socket: Socket) => {
    // Bytes behind a PROXY head have been read and wait to be: the beginning of a request.
    fresh.set(socket, socket.bytesRead - socket.readableLength);
    socket.once("close", () => fresh.delete(socket));
  });
  const proxied = options.proxyProtocol === true ? expectProxyHeaders(server, log) : undefined;
  if (proxied) secure?.prependListener("secureConnection", (socket) => proxied.adopt(socket));
  await listen(server, options.address);
  const bound = server.address() as AddressInfo;
  return {
    port: bound.port,
    origin: `${owner.secure ? "https" : "http"}://${shownAddress(options.address, bound.port)}`,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    close: ({ timeoutMs = DEFAULT_DRAIN_MS } = {}) => {
      owner.draining = true;
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          server.closeAllConnections();
          http2.destroy();
          for (const socket of upgraded) socket.destroy();
        }, timeoutMs);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
        http2.drain();
        proxied?.cutWaiting();
        for (const [socket, bytes] of fresh) if (socket.bytesRead === bytes) socket.destroy();
      });
    },
  };
}

/** HTTP/1.1 and HTTP/2 behind one handshake; the certificate is the one for the name that the client asks for. */
function createTlsServer(
  certificates: Certificates,
  http2: Http2Sessions,
  fresh: Map<Socket, number>,
  log: Log,
): SecureServer {
  const server = createSecureServer({
    ...HTTP_OPTIONS,
    ...certificates.fallback,
    minVersion: "TLSv1.2",
    requestCert: certificates.clients !== undefined,
    // Otherwise the policy judges, and the client gets an answer it can show.
    rejectUnauthorized: certificates.clients?.rejectConnection === true,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols: ["h2", "http/1.1"],
    SNICallback: (name, done) => done(null, certificates.find(name.toLowerCase())),
  });
  certificates.onChange((fallback) => server.setSecureContext(fallback));
  // node:https takes every connection for HTTP/1.1; those that agreed on HTTP/2 go to the stream API instead.
  const [serveHttp1] = server.listeners("secureConnection") as ((socket: TLSSocket) => void)[];
  server.removeAllListeners("secureConnection");
  server.on("secureConnection", (socket) => {
    if (socket.alpnProtocol === "h2") {
      http2.serve(socket);
      return;
    }
    fresh.set(socket, socket.bytesRead);
    socket.once("close", () => fresh.delete(socket));
    serveHttp1?.call(server, socket);
  });
  server.on("tlsClientError", (error, socket) => {
    log.debug({ reason: error.message, peer: socket.remoteAddress }, "TLS handshake failed");
  });
  return server;
}

/** Answers a connection on which no message can be read any more. */
function refuseConnection(socket: Duplex, status: number, reason: string): void {
  // Half an answer may be on the wire already: a second status line would become part of it.
  const busy = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage?.headersSent === true;
  if (!socket.writable || busy || reason === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const id = createRequestId();
  const body = JSON.stringify({
    error: "request.malformed",
    message: "The gateway cannot understand this request",
    request_id: id,
  });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nx-request-id: ${id}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n${body}`,
    "latin1",
    () => socket.destroy(),
  );
}

function statusOf(code: string | undefined): number {
  if (code === "HPE_HEADER_OVERFLOW" || code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 431;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
}

function ignore(): void {}
