/**
 * When a request is begun. As long as the process keeps up, at once; where more come than it can serve, they wait for their
 * turn, which goes from client to client, and who would wait too long is answered 503 before anything is known of it.
 *
 * Untrusted input: how many requests come, from whom. Promises: a client that sends more than the others delays itself and not
 * them; nothing waits longer than its time and is served then for somebody who has left; what waits is bounded, and so is what
 * is spent on refusing. Answers that come slowly from upstreams, event streams and idle connections are no work and do not count.
 */
import { networkOf } from "../../shared/rate-limit.ts";
import type { Exchange } from "../exchange.ts";
import { createFairQueue } from "./fair-queue.ts";

export type ShedReason = "queue-timeout" | "queue-full" | "memory";

export interface AdmissionDeps {
  /** Longest wait of a request that is served then, in an overload that lasts; Infinity: no limit. */
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

export interface Admission {
  take(exchange: Exchange): void;
  /** Requests that wait for their turn. */
  readonly waiting: number;
}

/** Begun at once as they arrive, in one turn of the event loop. */
export const BEGUN_AT_ONCE = 16;
/**
 * Of those that wait so many are begun in a turn, or one of each client where more clients wait. Most of a request's work comes in
 * later turns (its upstream's answer), so turns must be short: whoever floods makes them all as long as this lets them be.
 */
export const BEGUN_IN_A_TURN = 8;
/** Beginning them takes no longer than that. */
export const MAX_TURN_MS = 4;
/** A refusal costs a third of a request. So bounded it takes at most a tenth of the time; the others wait for it. */
export const SHED_IN_A_TURN = 2;
/** Before, something has waited for so many times as long: many that come together are served, late, where they are no lasting overload. */
export const BURSTS = 2;
/**
 * More than that are refused at once, but of clients that have less than their part of it: those make it twice as many at most.
 * Over HTTP/1.1 one waits for each connection.
 */
export const MAX_WAITING = 10_000;

export function createAdmission(deps: AdmissionDeps): Admission {
  const queue = createFairQueue<Exchange>();
  const { queueTimeoutMs } = deps;
  let begun = 0;
  let isTurnOpen = false;
  let waitingSinceMs = 0;
  let isMemoryShort = false;

  const openTurn = (): void => {
    isTurnOpen = true;
    begun = 0;
    isMemoryShort = deps.isMemoryShort();
    deps.afterArrivals(endTurn);
  };

  const endTurn = (): void => {
    isTurnOpen = false;
    if (queue.size === 0) return;
    openTurn();
    const now = deps.now();
    const untilMs = now + MAX_TURN_MS;
    const overdueMs = now - waitingSinceMs < BURSTS * queueTimeoutMs ? -Infinity : now - queueTimeoutMs;
    for (let left = isMemoryShort ? 0 : Math.max(queue.clients, BEGUN_IN_A_TURN); left > 0; left -= 1) {
      const exchange = queue.take(overdueMs);
      if (exchange === undefined) break;
      deps.begin(exchange);
      if (deps.now() >= untilMs) break;
    }
    for (let shed = 0; ; shed += 1) {
      // What waits has memory, and nothing else is done.
      if (isMemoryShort ? deps.now() >= untilMs : shed === SHED_IN_A_TURN) break;
      const exchange = queue.takeOldest(isMemoryShort ? now : overdueMs);
      if (exchange === undefined) break;
      deps.shed(exchange, isMemoryShort ? "memory" : "queue-timeout");
    }
  };

  return {
    get waiting() {
      return queue.size;
    },
    take(exchange) {
      if (!isTurnOpen) openTurn();
      if (isMemoryShort) {
        deps.shed(exchange, "memory");
        return;
      }
      if (queue.size === 0 && begun < BEGUN_AT_ONCE) {
        begun += 1;
        deps.begin(exchange);
        return;
      }
      const client = networkOf(exchange.remoteAddress);
      const isFull = queue.size >= MAX_WAITING && queue.waitingOf(client) >= MAX_WAITING / queue.clients;
      if (isFull || queue.size >= 2 * MAX_WAITING) {
        deps.shed(exchange, "queue-full");
        return;
      }
      const now = deps.now();
      if (queue.size === 0) waitingSinceMs = now;
      const queued = queue.add(client, exchange, now);
      exchange.onClose(() => queue.remove(queued));
    },
  };
}
