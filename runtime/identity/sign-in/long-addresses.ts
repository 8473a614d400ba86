/** Stores the return address during a sign-in: in the `state`, or in the store if it is too long. */
import type { Exchange } from "../../http/exchange.ts";
import { createUntrustedLimit } from "../../shared/rate-limit.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { SIGN_IN_SECONDS } from "../cookie.ts";
import type { SessionRecords } from "../identity-records.ts";
import { isLocalPath } from "../sites.ts";
import type { ProviderStep, Ticket } from "./ticket.ts";

/** Longer addresses are stored: some providers reject a long `state`. */
const MAX_STATE_ADDRESS = 600;
/** Limits stored addresses to about 2,500 records, which live for ten minutes. Beyond the limit they stay in the `state`. */
const LONG_ADDRESSES = { peer: { burst: 30, perSecond: 0.1 }, all: { burst: 1000, perSecond: 2 } };

export interface LongAddresses {
  /** Prepares a ticket for the provider's `state`. */
  carried(exchange: Exchange, ticket: Ticket): Promise<ProviderStep["ticket"]>;
  /** Does not delete the record: two tabs may use the same ticket. */
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
      const stored = (await records.signIns.get(ticket.signInId))?.value.returnTo ?? "/";
      // Write access to the store must not allow redirects to another host.
      return { ...ticket, returnTo: isLocalPath(stored) ? stored : "/" };
    },
  };
}
