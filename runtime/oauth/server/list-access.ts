/** Users' grants and remembered consents, for pages and commands that show and revoke them. */
import type { Log } from "../../shared/log.ts";
import { userTag } from "../../identity/identity-records.ts";
import type { Revocations } from "../../identity/interfaces.ts";
import { listByPages, pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { endGrant } from "./grants/grants.ts";
import { findGrant, GRANTS_TAG, type ConsentRecord, type GrantRecord } from "./grant-records.ts";

export interface ActiveGrant extends Omit<GrantRecord, "schema" | "issuer" | "refresh"> {
  readonly id: string;
  /** Epoch seconds; extended by each refresh. */
  readonly expiresAt: number;
}

export interface ActiveConsent extends Pick<ConsentRecord, "userId" | "clientId" | "audience" | "grantedAt"> {
  /** Key in the store. */
  readonly key: string;
  readonly clientName: string;
  readonly expiresAt: number;
}

export interface AccessDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly log: Log;
}

export interface AccessFilter {
  readonly userId?: string | undefined;
  readonly clientId?: string | undefined;
}

const GRANT = "grant:";
const CONSENT = "consent:";

export async function listGrants(store: Store, { userId, clientId }: AccessFilter): Promise<readonly ActiveGrant[]> {
  const records = await listByPages<GrantRecord>(store, GRANT, tagOf({ userId, clientId }));
  return records.filter(({ value }) => clientId === undefined || value.clientId === clientId).map(toGrant);
}

/** With both filters, a page may have fewer entries than its limit. */
export async function pageGrants(
  store: Store,
  { userId, clientId }: AccessFilter,
  page: PageRequest,
): Promise<PageOf<ActiveGrant>> {
  const grants = await pageOf(store, { prefix: GRANT, tag: tagOf({ userId, clientId }) }, page, toGrant);
  return { ...grants, found: grants.found.filter((each) => clientId === undefined || each.clientId === clientId) };
}

export async function findActiveGrant(store: Store, id: string): Promise<ActiveGrant | undefined> {
  const record = await findGrant(store, id);
  return record && toGrant(record);
}

export async function listConsents(store: Store, userId: string): Promise<readonly ActiveConsent[]> {
  const records = await store.list<ConsentRecord>(userTag(userId));
  return records.filter(({ key }) => key.startsWith(CONSENT)).map(toConsent);
}

/** @param userId only this user's consents; undefined: all users' */
export function pageConsents(
  store: Store,
  userId: string | undefined,
  page: PageRequest,
): Promise<PageOf<ActiveConsent>> {
  return pageOf(store, { prefix: CONSENT, tag: userId === undefined ? undefined : userTag(userId) }, page, toConsent);
}

/** @param key key from `ActiveConsent` */
export async function findConsent(store: Store, key: string): Promise<ActiveConsent | undefined> {
  const record = key.startsWith(CONSENT) ? await store.get<ConsentRecord>(key) : undefined;
  return record && toConsent(record);
}

/**
 * Revokes a grant and deletes its consent, so that the client must ask again.
 *
 * @param userId only if the grant belongs to this user
 * @returns false if the grant does not exist
 */
export async function endAccess(deps: AccessDeps, grantId: string, reason: string, userId?: string): Promise<boolean> {
  const grant = await findGrant(deps.store, grantId);
  if (!grant || (userId !== undefined && grant.value.userId !== userId)) return false;
  const { clientId, audience } = grant.value;
  // The grant last: while it exists, a failed call can be repeated.
  for (const consent of await listConsents(deps.store, grant.value.userId)) {
    if (consent.clientId === clientId && consent.audience === audience) await deps.store.delete(consent.key);
  }
  await endGrant(deps, grantId, reason);
  return true;
}

/** Deletes one consent; its grants continue. @returns false if the user has no such consent */
export async function withdrawConsent(store: Store, userId: string, key: string): Promise<boolean> {
  const consents = await listConsents(store, userId);
  return consents.some((consent) => consent.key === key) && store.delete(key);
}

function toGrant({ key, value, expiresAt }: StoredRecord<GrantRecord>): ActiveGrant {
  return {
    id: key.slice(GRANT.length),
    clientId: value.clientId,
    clientName: value.clientName,
    userId: value.userId,
    audience: value.audience,
    scope: value.scope,
    createdAt: value.createdAt,
    sessionExpiresAt: value.sessionExpiresAt,
    expiresAt: expiresAt ?? value.sessionExpiresAt,
    ...(value.endsAt === undefined ? {} : { endsAt: value.endsAt }),
    ...(value.assertedBy === undefined ? {} : { assertedBy: value.assertedBy }),
  };
}

function toConsent({ key, value, expiresAt }: StoredRecord<ConsentRecord>): ActiveConsent {
  return {
    key,
    userId: value.userId,
    clientId: value.clientId,
    clientName: value.clientName ?? value.clientId,
    audience: value.audience,
    grantedAt: value.grantedAt,
    expiresAt: expiresAt ?? value.grantedAt,
  };
}

function tagOf({ userId, clientId }: AccessFilter): string {
  if (userId !== undefined) return userTag(userId);
  return clientId === undefined ? GRANTS_TAG : `client:${clientId}`;
}
