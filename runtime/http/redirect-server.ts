/** The plain listener beside the TLS one: it answers nothing but where the same address is on https. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Log } from "../log.ts";
import type { Closable } from "../ports.ts";
import { listen } from "./listen.ts";
import { expectProxyHeaders } from "./proxied-connections.ts";
import { canonicalTarget } from "./target.ts";

export interface RedirectServer extends Closable {
  readonly port: number;
}

export interface RedirectOptions {
  readonly address: string;
  /** Of the TLS listener; left out of addresses when it is 443. */
  readonly securePort: number;
  /** Each connection begins with a PROXY head, as on the TLS listener. */
  readonly proxyProtocol?: boolean;
  readonly log: Log;
}

/**
 * GET and HEAD get 308; any other method 403: its body has crossed the network in the clear already, and a redirect
 * would hide that from whoever configured the client.
 */
export async function startRedirectServer({
  address,
  securePort,
  proxyProtocol = false,
  log,
}: RedirectOptions): Promise<RedirectServer> {
  const server = createServer({ maxHeaderSize: 16_384, requireHostHeader: false, headersTimeout: 10_000 });
  server.maxHeadersCount = 0;
  server.on("request", (request, response) => {
    const hosts = request.headersDistinct["host"] ?? [];
    const target = canonicalTarget(request.url ?? "", hosts.length === 1 ? hosts[0] : undefined, "80");
    if (!target.ok) answer(400);
    else if (request.method !== "GET" && request.method !== "HEAD") answer(403);
    else {
      const hostname = target.host.replace(/:[0-9]+$/, "");
      const port = securePort === 443 ? "" : `:${securePort}`;
      answer(308, ["location", `https://${hostname}${port}${target.path}${target.query}`]);
    }

    function answer(status: number, headers: readonly string[] = []): void {
      response.writeHead(status, [...headers, "connection", "close", "content-length", "0"]).end();
    }
  });
  const proxied = proxyProtocol ? expectProxyHeaders(server, log) : undefined;
  await listen(server, address);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        proxied?.cutWaiting();
      }),
  };
}
