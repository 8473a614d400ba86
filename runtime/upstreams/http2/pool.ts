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

/** Time after which an upstream that chose HTTP/1.1 is offered HTTP/2 again. */
const HTTP1_MS = 60_000;

export class Pool extends RequestPool<Call> implements UpstreamPool, SessionOwner, CallOwner {
  tlsSession: Buffer | undefined;
  maxStreams: number = MAX_STREAMS;
  isClosed = false;
  readonly #upstream: Upstream;
  readonly #http1: Transport;
  /** Connections that count towards the limit. Those with a GOAWAY, or without responses, only finish their requests. */
  readonly #counted = new Set<Session>();
  readonly #leaving = new Set<Session>();
  /** Connections that may have room. The first is filled first, so that surplus ones expire. */
  readonly #free = new Set<Session>();
  #connecting = 0;
  #http1Until = Number.NEGATIVE_INFINITY;
  #isRetired = false;
  #startsSoon = false;

  /** @param http1 for upstreams that choose HTTP/1.1 in the TLS handshake */
  constructor(upstream: Upstream, connectTimeoutMs: number, maxUnderWay: number, http1: Transport, share: FairShare) {
    super(upstream, connectTimeoutMs, maxUnderWay, share);
    this.#upstream = upstream;
    this.#http1 = http1;
  }

  /** Owners share a pool, but not their shares of look-ups. */
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
    // Other upstreams may have closed connections.
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
    // Later, all together: a stream may have ended in the phase in which streams are reset, see reset.ts.
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
    // A request that came during the attempt has an attempt of its own. One pending attempt can serve as many requests as it
    // has streams.
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

  /** Later: a waiting call may be failing in this stack. */
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
      // Unusable TLS settings, or an address that is not allowed.
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

/** Runs in the stack of the connection, which other calls share: an error must end only this call. */
const start = guardEach((call: Call, session: Session) => call.start(session));
