import type { Snapshot } from "../config/snapshot.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Exchange } from "./exchange.ts";

/**
 * One of the gateway's own addresses (`/.gateway/…`, `/.well-known/…`). Own endpoints never reach an upstream. A module
 * passes its endpoints to gateway.ts; proxy/endpoints.ts finds the one for a request.
 */
export interface Endpoint {
  /** Other methods get 405 with Allow. The finder responds to OPTIONS for endpoints with `cors`. HEAD follows GET. */
  readonly methods: readonly string[];
  /**
   * Exact path; or with a trailing "/*" every path below (and the path itself); or with a leading "*" every path that
   * ends with the rest ("*" + "/.well-known/openid-configuration": discovery below the path of an MCP route).
   */
  readonly path: string;
  /** Answers CORS `*` without credentials (metadata, registration, token). */
  readonly cors?: boolean;
  /** Only if `runtime_flags.mcp` is true; otherwise 404. */
  readonly mcp?: boolean;
  /** A rejected promise or an exception becomes 500 with the request ID. */
  handle(exchange: Exchange, snapshot: Snapshot): void | Promise<void>;
}

/** An endpoint with its own response for an unreachable store. */
export function endpointOverStore(
  endpoint: Endpoint,
  log: Log,
  respondStoreAway: (exchange: Exchange) => void,
): Endpoint {
  return {
    ...endpoint,
    async handle(exchange, snapshot) {
      try {
        await endpoint.handle(exchange, snapshot);
      } catch (error) {
        if (!(error instanceof GatewayError && error.code === "store.unavailable") || exchange.started) throw error;
        const reason = errorText(error);
        log.error({ request: exchange.id, path: endpoint.path, reason }, "store unavailable");
        respondStoreAway(exchange);
      }
    },
  };
}
