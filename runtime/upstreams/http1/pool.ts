/** The connections of one upstream, and the requests that wait for one. */
import type { Upstream } from "../../features/connection/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from "../transport-types.ts";
import { RequestPool } from "../request-pool.ts";
import { CLOSED, OVERLOADED, refuse } from "../transport-limits.ts";
import type { FairShare } from "../fair-share.ts";
import { endpointOf } from "../endpoint.ts";
import { failureOf } from "../failure.ts";
import type { UpstreamPool } from "../upstream-pools.ts";
import { connectGuard, type ConnectGuard } from "../reach.ts";
import { Call } from "./call.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { Address } from "./open-socket.ts";
import { Settling } from "./settling.ts";
import { task } from "../../shared/faults/guard.ts";

export class Pool extends RequestPool<Call> implements ConnectionOwner, UpstreamPool {
  readonly address: Address;
  readonly #all = new Set<Connection>();
  /** A stack: the most recently used connection is reused first, so that surplus ones expire. */
  #idle: Connection[] = [];
  readonly #settling: Settling = new Settling();
  /** Connections after a response of an upstream that may be closing them, in the order of the responses. */
  readonly #quarantined = new Set<Connection>();
  /** A timer for them is set. */
  #isSettling = false;
  #connecting = 0;
  /** No route names it now: each connection ends with its response. */
  #isRetired = false;

  constructor(upstream: Upstream, connectTimeoutMs: number, maxUnderWay: number, share: FairShare) {
    super(upstream, connectTimeoutMs, maxUnderWay, share);
    // Owners share a pool, but not their shares of look-ups.
    const guard = (): ConnectGuard => connectGuard(this.waiting[0]?.request.upstream ?? upstream);
    this.address = { ...endpointOf(upstream), guard, tls: upstream.connect?.tls, tlsSession: undefined };
  }

  get isEmpty(): boolean {
    return this.#all.size === 0 && this.waiting.length === 0;
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    const { party } = request;
    const now = performance.now();
    if (party !== undefined && !this.share.enter(party)) {
      const waiting = new Call(this, request, receiver, now);
      this.share.wait(party, waiting);
      return waiting;
    }
    if (!this.enter()) {
      if (party !== undefined) this.share.leave(party);
      return refuse(request, receiver, "overloaded", OVERLOADED);
    }
    const call = new Call(this, request, receiver, now);
    call.isAdmitted = true;
    this.#begin(call, now);
    return call;
  }

  /** For a call that waited for its client's share, which is taken for it. */
  admit(call: Call): void {
    const { party } = call.request;
    if (!this.enter()) {
      if (party !== undefined) this.share.leave(party);
      return call.fail("overloaded", OVERLOADED);
    }
    call.isAdmitted = true;
    this.#begin(call, performance.now());
  }

