/** The 503 response for clients without room, and the log messages for the operator. */
import type { Log } from "../../shared/log.ts";
import type { Exchange } from "../exchange.ts";
import { respondError } from "../respond.ts";
import type { ShedReason } from "./admission.ts";
import { createEpisode } from "./episode.ts";

export interface ShedDeps {
  readonly log: Log;
  readonly onShed?: ((reason: ShedReason) => void) | undefined;
}

export interface Shedding {
  readonly shed: (exchange: Exchange, reason: ShedReason) => void;
  /** Counts input that is rejected before it is a request. */
  note(reason: ShedReason): void;
  close(): void;
}

/** Clients that all retry in the same second would be the next overload. */
const MAX_RETRY_SECONDS = 4;

export function createShedding({ log, onShed }: ShedDeps): Shedding {
  let count = 0;
  const episode = createEpisode<{ reason: ShedReason }>({
    begins: (facts) => log.warn(facts, "overloaded, requests get 503"),
    isOver: ({ count: shed, seconds }) => log.info({ shed, seconds }, "overload ended"),
  });

  const note = (reason: ShedReason): void => {
    onShed?.(reason);
    episode.add({ reason });
  };
  return {
    note,
    shed(exchange, reason) {
      note(reason);
      count += 1;
      const seconds = 1 + (count % MAX_RETRY_SECONDS);
      respondError(
        exchange,
        503,
        { code: "request.overloaded", message: "The gateway is overloaded, try again", canRetry: true },
        ["retry-after", String(seconds)],
      );
    },
    close: () => episode.close(),
  };
}
