/** Where a user wanted to go, while they are at the provider: in the `state`, or in the store where that would get too long. */
import type { Exchange } from "../../http/exchange.ts";
import { createUntrustedLimit } from "../../shared/rate-limit.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { SIGN_IN_SECONDS } from "../cookie.ts";
import type { SessionRecords } from "../identity-records.ts";
import { isLocalPath } from "../sites.ts";
import type { ProviderStep, Ticket } from "./ticket.ts";

/** Longer addresses wait in the store: some providers refuse a long `state`. */
const MAX_STATE_ADDRESS = 600;
/** What waits of those for ten minutes stays below 2,500 records; past it they travel in the `state` all the same. */
const LONG_ADDRESSES = { peer: { burst: 30, perSecond: 0.1 }, all: { burst: 1000, perSecond: 2 } };

export interface LongAddresses {
  /** The ticket as the provider carries it. */
  carried(exchange: Exchange, ticket: Ticket): Promise<ProviderStep["ticket"]>;
  /** Not taken: the same ticket may be on its way in two tabs. */
  restored(step: ProviderStep): Promise<Ticket>;
}

export function createLongAddresses(deps: {
  readonly records: Pick<SessionRecords, "signIns">;
  readonly clock: Clock;
}): LongAddresses {
  const { records, clock } = deps;
  const limit = createUntrustedLimit({ clock }, LONG_ADDRESSES);
  return {
    async carried(exchange, ticket) {
      const { signInId, host, returnTo } = ticket;
      if (returnTo.length <= MAX_STATE_ADDRESS || limit.take(exchange.remoteAddress) > 0) return ticket;
      const expiresAt = epochSeconds(clock) + SIGN_IN_SECONDS;
      await records.signIns.put(signInId, { host, returnTo }, { expiresAt });
      const { returnTo: _, ...short } = ticket;
      return short;
    },
    async restored({ ticket }) {
      if (ticket.returnTo !== undefined) return { ...ticket, returnTo: ticket.returnTo };
      const kept = (await records.signIns.get(ticket.signInId))?.value.returnTo ?? "/";
      // Whoever writes the store must not lead people to a host of theirs.
      return { ...ticket, returnTo: isLocalPath(kept) ? kept : "/" };
    },
  };
}
