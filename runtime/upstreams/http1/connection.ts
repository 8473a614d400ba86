/**
 * One HTTP/1.1 connection to an upstream, one state machine: at most one request at a time, the next one after the whole answer.
 *
 * Untrusted input: the upstream's bytes. Promises: an answer goes to the request that was sent last on this connection,
 * and to nobody when bytes come unasked; a connection about which anything is in doubt is not used again.
 */
import type { Socket } from "node:net";

import { errorText } from "../../shared/errors.ts";
import { BodySender, type BodyEvents } from "../body-sender.ts";
import { Deadline } from "../deadline.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamRequest } from "../transport-types.ts";
import { failureOfEstablished, failureOfOpening } from "../failure.ts";
import { AnswerBytes, READ_BYTES } from "./answer-bytes.ts";
import { writeSoon, type BatchedWriter } from "./write-batching.ts";
import { openSocket, readAfterFailedWrite, type Address, type SocketUser } from "./open-socket.ts";
import { AnswerReader, type AnswerSink } from "./reader.ts";
import { bodySink, writeRequest, type WrittenRequest } from "./writer.ts";
import { tellFault } from "../../shared/faults/faults.ts";
import { guard, guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** Whose request is on the connection. */
export interface ConnectionUser extends AnswerSink, Guarded {
  readonly request: UpstreamRequest;
  onData(chunk: Buffer): boolean | void;
  /** The connection ended before anything was sent: another one will do. */
  onUnsent(): void;
  fail(failure: UpstreamFailure, detail: string): void;
}

export interface ConnectionOwner {
  readonly address: Address;
  readonly connectTimeoutMs: number;
  /** There is a connection; `onIdle` follows. */
  onConnected(): void;
  /** It can take a request. */
  onIdle(connection: Connection): void;
  /** The upstream closed it between two answers; the rest follows. @param afterMs behind the last one */
  onClosedByUpstream(afterMs: number): void;
  /** It will take none any more. Its user, if it has one, hears of that by itself. */
  onGone(connection: Connection, wasConnected: boolean): void;
  /** After `onGone`: there never was a connection. @param since when it was tried, as of `performance.now()` */
  onUnreachable(failure: UpstreamFailure, detail: string, since: number): void;
}

/** As long as an idle connection is kept that names no end of its own; many servers close theirs after 5 s. */
const IDLE_MS = 4_000;
/** An upstream that names its end may be closing while we send: we end before it does. */
const IDLE_MARGIN_MS = 1_000;
const MAX_IDLE_MS = 600_000;

export class Connection implements AnswerSink, BodyEvents, BatchedWriter, SocketUser {
  /** Since `performance.now()` had this value it has been too old to be used; meaningful while idle. */
  idleUntil = 0;
  /** When its last answer ended, as of `performance.now()`; before any there is nothing that it could have ended with. */
  answeredAt: number = Number.NEGATIVE_INFINITY;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #reader: AnswerReader = new AnswerReader(this);
  readonly #secure: boolean;
  readonly #since: number = performance.now();
  #user: ConnectionUser | undefined;
  /** Whose answer has ended, until it has heard of that. */
  #ending: ConnectionUser | undefined;
  /** The user's request, until it departs. */
  #unsent: WrittenRequest | undefined;
  #sender: BodySender | undefined;
  #isReady = false;
  #wasUsed = false;
  /** It has just been opened, for the request that it is given now: a look at it would find nothing. */
  #isFresh = true;
  #isGone = false;
  #isPaused = false;
  #mayHoldMore = false;
  #readsAfterFailedWrite = false;
  /** A write failed. */
  #mustEnd = false;
  readonly #bytes: AnswerBytes = new AnswerBytes();
  /** For the connection, then for the head of an answer or its next bytes. */
  readonly #deadline: Deadline = new Deadline(this, () => this.#late());
  #idleTimeoutMs = 0;

  /** @throws for TLS settings that cannot be used at all */
  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    this.#secure = owner.address.secure;
    this.#socket = openSocket(owner.address, this);
    this.#deadline.wait(owner.connectTimeoutMs);
  }

  /** Takes a request; only while idle. */
  begin(user: ConnectionUser): void {
    this.#user = user;
    try {
      this.#unsent = writeRequest(user.request);
    } catch (error) {
      this.#user = undefined;
      // The caller has the call in hand by then.
      process.nextTick(guard(this, () => user.fail("protocol", errorText(error))));
      this.#release();
      return;
    }
    if (this.#isFresh) this.writeNow();
    else writeSoon(this);
  }

  writeNow(): void {
    const user = this.#user;
    const written = this.#unsent;
    if (user === undefined || written === undefined) return;
    this.#unsent = undefined;
    this.#wasUsed = true;
    sendOn(this, user, written);
  }

  /** For `writeNow()`: others depart behind it. */
  send({ request }: ConnectionUser, written: WrittenRequest): void {
    if (written.stream?.destroyed === true) {
      this.fail("request-body", "the body broke off");
      return;
    }
    this.#idleTimeoutMs = request.idleTimeoutMs;
    this.#reader.begin(request.method);
    this.#deadline.wait(request.headTimeoutMs);
    const socket = this.#socket;
    if (written.body === undefined) socket.write(written.text, "latin1");
    else {
      socket.cork();
      socket.write(written.text, "latin1");
      socket.write(written.body);
      socket.uncork();
    }
    const { stream, streamLength: length } = written;
    if (!stream) return;
    if (!this.#readsAfterFailedWrite) readAfterFailedWrite(socket, () => this.#sendNoMore());
    this.#readsAfterFailedWrite = true;
    this.#sender = new BodySender(bodySink(socket, length), stream, length, request.trailers, this);
  }

  /** The upstream takes no more. What it has sent before is read all the same, and the connection's end follows. */
  #sendNoMore(): void {
    this.#mustEnd = true;
    this.#sender?.stop();
    this.#sender = undefined;
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    // The client is slow, not the upstream.
    this.#deadline.rest();
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#deadline.wait(this.#idleTimeoutMs);
    this.#socket.resume();
  }

  /** Ends it, whatever is under way; its user hears nothing more. */
  destroy(): void {
    this.#user = undefined;
    this.#unsent = undefined;
    this.#bytes.drop();
    this.#socket.destroy();
    this.#gone();
  }

  /** The same, and its user hears of it; where there was no connection yet, who waits for it does. */
  fail(failure: UpstreamFailure, detail: string): void {
    const user = this.#user;
    const wasUnsent = this.#unsent !== undefined;
    this.destroy();
    if (!this.#isReady) this.#owner.onUnreachable(failure, detail, this.#since);
    else if (wasUnsent && failure !== "closed") user?.onUnsent();
    else user?.fail(failure, detail);
  }

  /** A mistake of ours ends the call that is under way, not the process. */
  broke(error: unknown): void {
    const user = this.#user ?? this.#ending;
    this.#ending = undefined;
    tellFault({ scope: "request", what: "a connection to an upstream", error });
    try {
      if (this.#isReady || this.#isGone) this.destroy();
      else this.fail("protocol", `opening the connection failed: ${errorText(error)}`);
    } finally {
      user?.broke(error);
    }
  }

  onHead(status: number, headers: string[]): void {
    if (this.#user === undefined) return;
    this.#deadline.wait(this.#idleTimeoutMs);
    this.#user.onHead(status, headers);
  }

  onData(chunk: Buffer): void {
    this.#bytes.add(chunk);
  }

  onEnd(trailers: string[] | undefined): void {
    this.#bytes.handOn(this.#user, this.#secure);
    const user = this.#user;
    if (user === undefined) return;
    this.#user = undefined;
    this.#ending = user;
    // An answer that came before the request was sent is the last one here: what is left would be read as the next request.
    const isWhole = this.#sender === undefined && !this.#socket.writableNeedDrain;
    if (!this.#reader.keepsOpen || !isWhole || this.#mayHoldMore || this.#mustEnd) this.destroy();
    user.onEnd(trailers);
    this.#ending = undefined;
    // After its user, so that a mistake there is no concern of the next one.
    this.#release();
  }

  onProgress(): void {
    const user = this.#user;
    // An upstream that takes the body is not silent, whether it has begun to answer or not.
    if (user && !this.#isPaused)
      this.#deadline.wait(this.#reader.isInBody ? this.#idleTimeoutMs : user.request.headTimeoutMs);
  }

  onSent(): void {
    this.#sender = undefined;
  }

  onBroken(error: Error): void {
    this.#sender = undefined;
    this.fail("request-body", errorText(error));
  }

  ready(): void {
    if (this.#isGone) return;
    this.#isReady = true;
    this.#owner.onConnected();
    this.#release();
  }

  bufferFor(shared: Buffer): Buffer {
    return this.#bytes.bufferFor(shared, this.#reader.isInBody && !this.#isGone);
  }

  read(bytes: Buffer, length: number): void {
    this.#bytes.begin(length);
    if (this.#isGone) return;
    if (this.#user === undefined || this.#unsent !== undefined) {
      // Bytes that nobody asked for: a farewell, or the beginning of an answer for somebody else.
      this.fail("protocol", "the upstream sent bytes that nobody asked for");
      return;
    }
    if (!this.#isPaused) this.#extend();
    this.#mayHoldMore = length === READ_BYTES;
    const problem = this.#reader.read(bytes, length);
    if (problem === undefined) this.#bytes.handOn(this.#user, this.#secure);
    else this.fail("protocol", `the upstream's answer is refused: ${problem}`);
  }

  ended(): void {
    // During a handshake an error says more, and follows.
    if (this.#isGone || !this.#isReady) return;
    this.#tellOfClose();
    // An answer without a length ends here; the sink hears of it.
    if (this.#user === undefined || (this.#unsent === undefined && this.#reader.close())) this.destroy();
    else
      this.fail(
        this.#lossAs("reset"),
        `the upstream closed the connection ${this.#reader.isInBody ? "in the middle of" : "before"} its answer`,
      );
  }

  closed(error: NodeJS.ErrnoException | undefined): void {
    if (this.#isGone) return;
    this.#tellOfClose();
    const failure = this.#isReady ? this.#lossAs(failureOfEstablished(error)) : failureOfOpening(error);
    this.fail(failure, error ? errorText(error) : "the upstream closed the connection");
  }

  #lossAs(failure: UpstreamFailure): UpstreamFailure {
    const wasKept = this.answeredAt !== Number.NEGATIVE_INFINITY;
    return failure === "reset" && wasKept && !this.#reader.isInBody ? "kept-closed" : failure;
  }

  /** Before anything is sent again because of it. */
  #tellOfClose(): void {
    if (!this.#reader.isInBody) this.#owner.onClosedByUpstream(performance.now() - this.answeredAt);
  }

  /** Makes it free for the next request. */
  #release(): void {
    if (this.#isGone) return;
    this.#deadline.rest();
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    const said = this.#reader.idleMs;
    const idleMs = said === undefined ? IDLE_MS : Math.min(said, MAX_IDLE_MS) - IDLE_MARGIN_MS;
    if (idleMs <= 0) {
      this.destroy();
      return;
    }
    const now = performance.now();
    this.idleUntil = now + idleMs;
    if (this.#wasUsed) this.answeredAt = now;
    this.#owner.onIdle(this);
    this.#isFresh = false;
  }

  /** Bytes have come; while the head is awaited that changes nothing, or a slow head could last for ever. */
  #extend(): void {
    if (this.#reader.isInBody && this.#idleTimeoutMs > 0) this.#deadline.wait(this.#idleTimeoutMs);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#deadline.close();
    this.#sender?.stop();
    this.#sender = undefined;
    // A session that did not get us this far is not tried again.
    if (!this.#isReady) this.#owner.address.tlsSession = undefined;
    this.#owner.onGone(this, this.#isReady);
  }

  #late(): void {
    if (!this.#isReady) this.fail("connect-timeout", "no connection in time");
    else this.fail("timeout", this.#reader.isInBody ? "the answer stopped coming" : "no answer came in time");
  }
}

const sendOn = guardEach((connection: Connection, user: ConnectionUser, written: WrittenRequest) =>
  connection.send(user, written),
);
