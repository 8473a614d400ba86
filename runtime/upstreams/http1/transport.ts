/**
 * The transport for HTTP/1.1 upstreams: connections that are kept and used again, one request at a time on each.
 *
 * A second request behind a slow one would wait for it, and a broken one would take the others with it: no pipelining.
 */
import type { Transport } from "../transport-types.ts";
import { connectTimeoutOf, maxUnderWayOf, type TransportOptions } from "../transport-limits.ts";
import { FairShare } from "../fair-share.ts";
import { createPoolTransport } from "../upstream-pools.ts";
import { Pool } from "./pool.ts";

export function createHttp1Transport(options: TransportOptions = {}): Transport {
  const connectTimeoutMs = connectTimeoutOf(options);
  const share = options.share ?? new FairShare(options.maxConnections);
  return createPoolTransport(
    (upstream) => new Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options), share),
    share,
  );
}
