/**
 * Decides when a request begins. While the process keeps up, that is immediately. When more requests arrive than it can
 * serve, they wait for their turn, which rotates between clients. A burst is served completely. In an overload (see
 * overload.ts), requests that wait too long get 503 before any other work is done for them.
 *
 * Untrusted input: the number of requests and their source. Promises: a client that sends more than others delays only
 * itself; no request waits past its limit to be served after its client has left; the queue is bounded, and so is the time
 * spent on rejections. Slow upstream answers, event streams and idle connections are not work and do not count.
 */
import { networkOf } from "../../shared/rate-limit.ts";
import type { Exchange } from "../exchange.ts";
import { createFairQueue, type Queued } from "./fair-queue.ts";
import { createOverload, STANDING_MS } from "./overload.ts";
import { task } from "../../shared/faults/guard.ts";

export type ShedReason = "queue-timeout" | "queue-full" | "memory";

export interface AdmissionDeps {
  /** Longest wait of a request that is served. Infinity: no limit, even in an overload. */
  readonly queueTimeoutMs: number;
  begin(exchange: Exchange): void;
  shed(exchange: Exchange, reason: ShedReason): void;
  /** True while there is no memory for more. Checked once in a turn of the event loop. */
  isMemoryShort(): boolean;
  /** Monotonic milliseconds. */
  now(): number;
  /** Calls back once all input that has arrived was read. */
  afterArrivals(listener: () => void): void;
}

/** Input of a client that was not read yet. */
export interface Unread {
  readonly remoteAddress: string;
  /** Reads it in its turn. The request that this passes to `take()` begins, or is rejected, immediately. */
  read(): void;
}

export interface Admission {
  take(exchange: Exchange): void;
  /** True when a new request would have to wait. */
  isCrowded(): boolean;
  /**
   * Queues unread input while it is crowded. A parsed request is about fifty objects, which the garbage collector would copy
   * twice for each one that waits.
   */
  hold(unread: Unread): Queued<unknown>;
  /** Removes it from the queue. Does nothing if it had its turn already. */
  drop(queued: Queued<unknown>): void;
  waiting(): number;
}

/** Number of requests that begin on arrival in one turn of the event loop. */
export const BEGUN_AT_ONCE = 16;
/**
 * Queued requests that begin in one turn, or one of each client if more clients wait. Most work of a request comes in later
 * turns (its upstream's answer), so turns must be short: a flooding client makes each turn as long as this allows.
 */
export const BEGUN_IN_A_TURN = 4;
/** Longest time for beginning them. */
export const MAX_TURN_MS = 4;
/** A rejection costs a third of a request. With this bound, rejections take at most a tenth of the time; the rest wait. */
export const SHED_IN_A_TURN = 2;
/**
 * Above this, requests are rejected on arrival, except those of clients with less than their share: they at most double it.
 * Over HTTP/1.1 one request waits per connection.
 */
export const MAX_WAITING = 10_000;

export function createAdmission(deps: AdmissionDeps): Admission {
  const queue = createFairQueue<Exchange | Unread>();
  const overload = createOverload();
  const { queueTimeoutMs } = deps;
  let begun = 0;
  let isTurnOpen = false;
  /** Requests that arrived by then are rejected. Never decreases: what an overload passed over is not served later. */
  let overdueMs = -Infinity;
  let isMemoryShort = false;
  /** Decision for the next request, which has waited unread. */
  let verdict: "begin" | ShedReason | undefined;

  const conclude = (exchange: Exchange, now: "begin" | ShedReason): void => {
    if (now === "begin") deps.begin(exchange);
    else deps.shed(exchange, now);
  };

  const endWaiting = (item: Exchange | Unread, now: "begin" | ShedReason): void => {
    if (!("read" in item)) {
      conclude(item, now);
      return;
    }
    verdict = now;
    try {
      // The connection guards this call.
      item.read();
    } finally {
      verdict = undefined;
    }
  };

  const turn = task("a turn of waiting requests", () => endTurn());
  const mustWait = (): boolean => queue.size > 0 || begun >= BEGUN_AT_ONCE;

  const openTurn = (): void => {
    isTurnOpen = true;
    begun = 0;
    // Must precede code that can throw: if a turn never ended, all later requests would wait forever.
    deps.afterArrivals(nextTurn);
    isMemoryShort = deps.isMemoryShort();
  };

  /** After a turn that failed, opens another one while requests wait. */
  const nextTurn = (): void => {
    isTurnOpen = false;
    turn();
    if (!isTurnOpen && queue.size > 0) openTurn();
  };

  const endTurn = (): void => {
    if (queue.size === 0) return;
    openTurn();
    const now = deps.now();
    const untilMs = now + MAX_TURN_MS;
    overload.look(now, queue);
    const longestMs =
      overload.isOn && queueTimeoutMs !== Infinity ? Math.min(STANDING_MS, queueTimeoutMs) : queueTimeoutMs;
    overdueMs = Math.max(overdueMs, now - longestMs);
    for (let left = isMemoryShort ? 0 : Math.max(queue.clients(), BEGUN_IN_A_TURN); left > 0; left -= 1) {
      const item = queue.take(overdueMs);
      if (item === undefined) break;
      overload.begins();
      endWaiting(item, "begin");
      if (deps.now() >= untilMs) break;
    }
    for (let shed = 0; ; shed += 1) {
      // Queued requests hold memory, and no other work is done.
      if (isMemoryShort ? deps.now() >= untilMs : shed === SHED_IN_A_TURN) break;
      const item = queue.takeOldest(isMemoryShort ? now : overdueMs);
      if (item === undefined) break;
      endWaiting(item, isMemoryShort ? "memory" : "queue-timeout");
    }
  };

  const add = (client: string, item: Exchange | Unread): Queued<Exchange | Unread> => {
    const now = deps.now();
    overload.arrives(now, queue.size === 0);
    return queue.add(client, item, now);
  };

  const drop = (queued: Queued<Exchange | Unread>): void => {
    if (queued.item === undefined) return;
    overload.leaves(deps.now() - queued.arrivedMs);
    queue.remove(queued);
  };

  return {
    waiting: () => queue.size,
    isCrowded: () => isTurnOpen && mustWait() && !isMemoryShort && queue.size < MAX_WAITING,
    hold: (unread) => add(networkOf(unread.remoteAddress), unread),
    drop: (queued) => drop(queued as Queued<Exchange | Unread>),
    take(exchange) {
      if (verdict !== undefined) {
        const now = verdict;
        verdict = undefined;
        conclude(exchange, now);
        return;
      }
      if (!isTurnOpen) openTurn();
      if (isMemoryShort) {
        deps.shed(exchange, "memory");
        return;
      }
      if (!mustWait()) {
        begun += 1;
        deps.begin(exchange);
        return;
      }
      const client = networkOf(exchange.remoteAddress);
      const isFull = queue.size >= MAX_WAITING && queue.waitingOf(client) >= MAX_WAITING / queue.clients();
      if (isFull || queue.size >= 2 * MAX_WAITING) {
        deps.shed(exchange, "queue-full");
        return;
      }
      const queued = add(client, exchange);
      exchange.onClose(() => drop(queued));
    },
  };
}
