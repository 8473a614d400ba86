/**
 * Divides the upstream connections that a process can open: among upstreams, so that a slow one leaves descriptors for the
 * others, and among client addresses, so that one client's HTTP/2 streams do not use them all.
 *
 * An upstream can have as many connections as are free: a single upstream half of them. A client's requests can use half as
 * many as are free: a single client a third of all. Requests above that wait, within their time limit.
 */

import { guardEach, task, type Guarded } from "../shared/faults/guard.ts";

/** The calls of one client address. */
export interface CallParty {
  /** Calls that have a connection, or wait for one at a pool. */
  calls: number;
  /** Calls that wait for other calls of this client to end. */
  waiting: Admitted[] | undefined;
}

export interface Admitted extends Guarded {
  readonly waitsUntil: number;
  /** Called when it can have a connection. */
  admitted(): void;
  fail(failure: "timeout", detail: string): void;
}

export class FairShare {
  readonly #max: number;
  /** Connections, idle ones included. */
  #open = 0;
  /** Calls of all parties. */
  #calls = 0;
  /** Parties with waiting calls. */
  readonly #waiting: Set<CallParty> = new Set();

  constructor(max: number = Number.POSITIVE_INFINITY) {
    this.#max = max;
  }

  /** True when so many are open that none is kept idle. */
  get isTight(): boolean {
    return 4 * this.#open >= 3 * this.#max;
  }

  /** @param own connections of one upstream @returns whether it can open one more, which is then counted */
  open(own: number): boolean {
    if (own >= this.#max - this.#open) return false;
    this.#open += 1;
    return true;
  }

  closed(): void {
    this.#open -= 1;
  }

  /** @returns false when the client has used its share */
  enter(party: CallParty): boolean {
    if (party.calls > 0 && 2 * party.calls >= this.#max - this.#calls) return false;
    party.calls += 1;
    this.#calls += 1;
    return true;
  }

  leave(party: CallParty): void {
    party.calls -= 1;
    this.#calls -= 1;
    // In a separate stack: the connection becomes free after this call.
    if (this.#waiting.size > 0) process.nextTick(admitNext, this, party);
  }

  wait(party: CallParty, call: Admitted): void {
    if (party.waiting === undefined) party.waiting = [call];
    else party.waiting.push(call);
    this.#waiting.add(party);
  }

  forget(party: CallParty, call: Admitted): void {
    const index = party.waiting?.indexOf(call) ?? -1;
    if (index < 0) return;
    party.waiting?.splice(index, 1);
    this.#dropEmpty(party);
  }

  /** For `leave()`: admits the next call of this client, or of another one, whose share is larger now. */
  admit(party: CallParty): void {
    if (this.#admitOf(party)) return;
    const [next] = this.#waiting;
    if (next === undefined || next === party) return;
    // Move it to the end, so that each client has its turn.
    this.#waiting.delete(next);
    this.#waiting.add(next);
    this.#admitOf(next);
  }

  /** @returns whether a waiting call of the party got a share */
  #admitOf(party: CallParty): boolean {
    const call = party.waiting?.[0];
    if (call === undefined || !this.enter(party)) return false;
    party.waiting?.shift();
    this.#dropEmpty(party);
    begin(call);
    return true;
  }

  /** Drops calls that waited too long, and admits calls for freed shares. @param now of `performance.now()` */
  sweep(now: number): void {
    for (const party of Array.from(this.#waiting)) {
      const late = (party.waiting ?? []).filter(({ waitsUntil }) => waitsUntil <= now);
      if (late.length > 0) party.waiting = (party.waiting ?? []).filter(({ waitsUntil }) => waitsUntil > now);
      this.#dropEmpty(party);
      for (const call of late) call.fail("timeout", "the client has too many requests in progress");
      while (this.#admitOf(party));
    }
  }

  #dropEmpty(party: CallParty): void {
    if (party.waiting?.length !== 0) return;
    party.waiting = undefined;
    this.#waiting.delete(party);
  }
}

const admitNext = task("the next request of a client", (share: FairShare, party: CallParty) => share.admit(party));
/** An error ends only this call, not the one that made room for it. */
const begin = guardEach((call: Admitted) => call.admitted());
