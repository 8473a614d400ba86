/** Ends an exchange after a bug of ours: with a 500, or by aborting a response that has begun. */
import { reportFault } from "../shared/faults/faults.ts";
import type { Guarded } from "../shared/faults/guard.ts";
import type { Exchange } from "./exchange.ts";
import { respondError } from "./respond.ts";

export function endBroken(exchange: Exchange, error: unknown): void {
  reportFault({ scope: "request", request: exchange.id, error });
  exchange.isBroken = true;
  if (exchange.started && !exchange.takeBack()) {
    exchange.abort();
    return;
  }
  try {
    respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
  } catch {
    exchange.abort();
  }
}

/** Ends an HTTP/1.1 connection, through its request if one is in progress. */
export function endConnection(
  socket: { destroy(): unknown },
  exchange: (Guarded & { closesConnection: boolean }) | undefined,
  error: unknown,
): void {
  if (exchange === undefined) {
    reportFault({ scope: "request", what: "a connection", error });
    socket.destroy();
    return;
  }
  exchange.closesConnection = true;
  exchange.broke(error);
}
