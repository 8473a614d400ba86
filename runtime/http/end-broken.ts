/** The end of an exchange in whose handling a mistake of ours showed: a 500, or a break where the answer has begun. */
import { tellFault } from "../shared/faults/faults.ts";
import type { Exchange } from "./exchange.ts";
import { respondError } from "./respond.ts";

export function endBroken(exchange: Exchange, error: unknown): void {
  tellFault({ scope: "request", request: exchange.id, error });
  if (exchange.started) {
    exchange.abort();
    return;
  }
  try {
    respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
  } catch {
    exchange.abort();
  }
}
