/**
 * All HTTP/1.1 connections of the public listener, which the gateway reads and writes itself: this costs less than node:http.
 * What Node's parser rejects is also rejected; see request-reader.ts.
 */
import type { Socket } from "node:net";

import { ignore } from "../../shared/ignore.ts";
import { allHeaders } from "../../shared/http/header-lookup.ts";
import { breakOff } from "../break-off.ts";
import type { Parties } from "../admission/parties.ts";
import type { Exchange } from "../exchange.ts";
import { checkHead, NO_TARGET, refuseRequest, type AcceptDeps } from "../listener/accept-h1.ts";
import type { Expectation } from "../listener/connections-h1.ts";
import { beginsWithPreface, leaveToHttp2 } from "../listener/prior-knowledge.ts";
import { handshakeKey, isWebSocketOffer } from "../listener/websocket.ts";
import { watchStalls } from "../stalls.ts";
import { Connection } from "./connection.ts";
import type { Arrival, ConnectionOwner, ExchangeOwner } from "./connection-owner.ts";
import { OwnExchange } from "./exchange.ts";
import type { RequestHead } from "./request-head.ts";
import { UnreadBytes, type UnreadQueue } from "./unread.ts";
import { guardEach, guardSocket } from "../../shared/faults/guard.ts";
import { recur } from "../../shared/timing/recurring.ts";

export interface OwnConnections {
  /** Serves a connection of which nothing has been read. */
  add(socket: Socket): void;
  /** Ends the connections without a request in progress. */
  closeIdle(): void;
  /** Ends all, including those that became WebSockets. */
  destroy(): void;
  /** Call it once no connection is left. */
  close(): void;
}

export interface OwnConnectionsDeps extends AcceptDeps {
  /** Longest time in which a client may read nothing of what is sent to it; 0 or absent: no limit. */
  readonly sendTimeoutMs?: number | undefined;
  /** Called when a connection ends before any byte of these responses was sent. @param by the side that ended it */
  onUnanswered?(by: "client" | "gateway", requests: number): void;
  /** Must not throw. */
  handle(exchange: Exchange): void;
  /** Takes a plain-text connection whose first unread bytes are the HTTP/2 preface. */
  serveHttp2(socket: Socket): void;
  readonly parties: Parties;
  /** Called when there is no memory for a client's input. */
  onNoRoom(): void;
  /** Queue where input may wait before it is read. */
  readonly unread?: UnreadQueue | undefined;
}

/** Time between two checks for late connections. */
const LOOK_MS = 1_000;

/** Finds the connection in functions that all sockets share: closures would cost memory for each idle connection. */
const CONNECTION = Symbol("connection");
/** First bytes that may be an incomplete HTTP/2 preface. */
const BEGINNING = Symbol("beginning");
interface OwnSocket extends Socket {
  [CONNECTION]?: Connection;
  [BEGINNING]?: Buffer | undefined;
}

/** @param peer the listener itself; `draining` changes */
export function createOwnConnections(deps: OwnConnectionsDeps, peer: ExchangeOwner): OwnConnections {
  const { log } = deps;
  const connections = new Set<Connection>();
  const upgraded = new Set<Socket>();
  const owner: ConnectionOwner & { nowMs: number } = {
    secure: peer.secure,
    asksForCertificates: peer.asksForCertificates,
    parties: deps.parties,
    unread: deps.unread,
    noRoom: () => deps.onNoRoom(),
    peer,
    nowMs: performance.now(),
    begin,
    upgraded(connection) {
      const { socket } = connection;
      connections.delete(connection);
      leave(socket);
      upgraded.add(socket);
      socket.once(
        "close",
        guardSocket(socket, () => {
          upgraded.delete(socket);
          connection.leave();
        }),
      );
    },
    closed(connection, unanswered) {
      const { socket } = connection;
      connections.delete(connection);
      const count = unanswered + (connection.unread === undefined ? 0 : 1);
      if (count > 0) deps.onUnanswered?.(socket.readableEnded || socket.errored ? "client" : "gateway", count);
    },
    unreadable(detail, reason) {
      if (reason !== undefined) deps.onRefused?.(reason);
      log.debug({ detail }, "cannot read request");
    },
    turnedHttp2(connection, first) {
      connections.delete(connection);
      connection.leave();
      leave(connection.socket);
      leaveToHttp2(connection.socket, first);
      deps.serveHttp2(connection.socket);
    },
  };
  const stopTimer = recur("check of connections", LOOK_MS, () => {
    owner.nowMs = performance.now();
    // A client in the admission queue waits for us: it is not late.
    for (const connection of connections) if (connection.unread === undefined) look(connection, owner.nowMs);
  });
  function* sockets(): Generator<Socket> {
    for (const { socket } of connections) yield socket;
    yield* upgraded;
  }
  const stopWatching = watchStalls({
    stallMs: deps.sendTimeoutMs ?? 0,
    writers: sockets,
    progressOf: (socket) => socket.bytesWritten - socket.writableLength,
    onStall(socket) {
      log.debug({ peer: socket.remoteAddress }, "client stopped reading, connection closed");
      breakOff(socket);
    },
  });

  function begin(connection: Connection, arrival: Arrival, mayUpgrade: boolean): void {
    const { head } = arrival;
    if (head.method === "CONNECT") {
      connection.refuseMethod();
      return;
    }
    const expectation = expectationOf(head);
    const checked = checkHead(head, owner.secure, expectation);
    const target = checked.ok ? checked.target : NO_TARGET;
    const exchange = new OwnExchange(connection, arrival, target, expectation === "continue");
    exchange.party = connection.party;
    connection.begun(exchange);
    if (!checked.ok) {
      exchange.closesConnection = true;
      refuseRequest(deps, exchange, checked.status, checked.reason);
      return;
    }
    if (mayUpgrade && !exchange.hasBody && head.upgrade !== undefined && asksForWebSocket(head)) {
      exchange.closesConnection = true;
      const key = handshakeKey(exchange);
      if (key === undefined) return;
      exchange.offerWebSocket(key);
    }
    deps.handle(exchange);
  }

  return {
    add(socket: OwnSocket) {
      const connection = new Connection(socket, owner);
      socket[CONNECTION] = connection;
      connections.add(connection);
      // Over TLS the handshake has determined the version.
      socket.on("data", owner.secure ? onData : onBeginning);
      socket.on("drain", onDrain);
      socket.on("end", onEnd);
      socket.on("error", ignore);
      socket.on("close", onClose);
    },
    closeIdle() {
      for (const connection of connections)
        if (!connection.isBusy && connection.unread === undefined) connection.socket.destroy();
    },
    destroy() {
      for (const socket of sockets()) socket.destroy();
    },
    close() {
      stopTimer();
      stopWatching();
    },
  };
}

