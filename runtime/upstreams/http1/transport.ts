/**
 * The transport for HTTP/1.1 upstreams: connections that are kept and used again, one request at a time on each.
 *
 * A second request behind a slow one would wait for it, and a broken one would take the others with it: no pipelining.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import { poolKeyOf } from "../../features/connection/pool-key.ts";
import type { Transport } from "../transport-types.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS, maxUnderWayOf, type TransportOptions } from "../transport-limits.ts";
import { CLOSED, Pool, refuseRequest } from "./pool.ts";

/** How often idle connections are looked at; one that is too old is never used, whenever it is closed. */
const SWEEP_MS = 1_000;

export function createHttp1Transport(options: TransportOptions = {}): Transport {
  const pools = new Map<string, Pool>();
  /** Those that no route names any more, until their last request is done. */
  const retired = new Set<Pool>();
  const connectTimeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  let isClosed = false;
  const sweeper = setInterval(() => {
    const now = performance.now();
    for (const pool of pools.values()) pool.sweep(now);
    for (const pool of retired) {
      pool.sweep(now);
      if (pool.isEmpty) retired.delete(pool);
    }
  }, SWEEP_MS);
  sweeper.unref();

  const poolOf = (upstream: Upstream): Pool => {
    const key = poolKeyOf(upstream);
    let known = pools.get(key);
    if (!known) {
      known = new Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options));
      pools.set(key, known);
    }
    return known;
  };

  return {
    send(request, receiver) {
      if (isClosed) return refuseRequest(request, receiver, "closed", CLOSED);
      return poolOf(request.upstream).send(request, receiver);
    },
    reserve: (upstream) => poolOf(upstream).reserve(),
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
      clearInterval(sweeper);
      for (const pool of [...pools.values(), ...retired]) pool.destroy();
      pools.clear();
      retired.clear();
      return Promise.resolve();
    },
  };
}
