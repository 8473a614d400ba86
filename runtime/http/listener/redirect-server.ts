/**
 * The plain HTTP listener next to the TLS one: it redirects to the same address on https, and answers validations by HTTP-01.
 *
 * Untrusted input: everything. Promises: never redirects to a host that this gateway does not serve; each connection ends
 * with its first response.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import type { Log } from "../../shared/log.ts";
import type { Closable } from "../../shared/clock.ts";
import { ACME_PATH } from "./issued-certificates.ts";
import { boundConnections } from "../admission/connections.ts";
import { takeInTurn, TCP_KEEP_ALIVE } from "./connections-h1.ts";
import { listen } from "./listen.ts";
import { expectProxyHeaders } from "./proxied-connections.ts";
import { canonicalTarget } from "../../shared/http/target.ts";

export interface RedirectServer extends Closable {
  readonly port: number;
}

export interface RedirectOptions {
  readonly address: string;
  /** Port of the TLS listener; omitted from addresses when it is 443. */
  readonly securePort: number;
  /** True if the TLS listener serves a host, "app.example.com" or "app.example.com:8443". Called for each request. */
  readonly servesHost: (host: string) => boolean;
  /** Body for a pending validation of a host by HTTP-01; absent: there are none. */
  readonly challengeAnswer?: ((host: string, token: string) => string | undefined) | undefined;
  /** Each connection begins with a PROXY head, as on the TLS listener. */
  readonly proxyProtocol?: boolean;
  /** Open connections; more are closed immediately. Default: only the system's limit. */
  readonly maxConnections?: number | undefined;
  readonly log: Log;
}

const HTTP_OPTIONS = {
  maxHeaderSize: 16_384,
  requireHostHeader: false,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  ...TCP_KEEP_ALIVE,
} as const;

/**
 * GET and HEAD get 308, or 404 for a host that the gateway does not serve. Other methods get 403: the body has already
 * crossed the network in plain text, and a redirect would hide that from the client's administrator.
 */
export async function startRedirectServer(options: RedirectOptions): Promise<RedirectServer> {
  const { address, proxyProtocol = false, maxConnections, log } = options;
  const server = createServer(HTTP_OPTIONS);
  server.maxHeadersCount = 0;
  takeInTurn(
    server,
    false,
    (request, response) => {
      const { status, headers, body = "" } = answerTo(request, options);
      response.writeHead(status, [...headers, ...HEADERS, "content-length", String(body.length)]).end(body);
    },
    { log },
  );
  const bounds = boundConnections(server, { max: maxConnections, perClient: true, log });
  const proxied = proxyProtocol ? expectProxyHeaders(server, log) : undefined;
  await listen(server, address, log);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          bounds.close();
          resolve();
        });
        server.closeAllConnections();
        proxied?.cutWaiting();
      }),
  };
}

const HEADERS = ["x-content-type-options", "nosniff", "connection", "close"];

interface RedirectAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  /** ASCII. */
  readonly body?: string;
}

function answerTo(
  request: IncomingMessage,
  { securePort, servesHost, challengeAnswer }: RedirectOptions,
): RedirectAnswer {
  const hosts = request.headersDistinct["host"] ?? [];
  const target = canonicalTarget(request.url ?? "", hosts.length === 1 ? hosts[0] : undefined, "80");
  if (!target.ok) return { status: 400, headers: [] };
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 403, headers: [] };
  const hostname = target.host.replace(/:[0-9]+$/, "");
  if (challengeAnswer && target.path.startsWith(ACME_PATH)) {
    const body = challengeAnswer(hostname, target.path.slice(ACME_PATH.length));
    if (body !== undefined) return { status: 200, headers: ["content-type", "application/octet-stream"], body };
  }
  const named = securePort === 443 ? hostname : `${hostname}:${securePort}`;
  // If the listener's port is mapped, routes name the external port.
  const host = [named, hostname].find(servesHost);
  if (host === undefined) return { status: 404, headers: [] };
  return { status: 308, headers: ["location", `https://${host}${target.path}${target.query}`] };
}
