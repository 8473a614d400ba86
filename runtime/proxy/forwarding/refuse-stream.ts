/** What a user is told who holds as many open streams as `max_streams_per_user` allows. */
import type { Exchange } from "../../http/exchange.ts";
import { respondError } from "../../http/respond.ts";

/** @returns the status that was answered */
export function refuseStream(exchange: Exchange): number {
  respondError(
    exchange,
    429,
    { code: "streams.too-many", message: "Too many event streams and WebSocket connections of this user are open" },
    ["retry-after", "10"],
  );
  return 429;
}
