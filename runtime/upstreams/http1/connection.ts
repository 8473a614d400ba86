/**
 * One HTTP/1.1 connection to an upstream, one state machine: at most one request at a time, the next one after the complete
 * response.
 *
 * Untrusted input: the upstream's bytes. Promises: a response goes to the request that was sent last on this connection, and
 * unsolicited bytes to no request; a connection in a doubtful state is not reused.
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
import { writeJoined, writeTogether } from "../../shared/http/write-together.ts";
import { reportFault } from "../../shared/faults/faults.ts";
import { guard, guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** The request on the connection. */
export interface ConnectionUser extends AnswerSink, Guarded {
  readonly request: UpstreamRequest;
  onData(chunk: Buffer): boolean | void;
  onEnd(trailers: string[] | undefined): boolean | void;
  /** The connection ended before anything was sent: the request can use another one. */
  onUnsent(): void;
  fail(failure: UpstreamFailure, detail: string): void;
}

export interface ConnectionOwner {
  readonly address: Address;
  readonly connectTimeoutMs: number;
  /** The connection is established; `onIdle` follows. */
  onConnected(): void;
  /** It can take a request. */
  onIdle(connection: Connection): void;
  /** The upstream closed it between two responses; `onGone` follows. @param afterMs time since the last response */
  onClosedByUpstream(afterMs: number): void;
  /** It takes no more requests. Its user, if any, is notified separately. */
  onGone(connection: Connection, wasConnected: boolean): void;
  /** After `onGone`: the connection was never established. @param since start of the attempt, by `performance.now()` */
  onUnreachable(failure: UpstreamFailure, detail: string, since: number): void;
}

/** Lifetime of an idle connection for which the upstream names none; many servers close theirs after 5 s. */
const IDLE_MS = 4_000;
/** Margin before the upstream's own timeout: it may be closing while we send. */
const IDLE_MARGIN_MS = 1_000;
const MAX_IDLE_MS = 600_000;
/** Up to this size a body leaves in one piece with the head: copying is cheaper. */
const ONE_WRITE_BYTES = 16_384;

export class Connection implements AnswerSink, BodyEvents, BatchedWriter, SocketUser {
  /** Time, by `performance.now()`, from which it is too old to be used; meaningful while idle. */
  idleUntil = 0;
  /** End of its last response, by `performance.now()`; negative infinity before the first. */
  answeredAt: number = Number.NEGATIVE_INFINITY;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #reader: AnswerReader = new AnswerReader(this);
  readonly #secure: boolean;
  readonly #since: number = performance.now();
  #user: ConnectionUser | undefined;
  /** The user whose response has ended, until it was notified. */
  #ending: ConnectionUser | undefined;
  /** The user's request, until it is written. */
  #unsent: WrittenRequest | undefined;
  #sender: BodySender | undefined;
  #isReady = false;
  #wasUsed = false;
  /** It was just opened for its first request: no input can have arrived. */
  #isFresh = true;
  #isGone = false;
  #isPaused = false;
  #mayHoldMore = false;
  #readsAfterFailedWrite = false;
  /** Set after a failed write. */
  #mustEnd = false;
  readonly #bytes: AnswerBytes = new AnswerBytes();
  /** For connecting, then for the head of a response or its next bytes. */
  readonly #deadline: Deadline = new Deadline(this, () => this.#late());
  #idleTimeoutMs = 0;

  /** @throws for unusable TLS settings */
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
      // Later, when the caller has the call.
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

  /** For `writeNow()`, guarded: other connections' requests are written after it. */
  send({ request }: ConnectionUser, written: WrittenRequest): void {
    if (written.stream?.destroyed === true) {
      this.fail("request-body", "the body was truncated");
      return;
    }
    this.#idleTimeoutMs = request.idleTimeoutMs;
    this.#reader.begin(request.method);
    this.#deadline.wait(request.headTimeoutMs);
    const socket = this.#socket;
    if (written.body === undefined) socket.write(written.text, "latin1");
    else if (written.body.length > ONE_WRITE_BYTES) writeTogether(socket, written.text, written.body, "");
    else if (this.#secure) socket.write(written.text + written.body.toString("latin1"), "latin1");
    else writeJoined(socket, written.text, written.body);
    const { stream, streamLength: length } = written;
    if (!stream) return;
    if (!this.#readsAfterFailedWrite) readAfterFailedWrite(socket, () => this.#sendNoMore());
    this.#readsAfterFailedWrite = true;
    this.#sender = new BodySender(bodySink(socket, length), stream, length, request.trailers, this);
  }

  /** The upstream accepts no more input. Its response so far is still read, and then the connection ends. */
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

  /** Ends it in any state; its user is not notified. */
  destroy(): void {
    this.#user = undefined;
    this.#unsent = undefined;
    this.#bytes.drop();
    this.#socket.destroy();
    this.#gone();
  }

  /** Ends it in any state and notifies its user, or the pool if the connection was never established. */
  fail(failure: UpstreamFailure, detail: string): void {
    const user = this.#user;
    const wasUnsent = this.#unsent !== undefined;
    this.destroy();
    if (!this.#isReady) this.#owner.onUnreachable(failure, detail, this.#since);
    else if (wasUnsent && failure !== "closed") user?.onUnsent();
    else user?.fail(failure, detail);
  }

  /** Handles a bug of ours: ends the current call, not the process. */
  broke(error: unknown): void {
    const user = this.#user ?? this.#ending;
    this.#ending = undefined;
    reportFault({ scope: "request", what: "a connection to an upstream", error });
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
    // After a response to an incomplete request, the rest of the request would be read as the next one.
    const isWhole = this.#sender === undefined && !this.#socket.writableNeedDrain;
    if (!this.#reader.keepsOpen || !isWhole || this.#mayHoldMore || this.#mustEnd) this.destroy();
    this.#bytes.over(user.onEnd(trailers) === true);
    this.#ending = undefined;
    // After its user, so that a bug there does not affect the next one.
    this.#release();
  }

  onProgress(): void {
    const user = this.#user;
    // An upstream that reads the body is not idle, whether or not it has begun to respond.
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
      // Unsolicited bytes: an error before a close, or the start of a response to another request.
      this.fail("protocol", "the upstream sent unrequested bytes");
      return;
    }
    if (!this.#isPaused) this.#extend();
    this.#mayHoldMore = length === READ_BYTES;
    const problem = this.#reader.read(bytes, length);
    if (problem === undefined) this.#bytes.handOn(this.#user, this.#secure);
    else this.fail("protocol", `the upstream's answer is refused: ${problem}`);
  }

  ended(): void {
    // During a handshake, the error that follows is more precise.
    if (this.#isGone || !this.#isReady) return;
    this.#tellOfClose();
    // A response without a length ends here; the sink is notified.
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

  /** Call it before a request is resent because of the close. */
  #tellOfClose(): void {
    if (!this.#reader.isInBody) this.#owner.onClosedByUpstream(performance.now() - this.answeredAt);
  }

  /** Frees it for the next request. */
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

  /** Restarts the timeout when bytes come. Not while the head is awaited: a slow head could last forever. */
  #extend(): void {
    if (this.#reader.isInBody && this.#idleTimeoutMs > 0) this.#deadline.wait(this.#idleTimeoutMs);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#deadline.close();
    this.#sender?.stop();
    this.#sender = undefined;
    // The TLS session may be the cause: do not resume it again.
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
