/** The end of an exchange in whose handling a mistake of ours showed: a 500, or a break where the answer has begun. */
import { tellFault } from "../shared/faults/faults.ts";
import type { Guarded } from "../shared/faults/guard.ts";
import type { Exchange } from "./exchange.ts";
import { respondError } from "./respond.ts";

export function endBroken(exchange: Exchange, error: unknown): void {
  tellFault({ scope: "request", request: exchange.id, error });
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

/** The end of a connection of HTTP/1.1, by that of its request where one is under way. */
export function endConnection(
  socket: { destroy(): unknown },
  exchange: (Guarded & { closesConnection: boolean }) | undefined,
  error: unknown,
): void {
  if (exchange === undefined) {
    tellFault({ scope: "request", what: "a connection", error });
    socket.destroy();
    return;
  }
  exchange.closesConnection = true;
  exchange.broke(error);
}
