/** The transport of the proxy: HTTP/1.1 by our own connections, HTTP/2 for routes that request it. */
import type { Transport } from "./transport-types.ts";
import { FairShare } from "./fair-share.ts";
import { type TransportOptions, connectTimeoutOf, maxUnderWayOf } from "./transport-limits.ts";
import { createPoolTransport } from "./upstream-pools.ts";
import { Pool as Http1Pool } from "./http1/pool.ts";
import { Pool as Http2Pool } from "./http2/pool.ts";

export function createTransport(options: TransportOptions = {}): Transport {
  const share = new FairShare(options.maxConnections);
  const http1 = createHttp1Transport({ ...options, share });
  const http2 = createHttp2Transport({ ...options, share }, http1);
  return {
    send: (request, receiver) => (request.upstream.connect?.http2 === true ? http2 : http1).send(request, receiver),
    // A tunnel has a separate connection, whatever the pool's protocol is.
    reserve: (upstream, party) => (upstream.connect?.http2 === true ? http2 : http1).reserve(upstream, party),
    retain(keys) {
      http1.retain(keys);
      http2.retain(keys);
    },
    async close() {
      await Promise.all([http1.close(), http2.close()]);
    },
  };
}

/**
 * The transport for HTTP/1.1 upstreams: pooled connections, one request at a time on each.
 *
 * No pipelining: a second request would wait for a slow first one, and be lost if that one breaks the connection.
 */
export function createHttp1Transport(options: TransportOptions = {}): Transport {
  const connectTimeoutMs = connectTimeoutOf(options);
  const share = options.share ?? new FairShare(options.maxConnections);
  return createPoolTransport(
    (upstream) => new Http1Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options), share),
    share,
  );
}

/**
 * The transport for upstreams that speak HTTP/2, in plain text or by choice in the TLS handshake: connections that many
 * requests share. An upstream that chooses HTTP/1.1 gets it over connections of that transport.
 *
 * @param http1 closed by its owner
 */
function createHttp2Transport(options: TransportOptions, http1: Transport): Transport {
  const connectTimeoutMs = connectTimeoutOf(options);
  const share = options.share ?? new FairShare(options.maxConnections);
  return createPoolTransport(
    (upstream) => new Http2Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options), http1, share),
  );
}
