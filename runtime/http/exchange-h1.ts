/** The Exchange over one request and response of node:http. server.ts has checked target and headers before. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";

import { breakOff } from "./break-off.ts";
import { clientCertificateOf, type ClientCertificate } from "./listener/client-certificate.ts";
import type { Exchange } from "./exchange.ts";
import { guard, guardEach } from "../shared/faults/guard.ts";
import type { HeaderTraits } from "../shared/http/header-traits.ts";
import { closeLingering, MAX_DISCARDED_BYTES } from "./linger.ts";
import { handshakeAnswer } from "./listener/websocket.ts";
import { ReceivedRequest, type RequestTarget } from "./received-request.ts";
import { ignore } from "../shared/ignore.ts";

/** What the exchange asks of the server it belongs to. */
export interface ExchangeOwner {
  readonly secure: boolean;
  /** Clients are asked for certificates. */
  readonly asksForCertificates: boolean;
  /** True while the server is shutting down: every answer then closes its connection. */
  readonly draining: boolean;
}

/** Up to here head and body leave in one write; copying them together is cheaper than a second write. */
const ONE_WRITE_BYTES = 16_384;
/** How long a body that nobody wanted is read, before the connection is closed. */
const MAX_DISCARD_MS = 5_000;

export class Http1Exchange extends ReceivedRequest implements Exchange {
  /** The answer says `close`: nothing behind this request is looked at. */
  closesConnection = false;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #owner: ExchangeOwner;
  /** Until it leaves, with a first piece of the body or alone: a mistake meanwhile is still answered 500. */
  #pending: { readonly status: number; readonly headers: readonly string[] } | undefined;
  #wrote = false;
  #countsUnsent = false;
  #givesBack = false;
  #closeListeners: ((complete: boolean) => void)[] | undefined;
  #awaitsContinue: boolean;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    owner: ExchangeOwner,
    target: RequestTarget,
    traits: readonly HeaderTraits[],
    hasBody: boolean,
    awaitsContinue: boolean,
  ) {
    super(request.method ?? "GET", target, request.rawHeaders, traits, hasBody);
    this.#request = request;
    this.#response = response;
    this.#owner = owner;
    this.#awaitsContinue = awaitsContinue;
  }

  get secure(): boolean {
    return this.#owner.secure;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.#owner.asksForCertificates ? clientCertificateOf(this.#request.socket as TLSSocket) : undefined;
  }

  get status(): number {
    if (this.#pending) return this.#pending.status;
    if (this.#response.headersSent) return this.#response.statusCode;
    return this.started ? 101 : 0;
  }

  get remoteAddress(): string {
    return this.forwardedFor === undefined ? (this.#request.socket.remoteAddress ?? "") : this.forwardedFor.address;
  }

  get httpVersion(): "1.0" | "1.1" {
    return this.#request.httpVersionMinor === 0 ? "1.0" : "1.1";
  }

  get trailers(): readonly string[] {
    return this.#request.rawTrailers;
  }

  /** The first look at the body tells a waiting client to send it (RFC 9110 §10.1.1). */
  get body(): Readable {
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      if (!this.started) this.#response.writeContinue();
    }
    return this.#request;
  }

  start(status: number, headers: readonly string[]): void {
    this.started = true;
    this.#pending = { status, headers };
    // The body may come much later (a stream): the head must not wait for it, but may leave together with a first chunk.
    process.nextTick(flushHead, this);
  }

  write(chunk: Buffer | string): boolean {
    // Of an answer that was taken back more may come. Node would raise an error that nobody catches.
    if (this.#response.writableEnded) return true;
    this.#headPending();
    this.#wrote = true;
    const takesMore = this.#response.write(chunk);
    if (!takesMore) this.#countUnsent();
    return takesMore;
  }

  onDrain(listener: () => void): void {
    this.#response.once("drain", guard(this, listener));
  }

  end(chunk?: Buffer | string, trailers: readonly string[] = NONE): void {
    if (this.#response.writableEnded) return;
    this.#headPending();
    // Node leaves them out where the body does not come in chunks.
    if (trailers.length > 0) this.#response.addTrailers(pairsOf(trailers));
    if (chunk === undefined || chunk.length === 0) this.#response.end();
    else if (typeof chunk === "string" || this.#wrote || chunk.length > ONE_WRITE_BYTES) this.#response.end(chunk);
    // As a latin1 string node joins it with the head into one write, byte for byte.
    else this.#response.end(chunk.toString("latin1"), "latin1");
    this.#wrote = true;
    if (this.#response.writableNeedDrain) this.#countUnsent();
    if (this.hasBody && !this.#request.complete) this.#discardRest();
  }

  respond(status: number, headers: readonly string[], body?: Buffer | string): void {
    if (this.hasBody && !this.#request.complete) this.closesConnection ||= this.#isLong();
    this.#head(status, headers);
    this.end(body);
  }

  override takeBack(): boolean {
    if (!this.#pending || this.#response.closed) return false;
    this.#pending = undefined;
    this.started = false;
    return true;
  }

  abort(): void {
    const { socket } = this.#request;
    // The connection may be another request's by now.
    if (this.#response.closed) return;
    // A plain close would look like the end of an answer that is delimited by it.
    if (this.started && !this.#response.writableFinished) breakOff(socket);
    else socket.destroy();
  }

  onClose(listener: (complete: boolean) => void): void {
    if (this.#closeListeners) {
      this.#closeListeners.push(listener);
      return;
    }
    const listeners = [listener];
    this.#closeListeners = listeners;
    const response = this.#response;
    const tell = (): void => {
      // Who asks from now on is told by a tick of its own.
      this.#closeListeners = undefined;
      for (const each of listeners) tellListener(this, each, response.writableFinished);
    };
    // Gone while somebody was waited for: the event has passed and will not come again.
    if (response.closed || this.#request.socket.destroyed) process.nextTick(guard(this, tell));
    else response.on("close", guard(this, tell));
  }

  #countUnsent(): void {
    const response = this.#response;
    if (!this.#countsUnsent)
      response.on(
        "drain",
        guard(this, () => this.holdUnsent(response.writableLength)),
      );
    this.#countsUnsent = true;
    if (!this.holdUnsent(response.writableLength)) this.abort();
  }

  override hold(bytes: number): boolean {
    if (!this.#givesBack) this.onClose(guard(this, () => this.giveBack()));
    this.#givesBack = true;
    return super.hold(bytes);
  }

  /** Makes this the opening handshake of WebSocket. @param takeEarly takes what came behind the head already */
  offerWebSocket(key: string, takeEarly: () => Buffer): void {
    this.upgrade = { protocol: "websocket", accept: (headers) => this.#acceptWebSocket(key, takeEarly(), headers) };
  }

  /** Sends the head alone when nothing has been written with it by now. For `start()`. */
  flush(): void {
    this.#headPending();
    if (!this.#wrote && !this.#response.writableEnded) this.#response.flushHeaders();
  }

  #headPending(): void {
    if (!this.#pending) return;
    const { status, headers } = this.#pending;
    this.#head(status, headers);
    this.#pending = undefined;
  }

  #head(status: number, headers: readonly string[]): void {
    this.started = true;
    // A client that still waits for "100 Continue" may or may not send its body now: the next bytes have two readings.
    const closes = this.#owner.draining || this.#awaitsContinue || this.closesConnection;
    this.#response.writeHead(status, (closes ? [...headers, "connection", "close"] : headers) as string[]);
  }

  /** Of a body that will not be read to its end anyway the client is told at once. */
  #isLong(): boolean {
    return Number(this.header("content-length") ?? 0) > MAX_DISCARDED_BYTES;
  }

  #acceptWebSocket(key: string, rest: Buffer, headers: readonly string[]): Duplex {
    this.started = true;
    const { socket } = this.#request;
    this.#response.detachSocket(socket);
    socket.once(
      "close",
      guard(this, () => this.giveBack()),
    );
    let head = handshakeAnswer(key);
    for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
    socket.write(`${head}\r\n`, "latin1");
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  }

  /** Reads on for a while after an early answer: closing at once would destroy the answer on its way (RFC 9112 §9.6). */
  #discardRest(): void {
    const request = this.#request;
    let left = MAX_DISCARDED_BYTES;
    const timer = setTimeout(
      guard(this, () => closeLingering(request.socket)),
      MAX_DISCARD_MS,
    );
    timer.unref();
    request.on(
      "data",
      guard(this, (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) closeLingering(request.socket);
      }),
    );
    request.once(
      "close",
      guard(this, () => clearTimeout(timer)),
    );
    request.on("error", ignore);
    request.resume();
  }
}

const NONE: readonly string[] = [];

const tellListener = guardEach(
  (_exchange: Http1Exchange, listener: (complete: boolean) => void, isComplete: boolean): void => listener(isComplete),
);

function pairsOf(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] as string]] : []));
}

const flushHead = guardEach((exchange: Http1Exchange) => exchange.flush());
