import type { NoRouteReason } from "../../features/routing/apply-host-routes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondError } from "../../http/respond.ts";

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
