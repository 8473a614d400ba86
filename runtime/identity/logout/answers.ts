/** Responses to identity providers about logout statements. They never say what is wrong with a statement. */
import type { Exchange } from "../../http/exchange.ts";
import { AGAIN_LATER, respondError, respondJson } from "../../http/respond.ts";
import type { Log } from "../../shared/log.ts";

export function respondNotThere(exchange: Exchange): void {
  respondError(exchange, 404, { code: "endpoint.not-found", message: "There is nothing at this address" });
}

/** The revocation is incomplete, and the provider should send the statement again. */
export function respondAgain(exchange: Exchange): void {
  respondJson(exchange, 503, UNAVAILABLE, AGAIN_LATER);
}

/** Another request is processing the same statement. If that fails, this one must not have been rejected. */
export const BUSY = "the same request is in progress";

interface NotNow {
  /** Name of the entry. */
  readonly issuer?: string;
  /** For the log. */
  readonly detail: string;
  /** Wait time after too many invalid statements. */
  readonly seconds?: number;
}

/** Nothing was revoked. */
export function respondNotNow(log: Log, exchange: Exchange, { issuer, detail, seconds }: NotNow): void {
  log.warn({ request: exchange.id, issuer, reason: detail }, "cannot process issuer logout");
  if (seconds === undefined) respondAgain(exchange);
  else respondJson(exchange, 429, UNAVAILABLE, ["retry-after", String(seconds)]);
}

const UNAVAILABLE = { error: "temporarily_unavailable" };
