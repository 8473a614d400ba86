/**
 * Records the last use of sessions, with browser and address, and of service accounts: for the pages on which users and
 * administrators recognize them.
 *
 * Cheap: called only when the records of a credential are read anyway, with at most one write per record, process and
 * INTERVAL. No request waits for it. What has ended is not written again.
 */
import type { Exchange } from "../../http/exchange.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { RecordSet, SessionRecords } from "../identity-records.ts";
import { browserName } from "./browser-name.ts";

export interface CredentialUse {
  session(sessionId: string, exchange: Pick<Exchange, "remoteAddress" | "header">): void;
  serviceAccount(accountId: string): void;
}

const INTERVAL_SECONDS = 300;
const MAX_KNOWN = 50_000;

export function createCredentialUse({
  records,
  clock,
}: {
  readonly records: Pick<SessionRecords, "sessions" | "serviceAccounts">;
  readonly clock: Clock;
}): CredentialUse {
  /** Time of the last write, or attempt. */
  const noted = new BoundedCache<Visited & { readonly at: number }>(MAX_KNOWN);

  /** Failures are ignored: during a store outage, the requests themselves report it. */
  const note = (id: string, write: (at: number) => Promise<void>): void => {
    const now = epochSeconds(clock);
    const last = noted.get(id)?.at;
    if (last !== undefined && now >= last && now - last < INTERVAL_SECONDS) return;
    noted.set(id, { at: now, visited: false });
    write(now).catch(() => undefined);
  };

  return {
    session(sessionId, exchange) {
      note(sessionId, (at) => {
        const ip = exchange.remoteAddress;
        const browser = browserName(exchange.header("user-agent"));
        return change(records.sessions, sessionId, (value) => {
          const { used } = value;
          const isKnown = used && used.ip === ip && used.browser === browser && at - used.at < INTERVAL_SECONDS;
          return isKnown ? undefined : { ...value, used: { at, ip, browser } };
        });
      });
    },
    serviceAccount(accountId) {
      note(accountId, (at) =>
        change(records.serviceAccounts, accountId, (value) =>
          at - (value.usedAt ?? 0) < INTERVAL_SECONDS ? undefined : { ...value, usedAt: at },
        ),
      );
    },
  };
}

/** @param next undefined if another process has just written it */
async function change<T>(set: RecordSet<T>, id: string, next: (value: T) => T | undefined): Promise<void> {
  const found = await set.get(id);
  const value = found && next(found.value);
  if (!found || value === undefined) return;
  const { version: ifVersion, expiresAt, tags } = found;
  // On conflict the record changed or ended. The next use writes again.
  await set.put(id, value, { ifVersion, tags, ...(expiresAt === undefined ? {} : { expiresAt }) });
}
