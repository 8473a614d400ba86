import type { NoRouteReason } from "../../features/routing/apply-host-routes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondError } from "../../http/respond.ts";
import { withoutPort } from "../../shared/http/target.ts";

/**
 * Responds to a request for a host that no route names. 421 sends clients to another connection (RFC 9110 §15.5.20), so it is
 * only for requests on a TLS connection that was opened for another host: browsers reuse connections for all names of the
 * certificate, and another server can have this one. On other connections a second attempt would get the same response.
 */
export function answerUnknownHost(exchange: Exchange): void {
  const { serverName, host } = exchange;
  const isReused = serverName !== undefined && serverName.toLowerCase() !== withoutPort(host);
  const parts = { code: "host.unknown", message: "This gateway does not serve this host" } as const;
  respondError(exchange, isReused ? 421 : 404, parts);
}

/** Responds to a request whose path has no route. */
export function answerNoRoute(exchange: Exchange, reason: NoRouteReason): void {
  if (reason === "no-route") {
    respondError(exchange, 404, { code: "route.not-found", message: "There is nothing at this address" });
  } else if (reason === "path-too-long") {
    respondError(exchange, 414, { code: "request.path-too-long", message: "The path of this request is too long" });
  } else {
    respondError(exchange, 400, {
      code: "request.ambiguous-path",
      message: "The path of this request has several readings",
    });
  }
}
