/** The HTTP/2 connections of one upstream, and the requests that wait for one. */
import type { Upstream } from "../../features/connection/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { FairShare } from "../fair-share.ts";
import type { Transport, UpstreamCall, UpstreamReceiver, UpstreamRequest } from "../transport-types.ts";
import { RequestPool } from "../request-pool.ts";
import { MAX_STREAMS, OVERLOADED, refuse } from "../transport-limits.ts";
import { failureOf } from "../failure.ts";
import type { UpstreamPool } from "../upstream-pools.ts";
import { Call, type CallOwner } from "./call.ts";
import { Session, type SessionOwner } from "./session.ts";
import { guardEach, task } from "../../shared/faults/guard.ts";

/** So long an upstream that chose HTTP/1.1 is not asked anew. */
const HTTP1_MS = 60_000;

export class Pool extends RequestPool<Call> implements UpstreamPool, SessionOwner, CallOwner {
  tlsSession: Buffer | undefined;
  maxStreams: number = MAX_STREAMS;
  isClosed = false;
  readonly #upstream: Upstream;
  readonly #http1: Transport;
  /** Those that count as connections; what the upstream says goodbye to, or is silent on, only finishes what it has. */
  readonly #counted = new Set<Session>();
  readonly #leaving = new Set<Session>();
  /** Those that may have room. The first is filled first, so that those too many grow old. */
  readonly #free = new Set<Session>();
  #connecting = 0;
  #http1Until = Number.NEGATIVE_INFINITY;
  #isRetired = false;
  #startsSoon = false;

  /** @param http1 for upstreams that choose it in the TLS handshake */
  constructor(upstream: Upstream, connectTimeoutMs: number, maxUnderWay: number, http1: Transport, share: FairShare) {
    super(upstream, connectTimeoutMs, maxUnderWay, share);
    this.#upstream = upstream;
    this.#http1 = http1;
  }

  /** Owners share a pool, but not their look-ups. */
  get upstream(): Upstream {
    return this.waiting[0]?.request.upstream ?? this.#upstream;
  }

  get isEmpty(): boolean {
    return this.#counted.size === 0 && this.#leaving.size === 0 && this.waiting.length === 0;
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    if (!this.enter()) return refuse(request, receiver, "overloaded", OVERLOADED);
    const now = performance.now();
    const call = new Call(this, request, receiver, now);
    if (now < this.#http1Until) call.startOver(this.#http1);
    else this.#start(call, now);
    return call;
  }

  sendAgain(call: Call): void {
    this.#start(call, performance.now());
  }

  sweep(now: number): void {
    for (const session of Array.from(this.#counted)) {
      if (session.isIdle && (this.#isRetired || session.idleUntil <= now)) session.destroy();
    }
    for (const session of Array.from(this.#leaving)) if (session.isIdle) session.destroy();
    this.failLate(now);
    // Others may have closed theirs.
    if (this.waiting.length > 0) this.#openForWaiting();
  }

  retire(): void {
    this.#isRetired = true;
    this.sweep(performance.now());
  }

  destroy(): void {
    this.#isRetired = true;
    this.isClosed = true;
    this.failWaiting();
    for (const session of [...this.#counted, ...this.#leaving]) session.destroy();
  }

  onReady(session: Session): void {
    this.#connecting -= 1;
    this.#free.add(session);
    this.#startWaiting();
  }

  onRoom(session: Session): void {
    this.#free.add(session);
    // A stream may have ended in the phase that streams are reset in, see reset.ts: later, and those that came together.
    if (this.waiting.length === 0 || this.#startsSoon) return;
    this.#startsSoon = true;
    setTimeout(
      task("the start of waiting requests", () => this.#startWaiting()),
      0,
    );
  }

  onHttp1(): void {
    this.#http1Until = performance.now() + HTTP1_MS;
    for (const call of this.waiting.splice(0)) call.startOver(this.#http1);
  }

  onFull(session: Session): void {
    this.#free.delete(session);
    this.#counted.delete(session);
    this.#leaving.add(session);
    this.#openSoon();
  }

  protected get connections(): number {
    return this.#counted.size + this.#leaving.size + this.elsewhere;
  }

  onGone(session: Session, wasReady: boolean): void {
    this.share.closed();
    if (!wasReady) this.#connecting -= 1;
    this.#free.delete(session);
    this.#counted.delete(session);
    this.#leaving.delete(session);
    this.#openSoon();
  }

  onUnreachable(failure: UpstreamFailure, detail: string, since: number): void {
    // Who came in the middle of it has an attempt of his own; one that is still being made may serve as many as it has room.
    while (this.waiting.length > this.#connecting * this.maxStreams && (this.waiting[0] as Call).since <= since)
      this.waiting.shift()?.fail(failure, detail);
  }

  #start(call: Call, now: number): void {
    const session = this.#findFree(now);
    if (session) {
      call.start(session);
      return;
    }
    this.waiting.push(call);
    this.#openForWaiting();
  }

  #startWaiting(): void {
    this.#startsSoon = false;
    const now = performance.now();
    while (this.waiting.length > 0) {
      const session = this.#findFree(now);
      if (session === undefined) return;
      start(this.waiting.shift() as Call, session);
    }
  }

  #findFree(now: number): Session | undefined {
    for (const session of this.#free) {
      const isOld = session.idleUntil <= now;
      if (session.hasRoom && !isOld) return session;
      this.#free.delete(session);
      if (isOld) session.destroy();
    }
    return undefined;
  }

  /** One that waits may be told off just now. */
  #openSoon(): void {
    if (this.waiting.length > 0)
      process.nextTick(task("the opening of a connection to an upstream", () => this.#openForWaiting()));
  }

  #openForWaiting(): void {
    while (
      !this.isClosed &&
      this.waiting.length > this.#connecting * this.maxStreams &&
      this.#counted.size < this.maxConnections
    ) {
      this.isShort = !this.share.open(this.connections);
      if (this.isShort) return;
      if (!this.#open()) return;
    }
  }

  #open(): boolean {
    this.#connecting += 1;
    try {
      this.#counted.add(new Session(this));
      return true;
    } catch (error) {
      // TLS settings that cannot be used at all, or an address that may not be connected to.
      this.#connecting -= 1;
      this.share.closed();
      const since = performance.now();
      process.nextTick(
        task("the end of a request without a connection", () =>
          this.onUnreachable(failureOf(error as Error), errorText(error), since),
        ),
      );
      return false;
    }
  }
}

/** In the stack of the connection, which others share: an error ends this call alone. */
const start = guardEach((call: Call, session: Session) => call.start(session));