  #begin(call: Call, now: number): void {
    const connection = this.#takeIdle(now);
    if (connection) call.start(connection);
    else {
      this.waiting.push(call);
      this.#openForWaiting();
    }
  }

  over(call: Call): void {
    const { party } = call.request;
    if (call.isAdmitted) {
      this.leave();
      if (party !== undefined) this.share.leave(party);
    } else if (party !== undefined) this.share.forget(party, call);
  }

  /** For a call that lost its connection before anything was sent: goes before later calls. */
  sendAgain(call: Call): void {
    const connection = this.#takeIdle(performance.now());
    if (connection) call.start(connection);
    else {
      this.waiting.unshift(call);
      this.#openForWaiting();
    }
  }

  /** Closes expired connections, and fails calls that waited too long for one of a limited number. */
  sweep(now: number): void {
    const old = this.#idle.filter(({ idleUntil }) => idleUntil <= now);
    if (old.length > 0) this.#idle = this.#idle.filter(({ idleUntil }) => idleUntil > now);
    for (const connection of old) connection.destroy();
    if (this.share.isTight && this.waiting.length === 0)
      for (const connection of this.#idle.splice(0)) connection.destroy();
    this.failLate(now);
    // Other upstreams may have closed connections.
    for (let left = this.waiting.length - this.#connecting; left > 0 && this.#openForWaiting(); left -= 1);
  }

  retire(): void {
    this.#isRetired = true;
    for (const connection of [...this.#idle.splice(0), ...this.#quarantined]) connection.destroy();
  }

  destroy(): void {
    this.#isRetired = true;
    this.failWaiting();
    for (const connection of this.#all) connection.fail("closed", CLOSED);
  }

  onConnected(): void {
    this.#connecting -= 1;
  }

  onIdle(connection: Connection): void {
    if (this.#settling.ms === 0 || connection.answeredAt === Number.NEGATIVE_INFINITY) this.#give(connection);
    else if (this.#isRetired) connection.destroy();
    else {
      this.#quarantined.add(connection);
      if (!this.#isSettling) this.#settleIn(this.#settling.ms);
    }
  }

  onClosedByUpstream(afterMs: number): void {
    this.#settling.closed(afterMs);
  }

  #give(connection: Connection): void {
    const call = this.waiting.shift();
    if (call) call.start(connection);
    else if (this.#isRetired || this.share.isTight) connection.destroy();
    else this.#idle.push(connection);
  }

  onGone(connection: Connection, wasConnected: boolean): void {
    if (this.#all.delete(connection)) this.share.closed();
    this.#quarantined.delete(connection);
    if (!wasConnected) this.#connecting -= 1;
    const index = this.#idle.lastIndexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    // Other requests may wait for the freed connection. Later: a waiting call may be failing in this stack.
    else if (this.waiting.length > 0)
      process.nextTick(task("the opening of a connection to an upstream", () => this.#openForWaiting()));
  }

  onUnreachable(failure: UpstreamFailure, detail: string, since: number): void {
    // Each attempt is for one request. If another connection has served that request, fail no other; a request that came
    // during the attempt has an attempt of its own.
    if (this.waiting.length <= this.#connecting || (this.waiting[0] as Call).since > since) return;
    this.waiting.shift()?.fail(failure, detail);
  }

  #settleIn(ms: number): void {
    this.#isSettling = true;
    setTimeout(
      task("check of settling connections", () => this.#settle()),
      Math.ceil(ms),
    ).unref();
  }

  /** Frees the connections that outlived the delay. */
  #settle(): void {
    this.#isSettling = false;
    const now = performance.now();
    for (const connection of this.#quarantined) {
      const leftMs = connection.answeredAt + this.#settling.ms - now;
      if (leftMs > 0) return this.#settleIn(leftMs);
      this.#quarantined.delete(connection);
      this.#settling.outlived();
      if (connection.idleUntil > now) this.#give(connection);
      else connection.destroy();
    }
  }

  /** Not one per request: if connecting hangs, clients that come and leave would leave ever more attempts behind. */
  #openForWaiting(): boolean {
    if (this.waiting.length <= this.#connecting || this.#all.size >= this.maxConnections) return false;
    this.isShort = !this.share.open(this.connections);
    if (this.isShort) return false;
    this.#open();
    return true;
  }

  protected get connections(): number {
    return this.#all.size + this.elsewhere;
  }

  #open(): void {
    this.#connecting += 1;
    try {
      this.#all.add(new Connection(this));
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
    }
  }

  #takeIdle(now: number): Connection | undefined {
    const connection = this.#idle.pop();
    if (connection === undefined || connection.idleUntil > now) return connection;
    // Connections below it in the stack may have a longer lifetime.
    const old = [connection];
    let usable: Connection | undefined;
    while (usable === undefined && this.#idle.length > 0) {
      const next = this.#idle.pop() as Connection;
      if (next.idleUntil > now) usable = next;
      else old.push(next);
    }
    for (const each of old) each.destroy();
    return usable;
  }
}
