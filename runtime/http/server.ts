/**
 * The public listener: bytes → Exchange, or a refusal.
 *
 * Untrusted input: everything. Promises to what stands behind: the message had one framing, headers that may stand once
 * do, host and path are canonical (target.ts). A request that does not meet this is answered here and goes no further.
 */
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { randomUUID } from "node:crypto";

import { errorText, GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import { Http1Exchange, type ExchangeOwner } from "./exchange-h1.ts";
import type { Exchange } from "./exchange.ts";
import { headerTraits, type HeaderTraits } from "./headers.ts";
import { respondError } from "./respond.ts";
import { canonicalTarget, type TargetRefusal } from "./target.ts";

export interface HttpServerOptions {
  /** "host:port", "[v6]:port" or ":port" for every address; port 0 = any free one. */
  readonly address: string;
  /** Plain HTTP; required as long as there are no certificates. */
  readonly insecure: boolean;
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

export type RequestRefusal =
  | TargetRefusal
  | "target-too-long"
  | "too-many-headers"
  | "duplicate-header"
  | "transfer-encoding"
  | "method";

const MAX_HEADER_BYTES = 32_768;
const MAX_HEADER_COUNT = 200;
const MAX_TARGET_LENGTH = 8_192;
const HEADERS_TIMEOUT_MS = 30_000;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const DEFAULT_DRAIN_MS = 10_000;

/** Listens. @throws GatewayError `http.listen`, `http.address`, `http.no-certificate` */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  if (!options.insecure) {
    throw new GatewayError(
      "http.no-certificate",
      "Cannot listen: no certificate is configured, wish insecure_server: true behind a terminating load balancer",
    );
  }
  const { host, port } = parseAddress(options.address);
  const owner = { secure: false, draining: false };
  /** Connections that have not sent a request yet; node does not count them as idle. */
  const fresh = new Set<Socket>();

  const server = createServer({
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
  });
  // By default node drops headers past its limit and goes on; we count them ourselves and refuse.
  server.maxHeadersCount = 0;

  const accept = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    fresh.delete(request.socket);
    const exchange = acceptRequest(request, response, owner, awaitsContinue, options);
    if (!exchange) return;
    try {
      options.handle(exchange);
    } catch (error) {
      options.log.error({ request: exchange.id, reason: errorText(error) }, "request failed");
      if (exchange.started) exchange.abort();
      else respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
    }
  };
  server.on("request", (request, response) => accept(request, response, false));
  server.on("checkContinue", (request, response) => accept(request, response, true));
  // An expectation other than 100-continue cannot be met (RFC 9110 §10.1.1).
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, ["connection", "close", "content-length", "0"]).end();
  });
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => refuseConnection(socket, 405, "method"));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    refuseConnection(socket, statusOf(error.code), error.code ?? "parse");
    options.log.debug({ code: error.code }, "request could not be read");
  });
  server.on("connection", (socket: Socket) => {
    fresh.add(socket);
    socket.once("close", () => fresh.delete(socket));
  });

  await listen(server, host, port, options.address);
  const bound = server.address() as AddressInfo;
  const shown = host === undefined || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return {
    port: bound.port,
    origin: `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound.port}`,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    close: ({ timeoutMs = DEFAULT_DRAIN_MS } = {}) => {
      owner.draining = true;
      return new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
        for (const socket of fresh) if (socket.bytesRead === 0) socket.destroy();
      });
    },
  };
}

/** Judges framing, header counts and target. @returns undefined when the request was answered here */
function acceptRequest(
  request: IncomingMessage,
  response: ServerResponse,
  owner: ExchangeOwner,
  awaitsContinue: boolean,
  options: HttpServerOptions,
): Http1Exchange | undefined {
  const raw = request.rawHeaders;
  const target = request.url ?? "";
  if (target.length > MAX_TARGET_LENGTH) return refuse(414, "target-too-long");
  if (raw.length > 2 * MAX_HEADER_COUNT) return refuse(431, "too-many-headers");
  if (request.method === "TRACE") return refuse(405, "method");

  const known: HeaderTraits[] = [];
  let seen = 0;
  let host: string | undefined;
  let hasBody = false;
  for (let index = 0; index < raw.length; index += 2) {
    const traits = headerTraits(raw[index] as string);
    known.push(traits);
    if (traits.singleBit === 0) continue;
    if ((seen & traits.singleBit) !== 0) return refuse(400, "duplicate-header");
    seen |= traits.singleBit;
    const value = raw[index + 1] as string;
    if (traits.lower === "host") host = value;
    else if (traits.lower === "content-length") hasBody ||= value !== "0";
    else if (traits.lower === "transfer-encoding") {
      // Another coding than chunked cannot be undone here, and HTTP/1.0 has none (RFC 9112 §6.1).
      if (value.trim().toLowerCase() !== "chunked" || request.httpVersionMinor === 0)
        return refuse(400, "transfer-encoding");
      hasBody = true;
    }
  }
  const canonical = canonicalTarget(target, host, owner.secure ? "443" : "80");
  if (!canonical.ok) return refuse(400, canonical.reason);
  return new Http1Exchange(request, response, owner, canonical, known, hasBody, awaitsContinue);

  function refuse(status: number, reason: RequestRefusal): undefined {
    options.onRefused?.(reason);
    const exchange = new Http1Exchange(request, response, owner, NO_TARGET, [], true, awaitsContinue);
    options.log.debug({ request: exchange.id, reason, peer: exchange.remoteAddress }, "request refused");
    respondError(
      exchange,
      status,
      { code: `request.${reason}`, message: "The gateway cannot understand this request" },
      ["connection", "close"],
    );
    return undefined;
  }
}

const NO_TARGET = { path: "/", query: "", host: "" };

/** Answers a connection on which no message can be read any more. */
function refuseConnection(socket: Duplex, status: number, reason: string): void {
  // Half an answer may be on the wire already: a second status line would become part of it.
  const busy = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage?.headersSent === true;
  if (!socket.writable || busy || reason === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const id = randomUUID();
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

function parseAddress(address: string): { readonly host: string | undefined; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]*)):([0-9]{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new GatewayError(
      "http.address",
      `Cannot listen on ${JSON.stringify(address)}: must be "host:port" or ":port"`,
    );
  const host = match[1] ?? match[2];
  return { host: host === undefined || host === "" ? undefined : host, port };
}

function listen(server: Server, host: string | undefined, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void =>
      reject(
        new GatewayError("http.listen", `Cannot listen on ${JSON.stringify(address)}: ${cause.message}`, { cause }),
      );
    server.once("error", onError);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off("error", onError);
      resolve();
    });
  });
}
