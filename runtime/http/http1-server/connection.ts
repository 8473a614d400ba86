/**
 * One connection of HTTP/1.1 that is read and written by ourselves: one state machine, one request at a time.
 *
 * Untrusted input: the client's bytes. Promises: a request begins only when the one before it has been answered; what comes
 * meanwhile is kept as bytes, within bounds, and is as if it had never come where the answer says `close` (RFC 9112 §9.3.2, §9.6);
 * nothing behind what cannot be read is looked at; each state that a client can keep up by silence has an end.
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
import { writeTogether } from "./write-together.ts";
import { endConnection } from "../end-broken.ts";
import { guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** How long the head of a request may take, from its first byte, or from the connection. */
export const HEAD_MS = 30_000;
/** Above the 60 s that load balancers keep idle connections, so that they close first. */
export const IDLE_MS = 65_000;
/** How long a body that nobody wanted is read, before the connection is closed. */
const DISCARD_MS = 5_000;

/** What the deadline is for. */
const NOTHING = 0;
const FOR_HEAD = 1;
const FOR_REQUEST = 2;
const FOR_REST = 3;

export class Connection implements RequestSink, BodySource, Guarded {
  readonly socket: Socket;
  readonly owner: ConnectionOwner;
  /** Read once: Node asks the system's table of its sockets each time. */
  readonly remoteAddress: string;
  /** Whose it is. */
  readonly party: Party;
  /** What came and waits, as it came. */
  unread: UnreadBytes | undefined;
  /** Bytes of it that are counted as held, apart from those of its exchange. */
  #heldBytes = 0;
  readonly #reader: RequestReader = new RequestReader(this);
  /** Its answer or its body is not over. */
  #exchange: OwnExchange | undefined;
  /** Came behind a request that is not answered. */
  #backlog: Backlog | undefined;
  #due = FOR_HEAD;
  #dueMs: number;
  #discarded = 0;
  /** Bytes are taken in a loop further up. */
  #isTaking = false;
  #isPaused = false;
  /** What comes is not read as requests any more. */
  #isClosing = false;
  /** For it belongs to somebody else. */
  #isDetached = false;

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.party = owner.parties.connect(this.remoteAddress);
    this.#dueMs = owner.nowMs + HEAD_MS;
  }

  /** A request is not over. */
  get isBusy(): boolean {
    return this.#exchange !== undefined || this.#reader.isInHead;
  }

  /** Ends it where its time has passed. */
  look(nowMs: number): void {
    if (this.#due === NOTHING || nowMs < this.#dueMs || this.#isClosing) return;
    if (this.#due === FOR_HEAD) this.#refuse({ status: 408, detail: "its head did not come in time" });
    else if (this.#due === FOR_REST) this.#close();
    else this.socket.destroy();
  }

  take(bytes: Buffer): void {
    if (this.#isClosing) return;
    if (this.#backlog === undefined) this.#read(bytes);
    else this.#hold(bytes);
    this.#count();
  }

  /** It is closed, or belongs to somebody else. */
  leave(): void {
    this.#isClosing = true;
    this.#backlog = undefined;
    this.#count();
    this.party.leave();
  }

  /** The client has closed its half. Nobody waits for answers then, as with node:http. */
  ended(): void {
    if (this.#isClosing) return;
    if (this.#exchange === undefined && this.#reader.isInHead)
      this.#refuse({ status: 400, detail: "the connection ended in a head" });
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

  /** The request that was read last is this one, from now on. */
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
    // The rest came: whoever takes the answer slowly has the time of any other answer.
    this.#due = NOTHING;
    exchange.finishBody(trailers);
    // Whoever reads it may take his time; a connection that is not read does not tell of a client that goes away.
    this.resumeReading();
    if (exchange.isAnswered) this.#goOn(exchange);
  }

  /** A mistake of ours: it ends the request that is under way, and the connection with it. */
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

  /** Writes text of an answer, one byte for each character. @returns false when "drain" is to be waited for */
  write(text: string): boolean {
    return this.#isClosing || this.socket.write(text, "latin1");
  }

  /** Writes bytes, with text before and behind them. */
  writeBytes(before: string, bytes: Buffer, after = ""): boolean {
    return this.#isClosing || writeTogether(this.socket, before, bytes, after);
  }

  /** The system has taken, so copied, all that was written. Over TLS nobody can tell. */
  get isFlushed(): boolean {
    return !this.owner.secure && this.socket.writableLength === 0;
  }

  /** Writes the end of an answer. The exchange hears of it when the system has it all. */
  finish(text: string, exchange: OwnExchange): void {
    if (this.#isClosing) return;
    const { socket } = this;
    if (this.#reader.isInBody) this.#discardRest();
    // Over TLS bytes are always taken later; in the clear nearly always at once, and then nobody has to be called back.
    if (this.owner.secure) {
      socket.write(text, "latin1", (error) => void (error ?? this.answered(exchange)));
      return;
    }
    if (text !== "") socket.write(text, "latin1");
    if (socket.writableLength === 0) this.answered(exchange);
    else socket.write("", (error) => void (error ?? tellAnswered(this, exchange)));
  }

  /** Gives the connection away, with what came behind the head. */
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

  /** The answer cannot be given: what came is no request, or only the beginning of one. */
  #refuse({ status, detail, reason }: ReadProblem): void {
    const exchange = this.#exchange;
    const isBehind = this.#backlog !== undefined && exchange === undefined;
    this.owner.unreadable(detail, reason);
    this.#isClosing = true;
    this.#backlog = undefined;
    // What cannot be read behind a good request does not take its answer away.
    if ((isBehind && reason === undefined) || exchange?.isEnded === true) closeLingering(this.socket);
    else if (exchange?.started === true) this.socket.destroy();
    else refuseConnection(this.socket, status, status === 503 ? "request.overloaded" : reason && `request.${reason}`);
    exchange?.lost();
  }

  /** For a method that is not for us. */
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

  /** @param bytes behind a request that is not answered @param isRest of what was read for it */
  #hold(bytes: Buffer, isRest = false): void {
    const exchange = this.#exchange;
    // It is as if they had never come. They are read all the same, or nobody would hear that the client leaves.
    if (exchange?.closesConnection === true && exchange.upgrade === undefined) {
      this.#backlog = undefined;
      return;
    }
    if (isRest && this.#backlog !== undefined) return this.#backlog.giveBack(bytes);
    this.#backlog ??= new Backlog();
    // Without a request these are read in the next tick.
    if (this.#backlog.add(bytes) || exchange === undefined) return;
    // A client that waits for the other protocol's yes has more in its own buffers.
    if (exchange.upgrade !== undefined) this.socket.pause();
    // This answer did not say that the connection ends: what came is read once the system has taken it.
    else if (exchange.isEnded) this.pauseReading();
    else if (!this.#backlog.close()) {
      this.#backlog = undefined;
      exchange.closesConnection = true;
    }
  }

  /** Most requests come in one piece, and nothing of them is held here. */
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
    // Only what came behind its request is dropped: the answer is on its way.
    if (exchange !== undefined && this.#backlog !== undefined) {
      this.#backlog = undefined;
      exchange.closesConnection = true;
    } else this.#refuse({ status: 503, detail: "there is no memory for it" });
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
    // What came behind it is as if it had never come.
    this.#backlog = undefined;
    this.#close();
  }

  /** The next request may begin. */
  #release(): void {
    this.#exchange = undefined;
    // A second more than clients are told.
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

  /** Reads on for a while after an early answer: closing at once would destroy the answer on its way (RFC 9112 §9.6). */
  #discardRest(): void {
    this.#discarded = 0;
    this.#wait(FOR_REST, DISCARD_MS);
    this.resumeReading();
  }

  /** Ends it so that what was written arrives. */
  #close(): void {
    this.#isClosing = true;
    if (!isLingering(this.socket)) closeLingering(this.socket);
  }
}

const readBacklog = guardEach((connection: Connection) => connection.readBacklog());
const tellAnswered = guardEach((connection: Connection, exchange: OwnExchange) => connection.answered(exchange));
