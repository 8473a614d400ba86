/** One request over HTTP/1.1, from the wait for a connection to the end of its response. */
import { errorText } from "../../shared/errors.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from "../transport-types.ts";
import type { QueuedCall } from "../request-pool.ts";
import { discardBody, waitsUntil } from "../transport-limits.ts";
import type { Connection, ConnectionUser } from "./connection.ts";

export interface CallOwner {
  /** Admits a call that got its client's share. */
  admit(call: Call): void;
  /** Removes it from the queue. */
  forget(call: Call): void;
  /** Finds another connection for it. */
  sendAgain(call: Call): void;
  /** Called when it is over, in any way. */
  over(call: Call): void;
}

/** One request, and the caller's handle on it. */
export class Call implements ConnectionUser, UpstreamCall, QueuedCall {
  readonly request: UpstreamRequest;
  /** Start of the call, by `performance.now()`. */
  readonly since: number;
  /** It counts against the limits of its client and its upstream. */
  isAdmitted = false;
  readonly #pool: CallOwner;
  readonly #receiver: UpstreamReceiver;
  #connection: Connection | undefined;
  #isOver = false;
  /** Its receiver was notified of the end, or wants no notification. */
  #isNotified = false;

  constructor(pool: CallOwner, request: UpstreamRequest, receiver: UpstreamReceiver, since: number) {
    this.#pool = pool;
    this.request = request;
    this.#receiver = receiver;
    this.since = since;
  }

  get waitsUntil(): number {
    return waitsUntil(this.request, this.since);
  }

  start(connection: Connection): void {
    this.#connection = connection;
    connection.begin(this);
  }

  admitted(): void {
    this.#pool.admit(this);
  }

  pause(): void {
    if (!this.#isOver) this.#connection?.pause();
  }

  resume(): void {
    if (!this.#isOver) this.#connection?.resume();
  }

  abort(): void {
    this.#isNotified = true;
    if (!this.#finish()) return;
    discardBody(this.request);
    if (this.#connection) this.#connection.destroy();
    else this.#pool.forget(this);
  }

  onHead(status: number, headers: string[]): void {
    if (!this.#isOver) this.#receiver.onHead(status, headers);
  }

  onData(chunk: Buffer): boolean | void {
    return this.#isOver || this.#receiver.onData(chunk);
  }

  onEnd(trailers: string[] | undefined): boolean | void {
    if (!this.#finish()) return;
    this.#isNotified = true;
    return this.#receiver.onEnd(trailers);
  }

  onUnsent(): void {
    this.#connection = undefined;
    if (!this.#isOver) this.#pool.sendAgain(this);
  }

  fail(failure: UpstreamFailure, detail: string): void {
    if (!this.#finish()) return;
    discardBody(this.request);
    this.#isNotified = true;
    this.#receiver.onFailure(failure, detail);
  }

  broke(error: unknown): void {
    try {
      if (this.#finish()) discardBody(this.request);
    } finally {
      // Also for a call that is over, if its receiver was not notified.
      const wasNotified = this.#isNotified;
      this.#isNotified = true;
      if (!wasNotified) this.#receiver.onFailure("protocol", `handling the answer failed: ${errorText(error)}`);
    }
  }

  /** @returns false when it was already over */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#pool.over(this);
    return true;
  }
}
