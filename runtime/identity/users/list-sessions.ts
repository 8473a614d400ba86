/** Active sessions, for the pages and commands that show and end them. */
import { listByPages, pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { createRecords, SESSIONS_TAG, userTag, type SessionRecord } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";

export interface ActiveSession {
  readonly id: string;
  readonly userId: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** IDs of the devices that it has verified. */
  readonly deviceIds: readonly string[];
  /** Undefined: of a session that was not used since its sign-in. */
  readonly used?: SessionRecord["used"];
}

const PREFIX = "session:";

/** @param userId only this user's sessions; absent: all users' */
export async function listSessions(store: Store, userId?: string): Promise<readonly ActiveSession[]> {
  const tag = userId === undefined ? SESSIONS_TAG : userTag(userId);
  return (await listByPages<SessionRecord>(store, PREFIX, tag)).map(toSession);
}

/** @param userId only this user's sessions; undefined: all users' */
export function pageSessions(
  store: Store,
  userId: string | undefined,
  page: PageRequest,
): Promise<PageOf<ActiveSession>> {
  return pageOf(store, { prefix: PREFIX, tag: userId === undefined ? SESSIONS_TAG : userTag(userId) }, page, toSession);
}

export async function findSession(store: Store, id: string): Promise<ActiveSession | undefined> {
  const record = await createRecords(store).sessions.get(id);
  return record && toSession(record);
}

/** Ends a session in every process within 2 s. */
export function endSession(
  { revocations }: { readonly revocations: Pick<Revocations, "revoke"> },
  id: string,
): Promise<void> {
  return revocations.revoke(`${PREFIX}${id}`);
}

function toSession({ key, value, expiresAt }: StoredRecord<SessionRecord>): ActiveSession {
  const { userId, createdAt, devices = [], used } = value;
  const deviceIds = devices.map(({ id }) => id);
  return {
    id: key.slice(PREFIX.length),
    userId,
    createdAt,
    expiresAt: expiresAt ?? createdAt,
    deviceIds,
    ...(used && { used }),
  };
}
