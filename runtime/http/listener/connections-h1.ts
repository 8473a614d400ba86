/**
 * Connections of node:http, for the admin and the redirecting listener: each takes its requests in turn and ends so that the last answer arrives.
 *
 * Untrusted input: what clients send behind a request that is not answered yet. Promises: a request begins only when the
 * one before it on its connection has been answered, so that whoever is told `close` can be sure that nothing sent
 * after was done (RFC 9112 §9.3.2, §9.6); what cannot be read behind a good request does not take its answer away; no
 * connection stays open because nobody reads it.
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

/** What a client waits for before it sends the body. "unmet": something that is not "100-continue". */
export type Expectation = "none" | "continue" | "unmet";

export type BeginRequest = (request: IncomingMessage, response: ServerResponse, expectation: Expectation) => void;

export interface Http1Connections {
  /** Takes care of a connection, unless all are taken. */
  add(socket: Socket): void;
}

/** Options for dead peers: asked after a minute of silence, given up some ten seconds later. */
export const TCP_KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Requests that wait behind one that is not answered. More than that is not read. */
const MAX_WAITING = 32;
/** Of their bodies together. */
const MAX_WAITING_BYTES = 65_536;
/** The parser's word for a client that ends its half in the middle of a request. */
const ENDED_WITHIN = "HPE_INVALID_EOF_STATE";

export interface Http1Options {
  readonly log: Log;
}

/** Call it before the server listens. @param isGiven connections are given to `add()` once they speak HTTP/1.1; otherwise all are taken */
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
    // An answer to an earlier request is still on its way: two would share the connection.
    if (connections.get(request.socket)?.isBusy === true) socket.destroy();
    else refuseConnection(socket, 405);
    socket.on("error", ignore);
  }
  function failed(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (isLingering(socket)) return;
    const status = statusOfParserError(error.code);
    if (status === undefined) socket.destroy();
    // As node does it for clients that end between two requests: nobody waits for the answers.
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
  /** Of the request that was begun, until it is over: a connection that waits for the next one holds nothing of the last. */
  #current: ServerResponse | undefined;
  #waiting: Arrival[] | undefined;
  #takesNoMore = false;

  constructor(socket: Socket, begin: BeginRequest) {
    this.#socket = socket;
    this.#begin = begin;
    // What node calls once the answer is written that ends the connection.
    socket.destroySoon = () => closeLingering(socket);
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  take(request: IncomingMessage, response: ServerResponse, expectation: Expectation): void {
    // Behind the last answer: the parser goes on with what it has.
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
    // Before all others: those who hear of the end find the connection free.
    response.on(
      "close",
      guardSocket(this.#socket, () => this.#next()),
    );
    this.#begin(request, response, expectation);
  }

  /**
   * What comes from now on is not read. The answers that are due are given, the last one ends the connection.
   *
   * @returns false when none is due
   */
  stopTaking(): boolean {
    if (this.#takesNoMore) return true;
    // Of a request that is not whole the rest cannot come any more.
    if (this.#waiting?.at(-1)?.request.complete === false) this.#waiting.pop()?.request.resume();
    const last = this.#waiting?.at(-1)?.response ?? this.#current;
    if (last === undefined || !last.req.complete) return false;
    this.#takesNoMore = true;
    // Where its head has not left yet, node says `close` in it.
    last.shouldKeepAlive = false;
    last.once(
      "close",
      guardSocket(this.#socket, () => closeLingering(this.#socket)),
    );
    // Not now: the parser may be at work.
    process.nextTick(
      guardSocket(this.#socket, () => {
        // Without end while answers are due: a connection that is not read does not tell of a client that goes away.
        if (!isLingering(this.#socket)) discardInput(this.#socket, Infinity);
      }),
    );
    return true;
  }

  /**
   * Bodies wait up to a size. Node would stop reading a connection whose body nobody takes: it would not learn of a client
   * that goes away, and the request before would be worked on for nobody, without an end where its answer has none.
   */
  #boundBody(request: IncomingMessage): void {
    request.push = (chunk: unknown, encoding?: BufferEncoding) => {
      const isBelowMark = Readable.prototype.push.call(request, chunk, encoding);
      if (chunk === null || !this.#isWaiting(request)) return isBelowMark;
      let bytes = 0;
      for (const each of this.#waiting ?? []) bytes += each.request.readableLength;
      if (!isBelowMark || bytes > MAX_WAITING_BYTES) this.stopTaking();
      return true;
    };
  }

  #isWaiting(request: IncomingMessage): boolean {
    return this.#waiting?.some((each) => each.request === request) === true;
  }

  readonly #next = (): void => {
    this.#current = undefined;
    if (this.#waiting === undefined) return;
    // The answer was the last one: what came behind it is as if it had never come.
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
