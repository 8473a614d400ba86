/**
 * The plain HTTP listener next to the TLS one: it serves routes whose `from` starts with http://, redirects other requests to
 * the same address on https, and answers validations by HTTP-01.
 *
 * Untrusted input: every Exchange. Promises: never redirects to a host that this gateway does not serve; no request reaches a
 * route with https:// or an own endpoint.
 */
import { ACME_PATH } from "./issued-certificates.ts";
import { AI_CATALOG_PATH } from "../../features/catalog/paths.ts";
import { isOwnPath } from "../../features/routing/own-paths.ts";
import { withoutPort } from "../../shared/http/target.ts";
import type { Exchange } from "../exchange.ts";
import { respondBytes } from "../respond.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "./server.ts";

export interface PlainOptions extends Omit<HttpServerOptions, "insecure" | "certificates" | "handle"> {
  /** Port of the TLS listener; omitted from addresses when it is 443. */
  readonly securePort: number;
  /** True if the TLS listener serves a host, "app.example.com" or "app.example.com:8443". Called for each request. */
  readonly servesHost: (host: string) => boolean;
  /** Routes with http://; absent: there are none. */
  readonly plain?: PlainRoutes | undefined;
  /** Body for a pending validation of a host by HTTP-01; absent: there are none. */
  readonly challengeAnswer?: ((host: string, token: string) => string | undefined) | undefined;
}

export interface PlainRoutes {
  /** @param host with its port: "app.example.com:80" */
  servesHost(host: string): boolean;
  handle(exchange: Exchange): void;
}

/** @throws GatewayError as `createHttpServer()` */
export function startPlainServer(options: PlainOptions): Promise<HttpServer> {
  return createHttpServer({ ...options, insecure: true, handle: (exchange) => answer(exchange, options) });
}

/**
 * Requests without a plain route get 404 for a host that the gateway does not serve. For others GET and HEAD get 308, and other
 * methods 403: the body has already crossed the network in plain text, and a redirect would hide that from the client's
 * administrator.
 */
function answer(exchange: Exchange, { securePort, servesHost, plain, challengeAnswer }: PlainOptions): void {
  const { method, path, query } = exchange;
  const hostname = withoutPort(exchange.host);
  if (challengeAnswer && path.startsWith(ACME_PATH) && (method === "GET" || method === "HEAD")) {
    const body = challengeAnswer(hostname, path.slice(ACME_PATH.length));
    if (body !== undefined) return respond(exchange, 200, ["content-type", "application/octet-stream"], body);
  }
  // A port that no route names does not count: a load balancer can have mapped it.
  const plainHost = [exchange.host === hostname ? `${hostname}:80` : exchange.host, `${hostname}:80`].find(
    (host) => plain?.servesHost(host) === true,
  );
  if (plain && plainHost !== undefined && !isOwnPath(path) && path !== AI_CATALOG_PATH) {
    exchange.routedHost = plainHost;
    return plain.handle(exchange);
  }
  const named = securePort === 443 ? hostname : `${hostname}:${securePort}`;
  // If the listener's port is mapped, routes name the external port.
  const host = [named, hostname].find(servesHost);
  if (host === undefined) return respond(exchange, 404);
  if (method !== "GET" && method !== "HEAD") return respond(exchange, 403);
  respond(exchange, 308, ["location", `https://${host}${path}${query}`]);
}

/** The client continues on another connection. */
function respond(exchange: Exchange, status: number, headers: readonly string[] = [], body = ""): void {
  exchange.closesConnection = true;
  respondBytes(exchange, status, [...headers, "content-length", String(body.length)], body);
}
