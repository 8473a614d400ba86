/** The ticket with which a route's host sends a browser to the authenticate host: sealed, short-lived, for one sign-in. */
import type { Keys } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";

export interface Ticket {
  readonly signInId: string;
  /** Host that the browser goes back to. */
  readonly host: string;
  readonly expiresAt: number;
  /** Names of the providers that help there; absent: all. */
  readonly providers?: readonly string[];
  /** No session that is there will do. */
  readonly isFresh?: true;
}

export interface Tickets {
  seal(ticket: Ticket): string;
  /** @returns undefined when forged, changed or past its end */
  open(text: string): Ticket | undefined;
}

export function createTickets(deps: { readonly keys: Keys; readonly clock: Clock }): Tickets {
  const sealer = deps.keys.sealer("sign-in-ticket");
  return {
    seal: (ticket) => sealer.seal(JSON.stringify(ticket), "ticket"),
    open(text) {
      const bytes = sealer.open(text, "ticket");
      if (!bytes) return undefined;
      const ticket = JSON.parse(bytes.toString()) as Ticket;
      return ticket.expiresAt > epochSeconds(deps.clock) ? ticket : undefined;
    },
  };
}
