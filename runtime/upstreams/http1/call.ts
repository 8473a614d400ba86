/** One request over HTTP/1.1, from the wait for a connection to the end of its answer. */
import { errorText } from "../../shared/errors.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from "../transport-types.ts";
import type { QueuedCall } from "../request-pool.ts";
import { discardBody, waitsUntil } from "../transport-limits.ts";
import type { Connection, ConnectionUser } from "./connection.ts";

export interface CallOwner {
  /** It has its place among its client's and its upstream's. */
  admit(call: Call): void;
  /** It waits no longer. */
  forget(call: Call): void;
  /** Finds it another connection. */
  sendAgain(call: Call): void;
  /** It is over, whichever way. */
  over(call: Call): void;
}

/** One request, and the caller's handle on it. */
export class Call implements ConnectionUser, UpstreamCall, QueuedCall {
  readonly request: UpstreamRequest;
  /** When it was sent, as of `performance.now()`. */
  readonly since: number;
  /** It counts among its client's and its upstream's. */
  isAdmitted = false;
  readonly #pool: CallOwner;
  readonly #receiver: UpstreamReceiver;
  #connection: Connection | undefined;
  #isOver = false;
  /** Its receiver has heard of the end, or wants to hear nothing. */
  #isTold = false;

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
    this.#isTold = true;
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

  onEnd(trailers: string[] | undefined): void {
    if (!this.#finish()) return;
    this.#isTold = true;
    this.#receiver.onEnd(trailers);
  }

  onUnsent(): void {
    this.#connection = undefined;
    if (!this.#isOver) this.#pool.sendAgain(this);
  }

  fail(failure: UpstreamFailure, detail: string): void {
    if (!this.#finish()) return;
    discardBody(this.request);
    this.#isTold = true;
    this.#receiver.onFailure(failure, detail);
  }

  broke(error: unknown): void {
    try {
      if (this.#finish()) discardBody(this.request);
    } finally {
      // Also of a call that is over, where its receiver has not heard of that.
      const wasTold = this.#isTold;
      this.#isTold = true;
      if (!wasTold) this.#receiver.onFailure("protocol", `handling the answer failed: ${errorText(error)}`);
    }
  }

  /** @returns false when it was over before */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#pool.over(this);
    return true;
  }
}
