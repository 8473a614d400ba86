/**
 * How the connections to upstreams that a process can open are divided: among upstreams, so that a slow one leaves descriptors for
 * the others, and among client addresses, so that one client's streams of HTTP/2 do not take them all.
 *
 * An upstream can have as many connections as are free: alone half of them. The requests of a client can use half as many as are
 * free: alone a third of all. What is above waits, within the time of its request.
 */

import { guardEach, task, type Guarded } from "../shared/faults/guard.ts";

/** Of one client address. */
export interface CallParty {
  /** Its calls that have a connection, or wait for one at a pool. */
  calls: number;
  /** Its calls that wait for others of its own to end. */
  waiting: Admitted[] | undefined;
}

export interface Admitted extends Guarded {
  readonly waitsUntil: number;
  /** It can have a connection now. */
  admitted(): void;
  fail(failure: "timeout", detail: string): void;
}

export class FairShare {
  readonly #max: number;
  /** Connections, idle ones included. */
  #open = 0;
  /** Calls of all parties. */
  #calls = 0;
  /** Those of whom something waits here. */
  readonly #waiting: Set<CallParty> = new Set();

  constructor(max: number = Number.POSITIVE_INFINITY) {
    this.#max = max;
  }

  /** So many are open that none is kept idle. */
  get isTight(): boolean {
    return 4 * this.#open >= 3 * this.#max;
  }

  /** @param own connections of one upstream @returns whether it can open one more, which is counted then */
  open(own: number): boolean {
    if (own >= this.#max - this.#open) return false;
    this.#open += 1;
    return true;
  }

  closed(): void {
    this.#open -= 1;
  }

  /** @returns false when the client has its share */
  enter(party: CallParty): boolean {
    if (party.calls > 0 && 2 * party.calls >= this.#max - this.#calls) return false;
    party.calls += 1;
    this.#calls += 1;
    return true;
  }

  leave(party: CallParty): void {
    party.calls -= 1;
    this.#calls -= 1;
    // In a stack of its own: the connection becomes free behind this.
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

  /** For `leave()`: the next call of this client; else of another one, whose share is larger now. */
  admit(party: CallParty): void {
    if (this.#admitOf(party)) return;
    const [next] = this.#waiting;
    if (next === undefined || next === party) return;
    // So that each client has its turn.
    this.#waiting.delete(next);
    this.#waiting.add(next);
    this.#admitOf(next);
  }

  /** @returns whether it had a call that waited, and has a share for it */
  #admitOf(party: CallParty): boolean {
    const call = party.waiting?.[0];
    if (call === undefined || !this.enter(party)) return false;
    party.waiting?.shift();
    this.#dropEmpty(party);
    begin(call);
    return true;
  }

  /** Gives up what has waited too long, and admits what others have left room for. @param now of `performance.now()` */
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
/** An error ends this call, and not what made room for it. */
const begin = guardEach((call: Admitted) => call.admitted());
