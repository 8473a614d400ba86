/** What a client is told for whom there is no room, and what an operator is: one line when it begins and one when it is over. */
import type { Log } from "../../shared/log.ts";
import type { Exchange } from "../exchange.ts";
import { respondError } from "../respond.ts";
import type { ShedReason } from "./admission.ts";

export interface ShedDeps {
  readonly log: Log;
  /** Called for each. */
  readonly onShed?: ((reason: ShedReason) => void) | undefined;
}

export interface Shedding {
  readonly shed: (exchange: Exchange, reason: ShedReason) => void;
  close(): void;
}

/** Without any for so long it is over. */
const OVER_MS = 10_000;
/** Clients that come back all in the same second would be the next overload. */
const MAX_RETRY_SECONDS = 4;

export function createShedding({ log, onShed }: ShedDeps): Shedding {
  let count = 0;
  let beganMs = 0;
  let lastMs = 0;
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    const left = lastMs + OVER_MS - performance.now();
    if (left > 0) {
      timer = setTimeout(look, left);
      timer.unref();
      return;
    }
    timer = undefined;
    log.info({ shed: count, seconds: Math.round((lastMs - beganMs) / 1000) }, "overload is over");
    count = 0;
  };

  return {
    shed(exchange, reason) {
      onShed?.(reason);
      lastMs = performance.now();
      count += 1;
      if (timer === undefined) {
        beganMs = lastMs;
        log.warn({ reason }, "overload: requests are answered 503");
        timer = setTimeout(look, OVER_MS);
        timer.unref();
      }
      const seconds = 1 + (count % MAX_RETRY_SECONDS);
      respondError(
        exchange,
        503,
        { code: "request.overloaded", message: "The gateway has more to do than it can; try again", canRetry: true },
        ["retry-after", String(seconds)],
      );
    },
    close() {
      clearTimeout(timer);
    },
  };
}
