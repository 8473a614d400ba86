/**
 * node:http connections of the admin listener: each handles its requests in turn and ends so that the
 * last response arrives.
 *
 * Untrusted input: requests that clients send after one that is not answered yet. Promises: a request begins only when the
 * one before it has been answered, so that after `close` a client can be sure that no later request was executed (RFC 9112
 * §9.3.2, §9.6); unreadable input after a good request does not drop its response; no connection stays open because its input
 * is not read.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { Readable, type Duplex } from "node:stream";

import type { Log } from "../../shared/log.ts";
import { closeLingering, discardInput, isLingering } from "../linger.ts";
import { refuseConnection, statusOfParserError } from "./refuse-connection.ts";
import { ignore } from "../../shared/ignore.ts";
import { guardSocket } from "../../shared/faults/guard.ts";

/** The client's condition for sending the body. "unmet": an expectation other than "100-continue". */
export type Expectation = "none" | "continue" | "unmet";

export type BeginRequest = (request: IncomingMessage, response: ServerResponse, expectation: Expectation) => void;

export interface Http1Connections {
  /** Serves a connection, unless `takeInTurn()` takes all of them. */
  add(socket: Socket): void;
}

/** Options for detecting dead peers: probed after an idle minute, dropped about ten seconds later. */
export const TCP_KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Most requests that wait after one that is not answered. More are not read. */
const MAX_WAITING = 32;
/** Limit for their bodies together. */
const MAX_WAITING_BYTES = 65_536;
/** The parser's code for a client that ends its half in the middle of a request. */
const ENDED_WITHIN = "HPE_INVALID_EOF_STATE";

export interface Http1Options {
  readonly log: Log;
}

/**
 * Call it before the server listens. @param isGiven connections are passed to `add()` once they speak HTTP/1.1; otherwise all
 * are taken
 */
export function takeInTurn(
  server: Server | SecureServer,
  isGiven: boolean,
  begin: BeginRequest,
  options: Http1Options,
): Http1Connections {
  const { log } = options;
  const connections = new Map<Socket, Http1Connection>();
  const add = (socket: Socket): void => {
    connections.set(socket, new Http1Connection(socket, begin));
    socket.once(
      "close",
      guardSocket(socket, () => connections.delete(socket)),
    );
  };
  const take = (request: IncomingMessage, response: ServerResponse, expectation: Expectation): void => {
    const connection = connections.get(request.socket);
    guardSocket(request.socket, () => connection?.take(request, response, expectation))();
  };
  if (!isGiven) server.on("connection", (socket: Socket) => guardSocket(socket, add)(socket));
  server.on("request", (request, response) => take(request, response, "none"));
  server.on("checkContinue", (request, response) => take(request, response, "continue"));
  server.on("checkExpectation", (request, response) => take(request, response, "unmet"));
  server.on("connect", (request: IncomingMessage, socket: Duplex) =>
    guardSocket(socket, refuseConnect)(request, socket),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) =>
    guardSocket(socket, failed)(error, socket),
  );
  function refuseConnect(request: IncomingMessage, socket: Duplex): void {
    // The response to an earlier request is still on its way: the two would share the connection.
    if (connections.get(request.socket)?.isBusy === true) socket.destroy();
    else refuseConnection(socket, 405);
    socket.on("error", ignore);
  }
  function failed(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (isLingering(socket)) return;
    const status = statusOfParserError(error.code);
    if (status === undefined) socket.destroy();
    // Like node for clients that end between two requests: they do not wait for the responses.
    else if (error.code === ENDED_WITHIN && connections.get(socket as Socket)?.isBusy === true) closeLingering(socket);
    else if (connections.get(socket as Socket)?.stopTaking() !== true) refuseConnection(socket, status);
    log.debug({ failure: error.code }, "cannot read request");
  }
  return { add };
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectation: Expectation;
}

class Http1Connection {
  readonly #socket: Socket;
  readonly #begin: BeginRequest;
  /** Response of the current request, until that is over: an idle connection holds nothing of the last one. */
  #current: ServerResponse | undefined;
  #waiting: Arrival[] | undefined;
  #takesNoMore = false;

  constructor(socket: Socket, begin: BeginRequest) {
    this.#socket = socket;
    this.#begin = begin;
    // Node calls this after the response that ends the connection.
    socket.destroySoon = () => closeLingering(socket);
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  take(request: IncomingMessage, response: ServerResponse, expectation: Expectation): void {
    // After the last response: the parser continues with the bytes it has.
    if (this.#socket.writableEnded) {
      request.resume();
      return;
    }
    if (!this.isBusy && !this.#takesNoMore) {
      this.#answer({ request, response, expectation });
      return;
    }
    this.#waiting ??= [];
    if (this.#takesNoMore || this.#waiting.length === MAX_WAITING) {
      request.resume();
      this.stopTaking();
      return;
    }
    this.#waiting.push({ request, response, expectation });
    this.#boundBody(request);
  }

  #answer({ request, response, expectation }: Arrival): void {
    this.#current = response;
    // First, so that later listeners find the connection free.
    response.on(
      "close",
      guardSocket(this.#socket, () => this.#next()),
    );
    this.#begin(request, response, expectation);
  }

  /**
   * Stops reading further requests. Pending responses are sent, and the last one ends the connection.
   *
   * @returns false when no response is pending
   */
  stopTaking(): boolean {
    if (this.#takesNoMore) return true;
    // The rest of an incomplete request cannot come now.
    if (this.#waiting?.at(-1)?.request.complete === false) this.#waiting.pop()?.request.resume();
    const last = this.#waiting?.at(-1)?.response ?? this.#current;
    if (last === undefined || !last.req.complete) return false;
    this.#takesNoMore = true;
    // If its head has not left yet, node writes `close` into it.
    last.shouldKeepAlive = false;
    last.once(
      "close",
      guardSocket(this.#socket, () => closeLingering(this.#socket)),
    );
    // Later: the parser may be running.
    process.nextTick(
      guardSocket(this.#socket, () => {
        // No limit while responses are pending: a connection that is not read does not notice that the client leaves.
        if (!isLingering(this.#socket)) discardInput(this.#socket, Infinity);
      }),
    );
    return true;
  }

  /**
   * Holds waiting bodies up to a size. Node would stop reading a connection with an unread body. It would not notice that the
   * client leaves, and the request before would run without a reader, forever if its response has no end.
   */
  #boundBody(request: IncomingMessage): void {
    // Not written where it is assigned: see `guardInput` in http/exchange-h2.ts.
    const bounded = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      const isBelowMark = Readable.prototype.push.call(request, chunk, encoding);
      if (chunk === null || !this.#isWaiting(request)) return isBelowMark;
      let bytes = 0;
      for (const each of this.#waiting ?? []) bytes += each.request.readableLength;
      if (!isBelowMark || bytes > MAX_WAITING_BYTES) this.stopTaking();
      return true;
    };
    request.push = bounded;
  }

  #isWaiting(request: IncomingMessage): boolean {
    return this.#waiting?.some((each) => each.request === request) === true;
  }

  readonly #next = (): void => {
    this.#current = undefined;
    if (this.#waiting === undefined) return;
    // That response was the last one: requests after it are ignored.
    if (this.#socket.writableEnded || this.#socket.destroyed) {
      for (const { request } of this.#waiting) request.resume();
      this.#waiting = undefined;
      return;
    }
    const arrival = this.#waiting.shift();
    if (arrival === undefined) this.#waiting = undefined;
    else this.#answer(arrival);
  };
}
