/**
 * The public listener: turns bytes into an Exchange, or rejects them.
 *
 * Untrusted input: everything. Promises to the code behind it: the message has one framing, headers that are allowed once
 * occur once, host and path are canonical (target.ts). Other requests are answered here and go no further.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";

import { GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { createAdmission, type ShedReason } from "../admission/admission.ts";
import { boundConnections } from "../admission/connections.ts";
import { memoryLimit, memoryReader, watchMemory } from "../admission/memory.ts";
import { Parties, requestCost } from "../admission/parties.ts";
import { createShedding } from "../admission/shed.ts";
import type { RequestRefusal } from "./accept-h1.ts";
import type { Certificates } from "./certificates.ts";
import type { Exchange } from "../exchange.ts";
import { readForwardedFor, type ForwardedForSettings } from "./forwarded-for.ts";
import { listen, shownAddress } from "./listen.ts";
import { expectProxyHeaders } from "./proxied-connections.ts";
import { createHttp2Sessions } from "./server-h2.ts";
import { createTlsServer } from "./server-tls.ts";
import { createOwnConnections } from "../http1-server/connections.ts";
import { TCP_KEEP_ALIVE } from "./connections-h1.ts";
import { guardSocket, task } from "../../shared/faults/guard.ts";

export interface HttpServerOptions {
  /** "host:port", "[v6]:port" or ":port" for every address; port 0 = any free one. */
  readonly address: string;
  /** Plain HTTP, with HTTP/2 for clients that start with its preface; required without certificates. */
  readonly insecure: boolean;
  /** Enables TLS, with HTTP/2 and HTTP/1.1. The caller closes them. */
  readonly certificates?: Certificates | undefined;
  /** Open connections. More are closed immediately, also those above a client's share. Default: only the system's limit. */
  readonly maxConnections?: number | undefined;
  /** Longest time in which a client may read nothing of what is sent to it; 0 or absent: no limit. */
  readonly sendTimeoutMs?: number | undefined;
  /** Each connection starts with a PROXY head, which has the client's address; others are closed. */
  readonly proxyProtocol?: boolean | undefined;
  /** Proxies in front of us whose X-Forwarded-For is trusted; absent: none, and the header is ignored. */
  readonly forwardedFor?: ForwardedForSettings | undefined;
  /** Longest wait of a request for its turn under load; 0 or absent: no limit. */
  readonly queueTimeoutMs?: number | undefined;
  /** Bytes that may be held for clients. Default: a quarter of the heap's limit or of the control group's. */
  readonly maxHeldBytes?: number | undefined;
  /** Memory for clients, shared with another listener. */
  readonly parties?: Parties | undefined;
  /** Must not throw expected errors: whatever it throws becomes a 500. */
  handle(exchange: Exchange): void;
  readonly log: Log;
  /** Called with the reason of every request that is rejected before it is an Exchange. */
  onRefused?(reason: RequestRefusal | ShedReason): void;
  /** Called when a connection ends before any byte of these responses was sent. @param by the side that ended it */
  onUnanswered?(by: "client" | "gateway", requests: number): void;
}

export interface HttpServer {
  readonly parties: Parties;
  readonly port: number;
  /** "http://127.0.0.1:8080", for tests and start-up messages. */
  readonly origin: string;
  /** Open connections, idle ones included. */
  connections(): Promise<number>;
  /** Requests that wait for their turn. */
  readonly waiting: number;
  /** Stops accepting, lets responses in flight finish (each with `Connection: close`), ends the rest after `timeoutMs`. */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
}

const MAX_HEADER_BYTES = 32_768;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** This fraction of the memory may be held for clients. The rest is for the configuration, caches, responses and garbage. */
const HELD_PART = 4;
const DEFAULT_DRAIN_MS = 10_000;

/** The problem of a listener without a certificate. */
export const NO_CERTIFICATE_PROBLEM =
  'no certificate is configured, set "certificates" or "acme", or "insecure_server": true behind a load balancer that terminates TLS';

