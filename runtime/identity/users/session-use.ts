/**
 * Records browser, address and time of a session's last use, for the pages on which users and administrators recognize
 * sessions.
 *
 * Cheap: called only when the records of a cookie are read anyway, with at most one write per session, process and
 * INTERVAL. No request waits for it. An ended session is not written again.
 */
import type { Exchange } from "../../http/exchange.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { SessionRecords } from "../identity-records.ts";
import { browserName } from "./browser-name.ts";

export interface SessionUse {
  note(sessionId: string, exchange: Pick<Exchange, "remoteAddress" | "header">): void;
}

const INTERVAL_SECONDS = 300;
const MAX_KNOWN = 50_000;

export function createSessionUse({
  records,
  clock,
}: {
  readonly records: Pick<SessionRecords, "sessions">;
  readonly clock: Clock;
}): SessionUse {
  /** Time of the last write, or attempt. */
  const noted = new BoundedCache<Visited & { readonly at: number }>(MAX_KNOWN);

  const write = async (sessionId: string, at: number, ip: string, browser: string): Promise<void> => {
    const found = await records.sessions.get(sessionId);
    if (found?.expiresAt === undefined) return;
    const { value, version: ifVersion, expiresAt, tags } = found;
    const { used } = value;
    // Another process has just written it.
    if (used && used.ip === ip && used.browser === browser && at - used.at < INTERVAL_SECONDS) return;
    // On conflict the session changed or ended. The next use writes again.
    await records.sessions.put(sessionId, { ...value, used: { at, ip, browser } }, { ifVersion, expiresAt, tags });
  };

  return {
    note(sessionId, exchange) {
      const now = epochSeconds(clock);
      const last = noted.get(sessionId)?.at;
      if (last !== undefined && now >= last && now - last < INTERVAL_SECONDS) return;
      noted.set(sessionId, { at: now, visited: false });
      // Failures are ignored: during a store outage, the requests themselves report it.
      write(sessionId, now, exchange.remoteAddress, browserName(exchange.header("user-agent"))).catch(() => undefined);
    },
  };
}
