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
  /** Longest wait of a request that is served then; 0: no limit. */
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

/**
 * Requests begun in one turn of the event loop before others wait. Each costs some fifty to a hundred microseconds at once, so that
 * whoever comes meanwhile is looked at a few milliseconds later.
 */
export const BEGUN_IN_A_TURN = 16;
/** A turn is over before, where its requests cost more. */
const TURN_MS = 2;
/** A refusal costs a third of a request. So bounded it takes at most a tenth of the time; the others wait for it. */
export const SHED_IN_A_TURN = 4;
/** More than that are refused at once; over HTTP/1.1 there are fewer connections. */
export const MAX_WAITING = 10_000;

export function createAdmission(deps: AdmissionDeps): Admission {
  const queue = createFairQueue<Exchange>();
  const { queueTimeoutMs } = deps;
  let begun = 0;
  let isTurnOpen = false;
  let turnBeganMs = 0;
  let isMemoryShort = false;

  const openTurn = (): void => {
    isTurnOpen = true;
    turnBeganMs = deps.now();
    isMemoryShort = deps.isMemoryShort();
    deps.afterArrivals(endTurn);
  };

  const endTurn = (): void => {
    begun = 0;
    isTurnOpen = false;
    if (queue.size === 0) return;
    openTurn();
    const now = turnBeganMs;
    const overdueMs = queueTimeoutMs === 0 ? -Infinity : now - queueTimeoutMs;
    while (hasTime()) {
      const exchange = queue.take(overdueMs);
      if (exchange === undefined) break;
      begun += 1;
      deps.begin(exchange);
    }
    for (let shed = 0; shed < SHED_IN_A_TURN; shed += 1) {
      const exchange = queue.takeOldest(isMemoryShort ? now : overdueMs);
      if (exchange === undefined) break;
      deps.shed(exchange, isMemoryShort ? "memory" : "queue-timeout");
    }
    // What was begun now is this turn's; what arrives in the next has its own.
    begun = 0;
  };

  const hasTime = (): boolean => begun < BEGUN_IN_A_TURN && deps.now() - turnBeganMs < TURN_MS;

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
      if (queue.size === 0 && hasTime()) {
        begun += 1;
        deps.begin(exchange);
        return;
      }
      const client = networkOf(exchange.remoteAddress);
      // A client with less than its part finds room even then.
      if (queue.size >= MAX_WAITING && queue.waitingOf(client) >= MAX_WAITING / queue.clients) {
        deps.shed(exchange, "queue-full");
        return;
      }
      const queued = queue.add(client, exchange, deps.now());
      exchange.onClose(() => queue.remove(queued));
    },
  };
}