const look = guardEach((connection: Connection, nowMs: number) => connection.look(nowMs));

function leave(socket: OwnSocket): void {
  socket.off("data", onData);
  socket.off("data", onBeginning);
  socket.off("drain", onDrain);
  socket.off("end", onEnd);
  socket.off("close", onClose);
  delete socket[CONNECTION];
}

function onData(this: OwnSocket, bytes: Buffer): void {
  const connection = this[CONNECTION];
  if (connection !== undefined) takeBytes(connection, bytes);
}

const takeBytes = guardEach((connection: Connection, bytes: Buffer): void => {
  const queue = connection.owner.unread;
  if (connection.unread !== undefined) connection.unread.add(bytes);
  else if (queue?.isCrowded() === true && !connection.isBusy) {
    connection.unread = new UnreadBytes(connection.socket, queue, connection.party, readUnread);
    connection.unread.add(bytes);
  } else connection.take(bytes);
});

function readUnread(socket: OwnSocket, bytes: Buffer): void {
  const connection = socket[CONNECTION];
  if (connection === undefined) return;
  connection.unread = undefined;
  takeUnread(connection, bytes);
}

const takeUnread = guardEach((connection: Connection, bytes: Buffer) => connection.take(bytes));

function onBeginning(this: OwnSocket, bytes: Buffer): void {
  const connection = this[CONNECTION];
  if (connection !== undefined) takeBeginning(connection, this, bytes);
}

const takeBeginning = guardEach((connection: Connection, socket: OwnSocket, bytes: Buffer): void => {
  const beginning = socket[BEGINNING];
  const first = beginning === undefined ? bytes : Buffer.concat([beginning, bytes]);
  const isPreface = beginsWithPreface(first);
  socket[BEGINNING] = isPreface === "partly" ? first : undefined;
  if (isPreface === "partly") return;
  if (isPreface === "yes") {
    connection.owner.turnedHttp2(connection, first);
    return;
  }
  socket.on("data", onData);
  socket.off("data", onBeginning);
  onData.call(socket, first);
});

function onDrain(this: OwnSocket): void {
  const connection = this[CONNECTION];
  if (connection !== undefined) drained(connection);
}

const drained = guardEach((connection: Connection) => connection.drained());

function onEnd(this: OwnSocket): void {
  const connection = this[CONNECTION];
  if (connection !== undefined) ended(connection, this);
}

const ended = guardEach((connection: Connection, socket: OwnSocket): void => {
  const beginning = socket[BEGINNING];
  if (beginning !== undefined) connection.take(beginning);
  connection.ended();
});

function onClose(this: OwnSocket): void {
  const connection = this[CONNECTION];
  if (connection !== undefined) lost(connection);
}

const lost = guardEach((connection: Connection): void => {
  try {
    connection.lost();
  } finally {
    connection.unread?.leave();
  }
});

/** HTTP/1.0 has no expectations (RFC 9110 §10.1.1). */
function expectationOf({ expect, isHttp10 }: RequestHead): Expectation {
  if (expect === undefined || isHttp10) return "none";
  return expect.toLowerCase() === "100-continue" ? "continue" : "unmet";
}

/** Ignores every other Upgrade (RFC 9110 §7.8). */
function asksForWebSocket({ method, isHttp10, upgrade, rawHeaders }: RequestHead): boolean {
  return method === "GET" && !isHttp10 && isWebSocketOffer(upgrade, allHeaders(rawHeaders, "connection").join(","));
}
