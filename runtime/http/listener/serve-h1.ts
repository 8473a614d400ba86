/** Who reads and writes HTTP/1.1 on the public listener: we ourselves, or node:http. Both make the same Exchanges. */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import type { Parties } from "../admission/parties.ts";
import type { Exchange } from "../exchange.ts";
import type { ExchangeOwner } from "../exchange-h1.ts";
import { createOwnConnections } from "../http1-server/connections.ts";
import type { UnreadQueue } from "../http1-server/unread.ts";
import { takeUpgrades, type Upgrades } from "../upgrade-h1.ts";
import { acceptRequest, type AcceptDeps } from "./accept-h1.ts";
import {
  takeInTurn,
  TCP_KEEP_ALIVE,
  type Expectation,
  type Http1Connections,
  type Http1Options,
} from "./connections-h1.ts";
import { expectPreface, type UndecidedConnections } from "./prior-knowledge.ts";
import { asksForWebSocket } from "./websocket.ts";
import { guardSocket } from "../../shared/faults/guard.ts";

/** One way to serve HTTP/1.1. */
export interface Http1Side {
  /** For the server that accepts connections. */
  readonly httpOptions: ServerOptions;
  /** Call it once that is made, before it listens. In the clear it takes what connects, and tells HTTP/2 by its preface. */
  attach(server: Server | SecureServer): void;
  /** Takes one that has agreed on HTTP/1.1. @param serve gives it to node:http */
  readonly takeSecure: (socket: TLSSocket, serve: () => void) => void;
  /** Ends connections on which no request is under way. */
  drain(): void;
  /** Cuts all. */
  destroy(): void;
  /** Once none is left. */
  close(): void;
}

export interface Http1Serving {
  readonly options: AcceptDeps & Http1Options;
  readonly owner: ExchangeOwner;
  /** Must not throw. */
  readonly handle: (exchange: Exchange) => void;
  /** Takes a connection in the clear whose first unread bytes are the preface. */
  readonly serveHttp2: (socket: Socket) => void;
  readonly parties: Parties;
  /** There is no room for what a client sends. */
  onNoRoom(): void;
  /** Where what comes may wait before it is read. */
  readonly unread?: UnreadQueue | undefined;
}

export const MAX_HEADER_BYTES = 32_768;
export const HEADERS_TIMEOUT_MS = 30_000;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;

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
  ...TCP_KEEP_ALIVE,
} as const;

export function serveByNode({ options, owner, handle, serveHttp2 }: Http1Serving): Http1Side {
  let undecided: UndecidedConnections | undefined;
  let http1: Http1Connections | undefined;
  let upgrades: Upgrades | undefined;
  let served: Server | SecureServer | undefined;
  const accept = (request: IncomingMessage, response: ServerResponse, expectation: Expectation) =>
    acceptRequest(options, request, response, owner, expectation);
  return {
    httpOptions: {
      ...HTTP_OPTIONS,
      // Behind a request that is not answered yet it is an ordinary one (RFC 9110 §7.8).
      shouldUpgradeCallback: (request: IncomingMessage) =>
        asksForWebSocket(request) && http1?.isBusy(request.socket) !== true,
    },
    attach(server) {
      // By default node drops headers past its limit and goes on; we count them ourselves and refuse.
      server.maxHeadersCount = 0;
      served = server;
      http1 = takeInTurn(
        server,
        true,
        (request, response, expectation) => {
          const exchange = accept(request, response, expectation);
          if (exchange) handle(exchange);
        },
        options,
      );
      upgrades = takeUpgrades(server, (request, response) => accept(request, response, "none"), handle, options);
      if (owner.secure) return;
      undecided = expectPreface(server, {
        log: options.log,
        timeoutMs: HEADERS_TIMEOUT_MS,
        serveHttp2,
        onHttp1: (socket, bytes) => http1?.add(socket, bytes),
      });
    },
    takeSecure(socket, serve) {
      http1?.add(socket);
      serve();
    },
    drain() {
      served?.closeIdleConnections();
      http1?.cutFresh();
      undecided?.cutWaiting();
    },
    destroy() {
      served?.closeAllConnections();
      upgrades?.destroy();
    },
    close: () => http1?.close(),
  };
}

/** node:http accepts, and hears nothing more of what it has accepted. */
export function serveByOurselves({ options, owner, ...serving }: Http1Serving): Http1Side {
  const connections = createOwnConnections({ ...options, ...serving }, owner);
  return {
    httpOptions: HTTP_OPTIONS,
    attach(server) {
      // Over TLS the listener for "connection" begins the handshake.
      if (owner.secure) return;
      server.removeAllListeners("connection");
      server.on("connection", (socket: Socket) => guardSocket(socket, () => connections.add(socket))());
    },
    takeSecure: (socket) => connections.add(socket),
    drain: () => connections.closeIdle(),
    destroy: () => connections.destroy(),
    close: () => connections.close(),
  };
}
