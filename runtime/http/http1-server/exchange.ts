/** The Exchange over one request on an HTTP/1.1 connection. Its head has been checked. */
import type { Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";

import { breakOff } from "../break-off.ts";
import { guard, guardEach } from "../../shared/faults/guard.ts";
import type { Exchange } from "../exchange.ts";
import { clientCertificateOf, type ClientCertificate } from "../listener/client-certificate.ts";
import { handshakeAnswer } from "../listener/websocket.ts";
import { MAX_DISCARDED_BYTES } from "../linger.ts";
import { ReceivedRequest, type RequestTarget } from "../received-request.ts";
import { answerHead, CHUNKED, fieldText, NO_BODY, OF_LENGTH, trailerText, UNTIL_CLOSE } from "./answer-head.ts";
import { IDLE_MS, type Connection } from "./connection.ts";
import type { Arrival } from "./connection-owner.ts";
import { RequestBody } from "./request-body.ts";

/** Up to this size, head and body leave as one text: copying is cheaper than writing two parts together. Measured: even at 6 KiB. */
const ONE_WRITE_BYTES = 6_144;
const CLOSE = "Connection: close\r\n\r\n";
const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${IDLE_MS / 1_000}\r\n\r\n`;

export class OwnExchange extends ReceivedRequest implements Exchange {
  readonly wholeBody: Buffer | undefined;
  status = 0;
  trailers: readonly string[] = NONE;
  /** The response says `close`: no input after this request is read. */
  closesConnection: boolean;
  /** The whole response has been written. */
  isEnded = false;
  /** The system has taken the whole response. */
  isAnswered = false;
  readonly #connection: Connection;
  readonly #isHttp10: boolean;
  #body: RequestBody | undefined = undefined;
  #isBodyWhole: boolean;
  #awaitsContinue: boolean;
  /** Head of the response while it is unsent. */
  #headText = "";
  #framing = NO_BODY;
  /** Missing bytes of a response with a declared length. */
  #left = 0;
  #isOver = false;
  #closeListeners: ((complete: boolean) => void)[] | undefined = undefined;
  #drainListeners: readonly (() => void)[] = NO_LISTENERS;

  constructor(
    connection: Connection,
    { head, isWhole, body }: Arrival,
    target: RequestTarget,
    awaitsContinue: boolean,
  ) {
    super(head.method, target, head.rawHeaders, head.traits, !isWhole || body !== undefined);
    this.wholeBody = body;
    this.closesConnection = head.closes || !head.keepsAlive;
    this.#isBodyWhole = isWhole;
    this.#isHttp10 = head.isHttp10;
    this.#connection = connection;
    this.#awaitsContinue = awaitsContinue && !isWhole;
  }

  get secure(): boolean {
    return this.#connection.owner.secure;
  }

  get serverName(): string | undefined {
    const { owner, socket } = this.#connection;
    return owner.secure ? (socket as TLSSocket).servername || undefined : undefined;
  }

  get clientCertificate(): ClientCertificate | undefined {
    const { owner, socket } = this.#connection;
    return owner.asksForCertificates ? clientCertificateOf(socket as TLSSocket) : undefined;
  }

  get remoteAddress(): string {
    return this.forwardedFor === undefined ? this.#connection.remoteAddress : this.forwardedFor.address;
  }

  get httpVersion(): "1.0" | "1.1" {
    return this.#isHttp10 ? "1.0" : "1.1";
  }

  /** The first access tells a waiting client to send the body (RFC 9110 §10.1.1). */
  get body(): Readable {
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      if (!this.started) this.#connection.write("HTTP/1.1 100 Continue\r\n\r\n");
    }
    return this.#openBody();
  }

  start(status: number, headers: readonly string[]): void {
    this.#head(status, headers);
    // Flush the head soon: a stream's body may come much later. Until then, a first chunk can leave in the same write.
    process.nextTick(flushHead, this);
  }

  write(chunk: Buffer | string): boolean {
    if (this.isEnded || this.#isOver || this.#framing === NO_BODY || chunk.length === 0) return true;
    return this.#send(bytesOf(chunk));
  }

  get isFlushed(): boolean {
    return this.#connection.isFlushed;
  }

  onDrain(listener: () => void): void {
    this.#drainListeners = this.#drainListeners.concat(listener);
  }

  end(chunk?: Buffer | string, trailers: readonly string[] = NONE): void {
    if (this.isEnded || this.#isOver) return;
    if (chunk !== undefined && chunk.length > 0 && this.#framing !== NO_BODY) this.#send(bytesOf(chunk));
    // A response shorter than declared must not look complete. A longer one was aborted already.
    if (this.#framing === OF_LENGTH && this.#left !== 0) return this.abort();
    const last = this.#framing === CHUNKED ? `${this.#headText}0\r\n${trailerText(trailers)}\r\n` : this.#headText;
    this.#finish(last);
  }

  respond(status: number, headers: readonly string[], body?: Buffer | string): void {
    // Tell the client now that a body above the limit will not be read to its end.
    if (!this.#isBodyWhole && Number(this.header("content-length") ?? 0) > MAX_DISCARDED_BYTES)
      this.closesConnection = true;
    this.#head(status, headers);
    if (body === undefined || this.#framing !== OF_LENGTH || body.length > ONE_WRITE_BYTES) return this.end(body);
    const bytes = bytesOf(body);
    if (bytes.length !== this.#left) return this.end(bytes);
    this.#left = 0;
    if (this.secure) this.#finish(this.#headText + bytes.toString("latin1"));
    else this.#finish(this.#headText, bytes);
  }

  override takeBack(): boolean {
    if (this.#headText === "" || this.isEnded || this.#isOver) return false;
    this.#headText = "";
    this.started = false;
    this.status = 0;
    return true;
  }

  abort(): void {
    const { socket } = this.#connection;
    // Another request may use the connection by now.
    if (this.#isOver) return;
    // A plain close would look like the end of a response that is delimited by it.
    if (this.started) breakOff(socket);
    else socket.destroy();
  }

  onClose(listener: (complete: boolean) => void): void {
    if (this.#isOver) process.nextTick(tellListener, this, listener, this.isAnswered);
    else if (this.#closeListeners === undefined) this.#closeListeners = [listener];
    else this.#closeListeners.push(listener);
  }

  /** Makes this the opening handshake of WebSocket. */
  offerWebSocket(key: string): void {
    this.upgrade = { protocol: "websocket", accept: (headers) => this.#acceptWebSocket(key, headers) };
  }

  /** For `start()`: sends the head on its own if nothing has been written with it by now. */
  flush(): void {
    if (this.#headText === "" || this.isEnded || this.#isOver) return;
    this.#connection.write(this.#headText);
    this.#headText = "";
  }

  drained(): void {
    this.holdUnsent(this.#connection.socket.writableLength);
    const listeners = this.#drainListeners;
    this.#drainListeners = NO_LISTENERS;
    for (const listener of listeners) drainListener(this, listener);
  }

  takeBody(chunk: Buffer): void {
    const body = this.#openBody();
    body.feed(chunk);
    if (!this.#isOver && !this.holdUnread(body.readableLength)) this.abort();
  }

  finishBody(trailers: readonly string[] = NONE): void {
    const body = this.#openBody();
    this.trailers = trailers;
    this.#isBodyWhole = true;
    // After the response the body was discarded. Ending it normally would make it look complete to its reader.
    if (this.isEnded) body.breakOff();
    else body.feedEnd();
  }

  /** Called when the response is complete, or no more of it can be sent. */
  over(isAnswered: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isAnswered = isAnswered;
    this.giveBack();
    this.#drainListeners = NO_LISTENERS;
    // Later, not in the stack of the caller.
    if (this.#closeListeners !== undefined) process.nextTick(tellClosed, this);
  }

  lost(): void {
    this.over(false);
    if (!this.#isBodyWhole) this.#body?.breakOff();
  }

  /** For `over()`. */
  tellClosed(): void {
    const listeners = this.#closeListeners ?? [];
    this.#closeListeners = undefined;
    for (const each of listeners) tellListener(this, each, this.isAnswered);
  }

  #openBody(): RequestBody {
    if (this.#body === undefined) {
      this.#body = new RequestBody(this.#connection);
      // All of it is here: pausing the connection would only hide that its client leaves.
      if (this.wholeBody !== undefined) this.#body.push(this.wholeBody);
      if (this.#isBodyWhole) this.#body.feedEnd();
    }
    return this.#body;
  }

  #finish(text: string, bytes?: Buffer): void {
    this.#headText = "";
    this.isEnded = true;
    this.#connection.finish(text, this, bytes);
  }

  #send(chunk: Buffer): boolean {
    const takesMore = this.#write(chunk);
    if (!takesMore && !this.holdUnsent(this.#connection.socket.writableLength)) this.abort();
    return takesMore;
  }

  #write(chunk: Buffer): boolean {
    const isShort = chunk.length <= ONE_WRITE_BYTES;
    const head = this.#headText;
    this.#headText = "";
    if (this.#framing === CHUNKED) {
      const before = `${head}${chunk.length.toString(16)}\r\n`;
      return isShort
        ? this.#connection.write(`${before}${chunk.toString("latin1")}\r\n`)
        : this.#connection.writeBytes(before, chunk, "\r\n");
    }
    if (this.#framing === OF_LENGTH) {
      this.#left -= chunk.length;
      if (this.#left < 0) {
        this.abort();
        return true;
      }
    }
    return isShort && head !== ""
      ? this.#connection.write(head + chunk.toString("latin1"))
      : this.#connection.writeBytes(head, chunk);
  }

  /** @throws TypeError for fields that cannot be written; the response is not started then */
  #head(status: number, headers: readonly string[]): void {
    if (this.started) throw new Error("Cannot answer twice");
    const mayHaveBody = this.method !== "HEAD" && status !== 204 && status !== 304;
    const head = answerHead(status, headers, mayHaveBody, this.#isHttp10);
    this.started = true;
    this.status = status;
    this.#framing = head.framing;
    this.#left = head.length;
    // A client that still waits for "100 Continue" may or may not send its body now, so the next bytes are ambiguous.
    const hasTwoReadings = this.#awaitsContinue;
    if (this.#connection.owner.peer.draining || hasTwoReadings || head.framing === UNTIL_CLOSE)
      this.closesConnection = true;
    this.#headText = head.text + (this.closesConnection ? CLOSE : KEEP_ALIVE);
  }

  #acceptWebSocket(key: string, headers: readonly string[]): Duplex {
    const { text } = fieldText(headers);
    this.started = true;
    this.status = 101;
    const socket = this.#connection.detach();
    socket.once(
      "close",
      guard(this, () => this.giveBack()),
    );
    socket.write(`${handshakeAnswer(key)}${text}\r\n`, "latin1");
    return socket;
  }
}

const NONE: readonly string[] = [];
const NO_LISTENERS: readonly never[] = [];

function bytesOf(chunk: Buffer | string): Buffer {
  return typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

const flushHead = guardEach((exchange: OwnExchange) => exchange.flush());
const tellClosed = guardEach((exchange: OwnExchange) => exchange.tellClosed());
const tellListener = guardEach(
  (_exchange: OwnExchange, listener: (complete: boolean) => void, isComplete: boolean): void => listener(isComplete),
);
const drainListener = guardEach((_exchange: OwnExchange, listener: () => void): void => listener());