/** Listens. @throws GatewayError `http.listen`, `http.address`, `http.no-certificate` */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { certificates, log, forwardedFor } = options;
  if (!options.insecure && !certificates) {
    throw new GatewayError("http.no-certificate", `Cannot listen: ${NO_CERTIFICATE_PROBLEM}`);
  }
  const asksForCertificates = certificates?.clients !== undefined;
  const owner = { secure: certificates !== undefined, asksForCertificates, draining: false };
  const begin = (exchange: Exchange): void => {
    try {
      options.handle(exchange);
    } catch (error) {
      exchange.broke(error);
    }
  };
  const now = (): number => performance.now();
  const shedding = createShedding({ log, onShed: (reason) => options.onRefused?.(reason) });
  const admission = createAdmission({
    queueTimeoutMs: options.queueTimeoutMs || Infinity,
    begin,
    shed: shedding.shed,
    isMemoryShort: watchMemory(memoryReader(), now),
    now,
    afterArrivals: setImmediate,
  });
  const parties = options.parties ?? new Parties(options.maxHeldBytes ?? Math.floor(memoryLimit() / HELD_PART));
  const onNoRoom = (): void => shedding.note("memory");
  const handle = (exchange: Exchange): void => {
    if (forwardedFor !== undefined) {
      const values = exchange.headerValues("x-forwarded-for");
      exchange.forwardedFor = readForwardedFor(forwardedFor, values, exchange.remoteAddress);
      exchange.party = parties.of(exchange.remoteAddress);
    }
    exchange.party ??= parties.of(exchange.remoteAddress);
    if (exchange.hold(requestCost(exchange))) admission.take(exchange);
    else shedding.shed(exchange, "memory");
  };
  const http2 = createHttp2Sessions({
    ...options,
    handle,
    secure: owner.secure,
    asksForCertificates,
    parties,
    onNoRoom,
    maxHeaderBytes: MAX_HEADER_BYTES,
    idleTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
  });
  const ofHttp1 = {
    ...options,
    handle,
    parties,
    onNoRoom,
    serveHttp2: (socket: Socket) => http2.serve(socket),
    // Behind proxies the client's address is in the request, so it must be read first.
    unread: forwardedFor === undefined ? admission : undefined,
  };
  const http1 = createOwnConnections(ofHttp1, owner);
  const accepting = { noDelay: true, ...TCP_KEEP_ALIVE };
  const secure = certificates && createTlsServer(accepting, certificates, http2, (socket) => http1.add(socket), log);
  // A client may end its half and still wait for responses.
  const server = secure?.server ?? createServer({ ...accepting, allowHalfOpen: true });
  if (!secure) server.on("connection", (socket: Socket) => guardSocket(socket, () => http1.add(socket))());
  // A proxy that reports its clients holds connections for all of them.
  const perClient = (forwardedFor?.trustedHops ?? 0) === 0;
  const bounds = boundConnections(server, { max: options.maxConnections, perClient, log });
  const proxied = options.proxyProtocol === true ? expectProxyHeaders(server, log) : undefined;
  if (proxied)
    secure?.server.prependListener("secureConnection", (socket) => guardSocket(socket, () => proxied.adopt(socket))());
  await listen(server, options.address, log);
  const bound = server.address() as AddressInfo;
  return {
    parties,
    port: bound.port,
    origin: `${owner.secure ? "https" : "http"}://${shownAddress(options.address, bound.port)}`,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    get waiting() {
      return admission.waiting();
    },
    close: ({ timeoutMs = DEFAULT_DRAIN_MS } = {}) => {
      owner.draining = true;
      return new Promise((resolve) => {
        const timer = setTimeout(
          task("the end of the listener", () => {
            http1.destroy();
            http2.destroy();
          }),
          timeoutMs,
        );
        server.close(() => {
          clearTimeout(timer);
          http1.close();
          http2.close();
          shedding.close();
          bounds.close();
          resolve();
        });
        http1.closeIdle();
        http2.drain();
        proxied?.cutWaiting();
        secure?.cutFresh();
      });
    },
  };
}
