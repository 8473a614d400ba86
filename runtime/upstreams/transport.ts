/** The transport that the proxy uses: HTTP/1.1 by our own connections, HTTP/2 where a route asks for it. */
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
    // What leaves HTTP has a connection of its own, whatever is spoken otherwise.
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
 * The transport for HTTP/1.1 upstreams: connections that are kept and used again, one request at a time on each.
 *
 * A second request behind a slow one would wait for it, and a broken one would take the others with it: no pipelining.
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
 * For upstreams that speak HTTP/2, in the clear or by choice in the TLS handshake: connections that many requests share. An upstream that
 * chooses HTTP/1.1 gets it over connections of that transport.
 *
 * @param http1 its owner closes it
 */
function createHttp2Transport(options: TransportOptions, http1: Transport): Transport {
  const connectTimeoutMs = connectTimeoutOf(options);
  const share = options.share ?? new FairShare(options.maxConnections);
  return createPoolTransport(
    (upstream) => new Http2Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options), http1, share),
  );
}
