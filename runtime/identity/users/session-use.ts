/**
 * Notes which browser a session is used by, from which address, and when: for the pages on which users and administrators
 * recognize their sessions.
 *
 * Cheap: asked only where the records of a cookie are read anyway, at most one write per session, process and INTERVAL. No
 * request waits for it. A session that has ended meanwhile is not written again.
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
  /** When the use of a session was last written, or tried. */
  const noted = new BoundedCache<Visited & { readonly at: number }>(MAX_KNOWN);

  const write = async (sessionId: string, at: number, ip: string, browser: string): Promise<void> => {
    const found = await records.sessions.get(sessionId);
    if (found?.expiresAt === undefined) return;
    const { value, version: ifVersion, expiresAt, tags } = found;
    const { used } = value;
    // Another process has written it.
    if (used && used.ip === ip && used.browser === browser && at - used.at < INTERVAL_SECONDS) return;
    // A conflict means that the session changed or ended: the next use notes it.
    await records.sessions.put(sessionId, { ...value, used: { at, ip, browser } }, { ifVersion, expiresAt, tags });
  };

  return {
    note(sessionId, exchange) {
      const now = epochSeconds(clock);
      const last = noted.get(sessionId)?.at;
      if (last !== undefined && now >= last && now - last < INTERVAL_SECONDS) return;
      noted.set(sessionId, { at: now, visited: false });
      // Nothing depends on it: while the store is unavailable, requests report that themselves.
      write(sessionId, now, exchange.remoteAddress, browserName(exchange.header("user-agent"))).catch(() => undefined);
    },
  };
}
