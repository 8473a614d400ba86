/** What the pools of both versions of HTTP do alike: requests under way are counted, and some wait for a connection. */
import type { Upstream } from "../features/connection/compiled.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { CallParty, FairShare } from "./fair-share.ts";
import { CLOSED } from "./transport-limits.ts";

export interface QueuedCall {
  /** Not longer does it wait for a connection, as of `performance.now()`. */
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
  /** Something waits because all that the process can open has been shared out. */
  protected isShort = false;
  /** Connections that went another way. */
  protected elsewhere = 0;

  constructor({ connect }: Upstream, connectTimeoutMs: number, mostUnderWay: number, share: FairShare) {
    this.share = share;
    this.connectTimeoutMs = connectTimeoutMs;
    this.maxConnections = connect?.limits?.maxConnections ?? Number.POSITIVE_INFINITY;
    this.#mostUnderWay = mostUnderWay;
  }

  /** @returns false when there is no place for another request */
  protected enter(): boolean {
    if (this.#underWay >= this.#mostUnderWay) return false;
    this.#underWay += 1;
    return true;
  }

  /** A call is over, whichever way. */
  leave(): void {
    this.#underWay -= 1;
  }

  /** For a request that goes another way. @returns gives its place back, once; undefined when there is none */
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

  /** Open ones, for its share. */
  protected abstract get connections(): number;

  /** It waits no longer. */
  forget(call: Call): void {
    const index = this.waiting.indexOf(call);
    if (index >= 0) this.waiting.splice(index, 1);
  }

  /** Gives up what has waited too long for one of a limited number of connections. */
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
