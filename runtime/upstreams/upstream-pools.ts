/** The transport over connection pools: one pool for all upstreams that share connections, for either version of HTTP. */
import type { CallParty, FairShare } from "./fair-share.ts";
import { poolKeyOf } from "../features/connection/pool-key.ts";
import type { Upstream } from "../features/connection/compiled.ts";
import { type Transport, type UpstreamCall, type UpstreamReceiver, type UpstreamRequest } from "./transport-types.ts";
import { CLOSED, refuse } from "./transport-limits.ts";
import { task } from "../shared/faults/guard.ts";
import { recur } from "../shared/timing/recurring.ts";

/** The connections of one upstream, and the requests that wait for one. */
export interface UpstreamPool {
  /** No connection is open and no request waits. */
  readonly isEmpty: boolean;
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
  /** See `Transport`. */
  reserve(party?: CallParty): (() => void) | undefined;
  /** Closes expired connections, and fails calls that waited too long. @param now of `performance.now()` */
  sweep(now: number): void;
  /** No route names it now: connections end with their requests. */
  retire(): void;
  destroy(): void;
}

/** Interval for closing idle connections; an expired one is never used, even before it is closed. */
const SWEEP_MS = 1_000;

export function createPoolTransport(open: (upstream: Upstream) => UpstreamPool, share?: FairShare): Transport {
  const pools = new Map<string, UpstreamPool>();
  /** Pools that no route names, until their last request is done. */
  const retired = new Set<UpstreamPool>();
  let isClosed = false;
  const sweepOne = task("the sweep of one upstream's connections", (pool: UpstreamPool, now: number) =>
    pool.sweep(now),
  );
  const stopSweeper = recur("the sweep of connections to upstreams", SWEEP_MS, () => {
    const now = performance.now();
    share?.sweep(now);
    for (const pool of pools.values()) sweepOne(pool, now);
    for (const pool of retired) {
      sweepOne(pool, now);
      if (pool.isEmpty) retired.delete(pool);
    }
  });

  const poolOf = (upstream: Upstream): UpstreamPool => {
    const key = poolKeyOf(upstream);
    let known = pools.get(key);
    if (!known) {
      known = open(upstream);
      pools.set(key, known);
    }
    return known;
  };

  return {
    send(request, receiver) {
      if (isClosed) return refuse(request, receiver, "closed", CLOSED);
      return poolOf(request.upstream).send(request, receiver);
    },
    reserve: (upstream, party) => poolOf(upstream).reserve(party),
    retain(named) {
      for (const [key, pool] of pools) {
        if (named.has(key)) continue;
        pools.delete(key);
        pool.retire();
        if (!pool.isEmpty) retired.add(pool);
      }
    },
    close() {
      isClosed = true;
      stopSweeper();
      for (const pool of [...pools.values(), ...retired]) pool.destroy();
      pools.clear();
      retired.clear();
      return Promise.resolve();
    },
  };
}
