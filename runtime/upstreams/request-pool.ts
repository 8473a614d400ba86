/**
 * Common part of the pools for both versions of HTTP: counts requests in flight, and queues those that wait for a connection.
 */
import type { Upstream } from "../features/connection/compiled.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { CallParty, FairShare } from "./fair-share.ts";
import { CLOSED } from "./transport-limits.ts";

export interface QueuedCall {
  /** Latest time to wait for a connection, by `performance.now()`. */
  readonly waitsUntil: number;
  fail(failure: UpstreamFailure, detail: string): void;
}

export abstract class RequestPool<Call extends QueuedCall> {
  readonly connectTimeoutMs: number;
  protected readonly maxConnections: number;
  /** First come, first served. */
  protected waiting: Call[] = [];
  readonly #mostUnderWay: number;
  #underWay = 0;

  protected readonly share: FairShare;
  /** Requests wait because all connections of the process are in use. */
  protected isShort = false;
  /** Connections that do not belong to the pool (`reserve()`). */
  protected elsewhere = 0;

  constructor({ connect }: Upstream, connectTimeoutMs: number, mostUnderWay: number, share: FairShare) {
    this.share = share;
    this.connectTimeoutMs = connectTimeoutMs;
    this.maxConnections = connect?.limits?.maxConnections ?? Number.POSITIVE_INFINITY;
    this.#mostUnderWay = mostUnderWay;
  }

  /** @returns false when there is no slot for another request */
  protected enter(): boolean {
    if (this.#underWay >= this.#mostUnderWay) return false;
    this.#underWay += 1;
    return true;
  }

  /** Called when a call is over, in any way. */
  leave(): void {
    this.#underWay -= 1;
  }

  /** Takes a slot for a request outside of the pool. @returns gives the slot back, once; undefined when there is none */
  reserve(party?: CallParty): (() => void) | undefined {
    const { share } = this;
    if (party !== undefined && !share.enter(party)) return undefined;
    const isOpen = share.open(this.connections);
    if (!isOpen || !this.enter()) {
      if (isOpen) share.closed();
      if (party !== undefined) share.leave(party);
      return undefined;
    }
    this.elsewhere += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.elsewhere -= 1;
      this.leave();
      share.closed();
      if (party !== undefined) share.leave(party);
    };
  }

  /** Number of open connections, for its share. */
  protected abstract get connections(): number;

  /** Removes a waiting call. */
  forget(call: Call): void {
    const index = this.waiting.indexOf(call);
    if (index >= 0) this.waiting.splice(index, 1);
  }

  /** Fails calls that waited too long for one of a limited number of connections. */
  protected failLate(now: number): void {
    if (this.maxConnections === Number.POSITIVE_INFINITY && !this.isShort) return;
    this.isShort &&= this.waiting.length > 0;
    const late = this.waiting.filter(({ waitsUntil }) => waitsUntil <= now);
    if (late.length > 0) this.waiting = this.waiting.filter(({ waitsUntil }) => waitsUntil > now);
    for (const call of late) call.fail("timeout", "no connection became free in time");
  }

  protected failWaiting(): void {
    for (const call of this.waiting.splice(0)) call.fail("closed", CLOSED);
  }
}
