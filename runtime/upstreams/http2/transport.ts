/**
 * The transport for upstreams that speak HTTP/2, in the clear or by choice in the TLS handshake: connections that many
 * requests share. An upstream that chooses HTTP/1.1 gets it over connections of that transport.
 */
import type { Transport } from "../transport-types.ts";
import { connectTimeoutOf, maxUnderWayOf, type TransportOptions } from "../transport-limits.ts";
import { FairShare } from "../fair-share.ts";
import { createPoolTransport } from "../upstream-pools.ts";
import { Pool } from "./pool.ts";

/** @param http1 stays its owner's to close */
export function createHttp2Transport(options: TransportOptions, http1: Transport): Transport {
  const connectTimeoutMs = connectTimeoutOf(options);
  const share = options.share ?? new FairShare(options.maxConnections);
  return createPoolTransport(
    (upstream) => new Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options), http1, share),
  );
}
