/**
 * Records the last use of sessions, with browser and address, and of service accounts: for the pages on which users and
 * administrators recognize them.
 *
 * Cheap: called only when the records of a credential are read anyway, with at most one write per record, process and
 * INTERVAL. No request waits for it. What has ended is not written again.
 */
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { ignore } from "../../shared/ignore.ts";
import type { StoredRecord } from "../../store/store.ts";
import type { RecordSet, ServiceAccountRecord, SessionRecord, SessionRecords } from "../identity-records.ts";
import { browserName } from "./browser-name.ts";

/** Called with the record that the credential was just confirmed by. */
export interface CredentialUse {
  session(sessionId: string, found: StoredRecord<SessionRecord>, usedBy: UsedBy): void;
  serviceAccount(accountId: string, found: StoredRecord<ServiceAccountRecord>): void;
}

/** The request, as far as the pages show it. */
export interface UsedBy {
  readonly ip: string;
  readonly userAgent: string | undefined;
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
  const note = (id: string, write: (at: number) => Promise<unknown> | undefined): void => {
    const now = epochSeconds(clock);
    const last = noted.get(id)?.at;
    if (last !== undefined && now >= last && now - last < INTERVAL_SECONDS) return;
    noted.set(id, { at: now, visited: false });
    write(now)?.catch(ignore);
  };

  return {
    session(sessionId, found, { ip, userAgent }) {
      note(sessionId, (at) => {
        const browser = browserName(userAgent);
        const { used } = found.value;
        const isKnown = used && used.ip === ip && used.browser === browser && at - used.at < INTERVAL_SECONDS;
        return isKnown ? undefined : change(records.sessions, sessionId, found, { used: { at, ip, browser } });
      });
    },
    serviceAccount(accountId, found) {
      note(accountId, (at) =>
        at - (found.value.usedAt ?? 0) < INTERVAL_SECONDS
          ? undefined
          : change(records.serviceAccounts, accountId, found, { usedAt: at }),
      );
    },
  };
}

/** On conflict the record changed or ended. The next use writes again. */
function change<T>(set: RecordSet<T>, id: string, found: StoredRecord<T>, changes: Partial<T>): Promise<unknown> {
  const { value, version: ifVersion, expiresAt, tags } = found;
  return set.put(id, { ...value, ...changes }, { ifVersion, tags, ...(expiresAt === undefined ? {} : { expiresAt }) });
}
