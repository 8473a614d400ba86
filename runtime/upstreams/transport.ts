/** The transport that the proxy uses: HTTP/1.1 by our own connections, HTTP/2 where a route asks for it. */
import type { Transport } from "./transport-types.ts";
import { createHttp1Transport } from "./http1/transport.ts";
import { createHttp2Transport } from "./http2/transport.ts";
import { FairShare } from "./fair-share.ts";
import type { TransportOptions } from "./transport-limits.ts";

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
