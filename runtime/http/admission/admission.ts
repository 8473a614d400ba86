/**
 * When a request is begun. As long as the process keeps up, at once; where more come than it can serve, they wait for their
 * turn, which goes from client to client. A burst is served to its end; in an overload (see overload.ts) requests that wait too
 * long get 503 before anything else is done about them.
 *
 * Untrusted input: how many requests come, from whom. Promises: a client that sends more than the others delays itself and not
 * them; nothing waits longer than its time and is served then for somebody who has left; what waits is bounded, and so is what
 * is spent on refusing. Answers that come slowly from upstreams, event streams and idle connections are no work and do not count.
 */
import { networkOf } from "../../shared/rate-limit.ts";
import type { Exchange } from "../exchange.ts";
import { createFairQueue, type Queued } from "./fair-queue.ts";
import { createOverload, STANDING_MS } from "./overload.ts";
import { task } from "../../shared/faults/guard.ts";

export type ShedReason = "queue-timeout" | "queue-full" | "memory";

export interface AdmissionDeps {
  /** Longest wait of a request that is served; Infinity: no limit, in an overload either. */
  readonly queueTimeoutMs: number;
  begin(exchange: Exchange): void;
  /** Answers it. */
  shed(exchange: Exchange, reason: ShedReason): void;
  /** True while there is no memory for more. Asked once in a turn of the event loop. */
  isMemoryShort(): boolean;
  /** Monotonic milliseconds. */
  now(): number;
  /** Calls back when everything that has arrived was read. */
  afterArrivals(listener: () => void): void;
}

/** What came of a client before anything of it was read. */
export interface Unread {
  readonly remoteAddress: string;
  /** Its turn: whatever request this gives to `take()` is begun, or refused, at once. */
  read(): void;
}

export interface Admission {
  take(exchange: Exchange): void;
  /** A request that came now would have to wait. */
  isCrowded(): boolean;
  /**
   * Lets it wait as it came, while it is crowded: a request that was read is fifty objects, which the collector of garbage would
   * copy, twice, for each one that waits.
   */
  hold(unread: Unread): Queued<unknown>;
  /** It waits no longer; nothing to do for what had its turn. */
  drop(queued: Queued<unknown>): void;
  /** Requests that wait for their turn. */
  waiting(): number;
}

/** Begun at once as they arrive, in one turn of the event loop. */
export const BEGUN_AT_ONCE = 16;
/**
 * Of those that wait so many are begun in a turn, or one of each client where more clients wait. Most of a request's work comes in
 * later turns (its upstream's answer), so turns must be short: whoever floods makes them all as long as this lets them be.
 */
export const BEGUN_IN_A_TURN = 4;
/** Beginning them takes no longer than that. */
export const MAX_TURN_MS = 4;
/** A refusal costs a third of a request. So bounded it takes at most a tenth of the time; the others wait for it. */
export const SHED_IN_A_TURN = 2;
/**
 * More than that are refused at once, but of clients that have less than their part of it: those make it twice as many at most.
 * Over HTTP/1.1 one waits for each connection.
 */
export const MAX_WAITING = 10_000;

export function createAdmission(deps: AdmissionDeps): Admission {
  const queue = createFairQueue<Exchange | Unread>();
  const overload = createOverload();
  const { queueTimeoutMs } = deps;
  let begun = 0;
  let isTurnOpen = false;
  /** What came then or before is refused. It never goes back: what an overload has passed over is not served after it. */
  let overdueMs = -Infinity;
  let isMemoryShort = false;
  /** What is done with the next request: it has waited unread. */
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
      // Its connection guards it.
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
    // Before what may throw: with a turn that never ends, all later requests would wait for ever.
    deps.afterArrivals(nextTurn);
    isMemoryShort = deps.isMemoryShort();
  };

  /** A turn that fails is followed by another one, as long as requests wait. */
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
      // What waits has memory, and nothing else is done.
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
