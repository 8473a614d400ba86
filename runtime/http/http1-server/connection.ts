/**
 * One HTTP/1.1 connection, read and written by our own code: one state machine, one request at a time.
 *
 * Untrusted input: the client's bytes. Promises: a request begins only when the one before it has been answered; bytes that
 * come meanwhile are held, within bounds, and ignored if the response says `close` (RFC 9112 §9.3.2, §9.6); nothing after
 * unreadable input is read; each state that a silent client can prolong has a timeout.
 */
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";

import { closeLingering, isLingering, MAX_DISCARDED_BYTES } from "../linger.ts";
import { refuseConnection } from "../listener/refuse-connection.ts";
import { Backlog } from "./backlog.ts";
import type { ConnectionOwner } from "./connection-owner.ts";
import type { OwnExchange } from "./exchange.ts";
import type { Party } from "../admission/parties.ts";
import type { BodySource } from "./request-body.ts";
import type { RequestHead } from "./request-head.ts";
import { RequestReader, type ReadProblem, type RequestSink } from "./request-reader.ts";
import type { UnreadBytes } from "./unread.ts";
import { writeJoined, writeTogether } from "../../shared/http/write-together.ts";
import { endConnection } from "../end-broken.ts";
import { guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** Longest time for the head of a request, from its first byte, or from the start of the connection. */
export const HEAD_MS = 30_000;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
export const IDLE_MS = 65_000;
/** Longest time for reading an unwanted body before the connection is closed. */
const DISCARD_MS = 5_000;

/** Purpose of the deadline. */
const NOTHING = 0;
const FOR_HEAD = 1;
const FOR_REQUEST = 2;
const FOR_REST = 3;

export class Connection implements RequestSink, BodySource, Guarded {
  readonly socket: Socket;
  readonly owner: ConnectionOwner;
  /** Cached: Node queries the system for each access. */
  readonly remoteAddress: string;
  /** The client. */
  readonly party: Party;
  /** Unparsed bytes that wait in the admission queue. */
  unread: UnreadBytes | undefined;
  /** Its bytes that are counted as held, apart from those of its exchange. */
  #heldBytes = 0;
  readonly #reader: RequestReader = new RequestReader(this);
  /** The request whose response or body is not complete. */
  #exchange: OwnExchange | undefined;
  /** Bytes after a request that is not answered. */
  #backlog: Backlog | undefined;
  #due = FOR_HEAD;
  #dueMs: number;
  #discarded = 0;
  /** True while `#read()` runs further up the stack. */
  #isTaking = false;
  #isPaused = false;
  /** Further input is not read as requests. */
  #isClosing = false;
  /** Another handler owns the socket. */
  #isDetached = false;

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.party = owner.parties.connect(this.remoteAddress);
    this.#dueMs = owner.nowMs + HEAD_MS;
  }

  get isBusy(): boolean {
    return this.#exchange !== undefined || this.#reader.isInHead;
  }

  /** Ends the connection if its deadline has passed. */
  look(nowMs: number): void {
    if (this.#due === NOTHING || nowMs < this.#dueMs || this.#isClosing) return;
    if (this.#due === FOR_HEAD) this.#refuse({ status: 408, detail: "its headers did not arrive in time" });
    else if (this.#due === FOR_REST) this.#close();
    else this.socket.destroy();
  }

  take(bytes: Buffer): void {
    if (this.#isClosing) return;
    if (this.#backlog === undefined) this.#read(bytes);
    else this.#hold(bytes);
    this.#count();
  }

  /** Called when it is closed, or another handler owns it. */
  leave(): void {
    this.#isClosing = true;
    this.#backlog = undefined;
    this.#count();
    this.party.leave();
  }

  /** The client has closed its half. As in node:http, it does not wait for responses then. */
  ended(): void {
    if (this.#isClosing) return;
    if (this.#exchange === undefined && this.#reader.isInHead)
      this.#refuse({ status: 400, detail: "the connection ended within the headers" });
    else this.#close();
  }

  drained(): void {
    this.#exchange?.drained();
  }

  lost(): void {
    const exchange = this.#exchange;
    const waiting = this.#backlog?.count() ?? 0;
    const isUnanswered = exchange !== undefined && !exchange.started;
    this.#isClosing = true;
    this.owner.closed(this, (isUnanswered ? 1 : 0) + waiting);
    this.#exchange = undefined;
    this.leave();
    exchange?.lost();
  }

  onHead(head: RequestHead, isWhole: boolean, body?: Buffer): void {
    this.#due = NOTHING;
    this.owner.begin(this, { head, isWhole, body }, this.#backlog === undefined);
  }

  /** Sets the exchange of the request that was read last. */
  begun(exchange: OwnExchange): void {
    this.#exchange = exchange;
    if (this.#backlog?.begins() === true) exchange.closesConnection = true;
  }

  onData(chunk: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#isClosing) return;
    if (!exchange.isEnded) return exchange.takeBody(chunk);
    this.#discarded += chunk.length;
    if (this.#discarded > MAX_DISCARDED_BYTES) this.#close();
  }

  onEnd(trailers: string[] | undefined, closes: boolean): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    exchange.closesConnection ||= closes;
    // The body is complete: a slow reader of the response gets the time limits of any other response.
    this.#due = NOTHING;
    exchange.finishBody(trailers);
    // The reader of the body may take its time. A connection that is not read does not notice that the client leaves.
    this.resumeReading();
    if (exchange.isAnswered) this.#goOn(exchange);
  }

  /** Called for a bug of ours: ends the current request, and the connection with it. */
  broke(error: unknown): void {
    this.#isTaking = false;
    endConnection(this.socket, this.#exchange, error);
  }

  pauseReading(): void {
    if (this.#isClosing) return;
    this.#isPaused = true;
    this.socket.pause();
  }

  resumeReading(): void {
    if (!this.#isPaused || this.#isClosing) return;
    this.#isPaused = false;
    this.socket.resume();
  }

  /** Writes text of a response, one byte for each character. @returns false if the caller should wait for "drain" */
  write(text: string): boolean {
    return this.#isClosing || this.socket.write(text, "latin1");
  }

  /** Writes bytes, with text before and after them. */
  writeBytes(before: string, bytes: Buffer, after = ""): boolean {
    return this.#isClosing || writeTogether(this.socket, before, bytes, after);
  }

  /** True once the system has copied everything written. Over TLS this is unknown. */
  get isFlushed(): boolean {
    return !this.owner.secure && this.socket.writableLength === 0;
  }

  /** Writes the end of a response. Notifies the exchange once the system has all of it. @param bytes short; not over TLS */
  finish(text: string, exchange: OwnExchange, bytes?: Buffer): void {
    if (this.#isClosing) return;
    const { socket } = this;
    if (this.#reader.isInBody) this.#discardRest();
    // Over TLS the system always takes bytes later. In plain text it mostly takes them immediately: no callback is needed.
    if (this.owner.secure) {
      socket.write(text, "latin1", (error) => void (error ?? this.answered(exchange)));
      return;
    }
    if (bytes !== undefined) writeJoined(socket, text, bytes);
    else if (text !== "") socket.write(text, "latin1");
    if (socket.writableLength === 0) this.answered(exchange);
    else socket.write("", (error) => void (error ?? tellAnswered(this, exchange)));
  }

  /** Hands the connection over, with the bytes after the head. */
  detach(): Duplex {
    const { socket } = this;
    const early = this.#backlog?.take();
    this.#exchange = undefined;
    this.#backlog = undefined;
    this.#isClosing = true;
    this.#isDetached = true;
    this.#due = NOTHING;
    this.owner.upgraded(this);
    socket.pause();
    if (early !== undefined) socket.unshift(early);
    return socket;
  }

  /** Rejects the input: it is not a request, or only the beginning of one. */
  #refuse({ status, detail, reason }: ReadProblem): void {
    const exchange = this.#exchange;
    const isBehind = this.#backlog !== undefined && exchange === undefined;
    this.owner.unreadable(detail, reason);
    this.#isClosing = true;
    this.#backlog = undefined;
    // Unreadable input after a good request must not drop the response to that request.
    if ((isBehind && reason === undefined) || exchange?.isEnded === true) closeLingering(this.socket);
    else if (exchange?.started === true) this.socket.destroy();
    else refuseConnection(this.socket, status, status === 503 ? "request.overloaded" : reason && `request.${reason}`);
    exchange?.lost();
  }

  /** Rejects CONNECT. */
  refuseMethod(): void {
    this.#refuse({ status: 405, detail: "its method is CONNECT" });
  }

  #read(bytes: Buffer): void {
    const { length } = bytes;
    let at = 0;
    this.#isTaking = true;
    while (at < length && !this.#isClosing) {
      if (this.#exchange !== undefined && !this.#reader.isInBody) {
        this.#hold(at === 0 ? bytes : bytes.subarray(at), true);
        break;
      }
      at = this.#reader.read(bytes, at, length);
      const { problem } = this.#reader;
      if (problem !== undefined && !this.#isClosing) this.#refuse(problem);
    }
    this.#isTaking = false;
    if (this.#isDetached && at < length) this.socket.unshift(bytes.subarray(at));
    if (this.#exchange === undefined && this.#due !== FOR_HEAD && this.#reader.isInHead) this.#wait(FOR_HEAD, HEAD_MS);
  }

  /** @param bytes after a request that is not answered @param isRest returned by the reader of that request */
  #hold(bytes: Buffer, isRest = false): void {
    const exchange = this.#exchange;
    // Ignored. They are read anyway: otherwise the connection would not notice that the client leaves.
    if (exchange?.closesConnection === true && exchange.upgrade === undefined) {
      this.#backlog = undefined;
      return;
    }
    if (isRest && this.#backlog !== undefined) return this.#backlog.giveBack(bytes);
    this.#backlog ??= new Backlog();
    // Without a request they are read in the next tick.
    if (this.#backlog.add(bytes) || exchange === undefined) return;
    // A client that waits for the protocol switch has the rest in its own buffers.
    if (exchange.upgrade !== undefined) this.socket.pause();
    // The response did not announce the end of the connection: the input is read once the system has taken it.
    else if (exchange.isEnded) this.pauseReading();
    else if (!this.#backlog.close()) {
      this.#backlog = undefined;
      exchange.closesConnection = true;
    }
  }

  /** Cheap in most cases: requests come in one piece, and none of it is held here. */
  #count(): void {
    if (this.#isClosing) this.#reader.close();
    const bytes = this.#reader.heldBytes + (this.#backlog?.size ?? 0);
    const more = bytes - this.#heldBytes;
    if (more === 0) return;
    if (more > 0 && !this.party.take(more)) return this.#noRoom();
    if (more < 0) this.party.give(-more);
    this.#heldBytes = bytes;
  }

  #noRoom(): void {
    this.owner.noRoom();
    const exchange = this.#exchange;
    // Drops only the input after the request: the response is on its way.
    if (exchange !== undefined && this.#backlog !== undefined) {
      this.#backlog = undefined;
      exchange.closesConnection = true;
    } else this.#refuse({ status: 503, detail: "not enough memory for it" });
    this.#count();
  }

  answered(exchange: OwnExchange): void {
    if (exchange !== this.#exchange) return;
    exchange.over(true);
    if (this.#isClosing) return;
    if (exchange.closesConnection || !this.#reader.isInBody) this.#goOn(exchange);
  }

  #goOn({ closesConnection }: OwnExchange): void {
    if (!closesConnection && !this.owner.peer.draining) return this.#release();
    // Input after this request is ignored.
    this.#backlog = undefined;
    this.#close();
  }

  /** Allows the next request to begin. */
  #release(): void {
    this.#exchange = undefined;
    // A second longer than the Keep-Alive header announces.
    this.#wait(FOR_REQUEST, IDLE_MS + 1_000);
    if (this.#isPaused) this.resumeReading();
    if (this.#backlog !== undefined && !this.#isTaking) process.nextTick(readBacklog, this);
  }

  readBacklog(): void {
    const backlog = this.#backlog;
    if (backlog === undefined || this.#isClosing || this.#exchange !== undefined) return;
    this.#read(backlog.take());
    if (backlog.isEmpty) this.#backlog = undefined;
    this.#count();
  }

  #wait(due: number, ms: number): void {
    this.#due = due;
    this.#dueMs = this.owner.nowMs + ms;
  }

  /** Reads on for a while after an early response: an immediate close would drop the response (RFC 9112 §9.6). */
  #discardRest(): void {
    this.#discarded = 0;
    this.#wait(FOR_REST, DISCARD_MS);
    this.resumeReading();
  }

  /** Ends the connection so that everything written arrives. */
  #close(): void {
    this.#isClosing = true;
    if (!isLingering(this.socket)) closeLingering(this.socket);
  }
}

const readBacklog = guardEach((connection: Connection) => connection.readBacklog());
const tellAnswered = guardEach((connection: Connection, exchange: OwnExchange) => connection.answered(exchange));
