/** Answers to identity providers that say what is ours to say; what is wrong with a statement they are not told. */
import type { Exchange } from "../../http/exchange.ts";
import { AGAIN_LATER, respondError, respondJson } from "../../http/respond.ts";
import type { Log } from "../../shared/log.ts";

export function respondNotThere(exchange: Exchange): void {
  respondError(exchange, 404, { code: "endpoint.not-found", message: "There is nothing at this address" });
}

/** Not everything has ended, and the same may be sent again. */
export function respondAgain(exchange: Exchange): void {
  respondJson(exchange, 503, UNAVAILABLE, AGAIN_LATER);
}

/** Of a statement that another request, here or elsewhere, is at: should that fail, this one must not have been refused. */
export const BUSY = "the same statement is being carried out";

interface NotNow {
  /** Name of the entry. */
  readonly issuer?: string;
  /** For the log. */
  readonly detail: string;
  /** After which the sender may go on, of too many that were bad. */
  readonly seconds?: number;
}

/** Nothing has ended. */
export function respondNotNow(log: Log, exchange: Exchange, { issuer, detail, seconds }: NotNow): void {
  log.warn({ request: exchange.id, issuer, reason: detail }, "cannot process issuer logout");
  if (seconds === undefined) respondAgain(exchange);
  else respondJson(exchange, 429, UNAVAILABLE, ["retry-after", String(seconds)]);
}

const UNAVAILABLE = { error: "temporarily_unavailable" };
